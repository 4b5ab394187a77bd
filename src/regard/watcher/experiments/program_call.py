"""An attention among the operators of a program, as the call that changes of heads act on.

The operator ran already: its result is taken apart by sentence and head, changed, and put back in
the layout that the program goes on with.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from regard.errors import BackendError
from regard.watcher.capture.model_call import ModelCall
from regard.watcher.capture.numbering import CallRelation, LayerCall

if TYPE_CHECKING:
    import torch

    from regard.watcher.capture.events import AttentionEvent
    from regard.watcher.capture.runs import LayerKey
    from regard.watcher.capture.segments import Segment
    from regard.watcher.experiments.intervention_call import ModelIntervention

# Of the largest output: two products of the same factors in another order.
PRODUCT_ROUNDING = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}
ATTENDS_OTHERWISE = (
    "its heads cannot be told apart in what the operator returned, so they cannot be changed. "
    "Dropout is one reason (call model.eval()), sinks, mixed heads and nested tensors are others."
)


@dataclass(frozen=True)
class ProgramCall:
    """A call with its value and output (b, q, h, d), and the result that they were taken from.

    ``numbers_bh`` says which matrix of a batched product belongs to a sentence and a head; None for
    a fused kernel, whose result is (b, h, q, d).
    """

    call: ModelCall
    result: torch.Tensor = field(repr=False)
    numbers_bh: torch.Tensor | None = field(default=None, repr=False)
    transposed: bool = False

    @classmethod
    def from_event(cls, call: ModelCall, event: AttentionEvent, numbers_bh: Any) -> ProgramCall:
        """``numbers_bh`` (b, h) are the weights of the event counted in their order."""
        import torch

        if torch.is_grad_enabled():
            raise BackendError(
                "changes of a plain torch program have no gradients: run it inside `with "
                "torch.no_grad():`."
            )
        if event.weights is None and event.value is not None and event.output is not None:
            output_bqhd = event.output.transpose(1, 2)
            return cls(replace(call, value=event.value, output=output_bqhd), event.output)
        product = event.product
        if product is None or event.weights is None or event.output is None or product.mixed:
            raise BackendError(f"{type(call.module).__name__}: {ATTENDS_OTHERWISE}")
        factors = event.output, product.value
        result, value = (x.mT if product.transposed else x for x in factors)
        result, value, weights = (x.flatten(0, -3) if x.ndim > 2 else x[None]
                                  for x in (result, value, event.weights))  # fmt: skip
        if not _is_product(weights, value, result):
            raise BackendError(f"{type(call.module).__name__}: {ATTENDS_OTHERWISE}")
        output_bqhd = result[numbers_bh].transpose(1, 2)
        call = replace(call, value=value[numbers_bh], output=output_bqhd)
        return cls(call, event.output, numbers_bh, product.transposed)

    def as_result(self, output_bqhd: torch.Tensor) -> torch.Tensor:
        """An output (b, q, h, d) as the program's operator returns it."""
        if self.numbers_bh is None:
            return output_bqhd.transpose(1, 2)
        new = self.result.mT if self.transposed else self.result
        flat = new.reshape(-1, *new.shape[-2:]).clone()
        flat[self.numbers_bh] = output_bqhd.transpose(1, 2).to(flat)
        new = flat.reshape(new.shape)
        return new.mT.contiguous() if self.transposed else new


def change_program(
    program: ProgramCall,
    intervention: ModelIntervention,
    layer: LayerKey,
    segments: list[Segment],
    ids_bq: Any,
) -> tuple[ModelCall, torch.Tensor]:
    """The call as it is after the changes, for the record, and its result for the program."""
    before = program.call
    located = LayerCall(layer, CallRelation.FIRST)
    after = intervention.change_scores(before, located, ids_bq, segments)
    assert after.output is not None  # it was given
    output_bqhd = intervention.change_output(after.output, layer)
    if after is not before and before.weights is not None:
        added_bhqk = after.options["position_bias"].to(before.weights)
        shown = (before.weights.log() + added_bhqk).softmax(-1).nan_to_num(0)
        changed = (added_bhqk != 0).any(-1, keepdim=True)
        after = replace(after, weights=shown.where(changed, before.weights), options={})
    if after is not before:
        after = replace(after, logsumexp=None, own_logsumexp=None)
    return replace(after, output=None), program.as_result(output_bqhd)


def _is_product(weights: Any, value: Any, result: Any) -> bool:
    """Whether every matrix of a result is that of its weights and values."""
    sizes = (len(weights), weights.shape[-2]), (len(result), result.shape[-2])
    if sizes[0] != sizes[1] or weights.shape[-1] != value.shape[-2]:
        return False
    difference = (weights.to(value) @ value - result).abs().max()
    dtype = str(result.dtype).removeprefix("torch.")
    return bool(difference <= PRODUCT_ROUNDING.get(dtype, 0.0) * (1 + result.abs().max()))

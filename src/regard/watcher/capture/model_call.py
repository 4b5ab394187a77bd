"""One call of a model's attention: its arguments, the model's own output, and their comparison."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from regard.engine.tensors import in_host_memory, index_like
from regard.errors import BackendError
from regard.watcher.capture.masks import MaskSpec

if TYPE_CHECKING:
    import torch

    from regard.watcher.seam.call import AttentionCall


SINK_OPTIONS = ("s_aux", "sinks")  # columns of the softmax that have no key


@dataclass(frozen=True)
class ModelCall:
    """Arguments of a call: query (b, h, q, d), key and value (b, h_kv, k, d), mask and options.

    ``attend`` is the model's own attention function, ``implementation`` its name, and ``spec`` says
    what the mask hides, where that is known. ``rows`` are the unpadded queries of each sentence in
    cross attention, whose mask describes the keys alone. ``logsumexp`` (b, h, q) is the natural one
    of the kernel that attended, where it returned one; ``weights`` (b, h, q, k) are given where
    only they say what was computed. ``output`` (b, q, h, d) is given where something was changed
    in it.
    """

    module: Any = field(repr=False)
    query: torch.Tensor = field(repr=False)
    key: torch.Tensor = field(repr=False)
    value: torch.Tensor = field(repr=False)
    mask: Any = field(repr=False)
    options: dict[str, Any] = field(repr=False)
    implementation: str = "sdpa"
    attend: Callable[..., Any] | None = field(default=None, repr=False)
    spec: MaskSpec | None = field(default=None, repr=False)
    cross: bool = False
    rows: list[slice] | None = None
    logsumexp: torch.Tensor | None = field(default=None, repr=False)
    own_logsumexp: torch.Tensor | None = field(default=None, repr=False)
    weights: torch.Tensor | None = field(default=None, repr=False)
    output: torch.Tensor | None = field(default=None, repr=False)

    @property
    def has_sinks(self) -> bool:
        return any(self.options.get(name) is not None for name in SINK_OPTIONS)

    @property
    def has_logsumexp(self) -> bool:
        """Whether the model's own kernel returned a log-sum-exp: every row is compared by it."""
        return self.logsumexp is not None or self.own_logsumexp is not None

    @property
    def scale(self) -> float | None:
        """The factor of the scores; None for 1 / sqrt(d)."""
        return self.options.get("scaling")

    @property
    def softcap(self) -> float | None:
        """The bound of a tanh on scores; torch's own attention has none, and ignores it."""
        return None if self.implementation == "sdpa" else self.options.get("softcap")

    @property
    def bias(self) -> torch.Tensor | None:
        """The position bias that is added to the scores, (1, h, q, k)."""
        return self.options.get("position_bias")

    @property
    def causal(self) -> bool:
        is_causal = self.options.get("is_causal")
        return bool(getattr(self.module, "is_causal", True) if is_causal is None else is_causal)

    @property
    def merged(self) -> bool:
        """Whether the keys of another text follow those of its own, as in T5Gemma 2."""
        return "merged" in type(self.module).__name__.lower()

    @property
    def group(self) -> int:
        """How many heads share a key."""
        return int(self.query.shape[1] // self.key.shape[1])

    def own(self) -> tuple[torch.Tensor, Any]:
        """The model's own attention: output (b, q, h, d), and its weights or None."""
        if self.output is not None:
            return self.output, None
        assert self.attend is not None  # only calls that operators were seen of have none
        output, weights = self.attend(
            self.module, self.query, self.key, self.value, self.mask, **self.options
        )
        return output, weights

    def own_with_logsumexp(self) -> tuple[torch.Tensor, Any, ModelCall]:
        """The model's own output and weights, and this call with its kernel's log-sum-exp.

        On a device facts follow from it, which saves a pass over the keys. On the CPU it is
        compared with the engine's, which is float64. With sinks the weights themselves are taken.
        """
        from regard.watcher.seam.mode import AttentionMode

        events: list[AttentionCall] = []
        with AttentionMode(events.append):
            output, weights = self.own()
        if self.has_sinks:
            return output, weights, replace(self, weights=self._weights_with_sinks(events))
        # A model that attends twice in one call of its interface has one for each.
        logsumexp = events[0].logsumexp if len(events) == 1 else None
        if logsumexp is None or logsumexp.shape != self.query.shape[:3]:
            return output, weights, self
        if in_host_memory(logsumexp):
            return output, weights, replace(self, own_logsumexp=logsumexp)
        return output, weights, replace(self, logsumexp=logsumexp)

    def _weights_with_sinks(self, events: list[AttentionCall]) -> torch.Tensor:
        """Weights of a softmax with sinks; BackendError where a kernel keeps them to itself."""
        shape = (*self.query.shape[:3], self.key.shape[2])
        made = [x.weights for x in events if x.weights is not None and x.weights.shape == shape]
        if len(made) != 1:
            raise BackendError(
                f"{type(self.module).__name__} has sinks in its softmax, and its "
                f"{self.implementation!r} attention does not show its weights: load the model with "
                "attn_implementation='eager'."
            )
        return made[0]

    def some_rows(self, rows: list[int]) -> ModelCall:
        """The same call for a few queries, with the rows of its mask, and without dropout."""
        import torch

        at = index_like(rows, self.query)
        query, mask = self.query[:, :, at], self.mask
        options = self.options | {"dropout": 0.0}
        if self.bias is not None:
            options["position_bias"] = self.bias[:, :, at]
        if isinstance(mask, torch.Tensor) and mask.ndim == 4:
            mask = mask[:, :, at] if mask.shape[2] > 1 else mask
        elif self.causal and self.query.shape[2] > 1:
            at_k = torch.arange(self.key.shape[2], device=query.device)
            visible = at_k <= at[:, None]
            lowest = torch.finfo(query.dtype).min
            mask = torch.where(visible, 0.0, lowest)[None, None].to(query.dtype)
        output = None if self.output is None else self.output[:, at]
        return replace(self, query=query, mask=mask, options=options, output=output)

    def in_float32(self) -> ModelCall:
        """The same call with every float widened: what the model computes without rounding."""
        import torch

        def wide(x: Any) -> Any:
            return x.float() if isinstance(x, torch.Tensor) and x.is_floating_point() else x

        query, key, value, mask = (wide(x) for x in (self.query, self.key, self.value, self.mask))
        options = {name: wide(x) for name, x in self.options.items()}
        return replace(self, query=query, key=key, value=value, mask=mask, options=options)


MAX_QUERIES_COMPARED_IN_FULL = 64  # longer calls are compared at four sampled rows

# Relative to the largest value; a wrong mask, scale or order of heads is off by far more. Models
# in float64 take their softmax in float32.
ROUNDING = {"float64": 1e-5, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}


def rounding(call: ModelCall) -> float:
    """The rounding of the narrowest dtype of a call, and of autocast where it is on."""
    import torch

    dtypes, device = [call.query.dtype, call.key.dtype, call.value.dtype], call.query.device.type
    if torch.is_autocast_enabled(device):
        dtypes.append(torch.get_autocast_dtype(device))
    return max(ROUNDING.get(str(dtype).removeprefix("torch."), 0.0) for dtype in dtypes)


def compared_rows(queries: int) -> list[int]:
    """The queries to compare: all of a short call, else the ends and two between.

    >>> compared_rows(3), compared_rows(1000)
    ([0, 1, 2], [0, 333, 666, 999])
    """
    if queries <= MAX_QUERIES_COMPARED_IN_FULL:
        return list(range(queries))
    return [0, queries // 3, 2 * queries // 3, queries - 1]


def _sees_nothing(call: ModelCall, at: torch.Tensor) -> torch.Tensor:
    """Rows (b, q, h, 1) whose keys a mask of numbers hides, all of them.

    A model attends to all of them alike then, and nothing reads it: a padded query.
    """
    import torch

    mask_bhqk = call.mask
    if not isinstance(mask_bhqk, torch.Tensor):
        return torch.zeros((), dtype=torch.bool, device=at.device)
    if mask_bhqk.dtype != torch.bool:
        mask_bhqk = mask_bhqk > torch.finfo(mask_bhqk.dtype).min / 2
    hidden_bhq = ~mask_bhqk.any(dim=-1)
    hidden_bhq = hidden_bhq[:, :, at] if hidden_bhq.shape[2] > 1 else hidden_bhq
    return hidden_bhq.transpose(1, 2)[..., None]


def prove(
    call: ModelCall,
    output: torch.Tensor,
    real: list[slice],
    name: str,
    own: torch.Tensor | None = None,
    share: float | None = None,
) -> None:
    """Compare output (b, q, h, d) with the model's own attention, on the real queries.

    ``own`` is the model's own output, where it was computed already; ``share`` of the largest value
    may be rounding, as the dtypes say unless given. Raises BackendError with the size of the
    difference where they do not agree.
    """
    import torch

    share = rounding(call) if share is None else share
    rows = compared_rows(call.query.shape[2])
    with torch.no_grad():
        computed = own is not None and not call.options.get("dropout")
        if own is not None and computed:
            own = own.detach()[:, index_like(rows, own)]
        else:
            own = call.some_rows(rows).own()[0]
    inside = [[some.start <= row < some.stop for row in rows] for some in real]
    at, among = (index_like(x, output) for x in (rows, inside))
    difference = (output[:, at].float() - own.float()).abs()
    difference = difference.masked_fill(_sees_nothing(call, at), 0)
    # Where the model's own output is nan there is nothing to compare; reading the facts raises.
    difference = torch.where(own.isnan(), 0, difference).nan_to_num(nan=torch.inf)
    difference_bq = torch.where(among, difference.amax(dim=(2, 3)), 0)
    largest = call.value.detach().abs().max().float()
    most, size = torch.stack([difference_bq.max(), largest]).tolist()  # the host waits once
    allowed = share * (size or 1.0)
    # A kernel may skip a nan, which the same attention with a mask does not.
    if most == torch.inf and computed:
        prove(call, output, real, name)
    elif not most <= allowed and call.output is None and call.query.itemsize == 2:
        # Large scores in half precision round by more than 1; in float32 the same attention agrees.
        prove(call.in_float32(), output, real, name, share=share)
    elif not most <= allowed:
        raise BackendError(
            f"{name}: regard's attention is {most:.3g} away from the model's own "
            f"({allowed:.1g} would be rounding), so watch shows nothing. The model does something "
            "regard does not know: leave this layer out with layers=..."
        )

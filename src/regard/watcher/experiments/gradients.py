"""Gradients of a watched model: gradient times attention, and integrated gradients of the tokens.

The gradient of a logit difference by a weight p_ij is g_i . v_j, where g_i is the gradient by the
head's output z_i = sum_j p_ij v_j: no weights are held while the model runs, and its own attention
keeps running.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError, BackendError
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments.because import in_float64
from regard.watcher.experiments.experiment import check_position, choose_tokens, token_name
from regard.watcher.experiments.intervention_call import Probe, SentenceCall
from regard.watcher.experiments.rerun import TextRerun

if TYPE_CHECKING:
    import torch

MAX_GRADIENT_TOKENS = 512  # every weight of every head is returned
ROWS = 8  # steps that run at once
LIMITS = (
    "A gradient is right for small changes alone: where a softmax is saturated it is near zero, "
    "however much the head matters, and gradient x attention sees neither what the scores were "
    "made from nor the layers after it but by their slope. Integrated gradients depend on the "
    "baseline (here the mean embedding of the vocabulary, which no text has) and on the straight "
    "way to it. What "
    "really happens without a head or a word is said by effects, ablate and knock_out."
)


@dataclass(frozen=True)
class Gradients:
    """What moves the logit of one next token against another, to first order.

    ``attention`` has p_ij times its gradient, (h, q, k) by layer; ``integrated_t`` the integrated
    gradients of the tokens, whose sum is ``difference - baseline`` but for ``gap``, the error of
    the sum over ``steps``.
    """

    of: str
    against: str
    position: int
    difference: float
    baseline: float
    tokens: tuple[str, ...]
    attention: Mapping[LayerKey, Array] = field(repr=False)
    integrated_t: Array = field(repr=False)
    steps: int = 32
    limits: str = field(default=LIMITS, repr=False)

    @property
    def gap(self) -> float:
        """What the sum over steps leaves of the difference."""
        return self.difference - self.baseline - float(self.integrated_t.sum())

    @property
    def heads(self) -> dict[LayerKey, Array]:
        """Gradient x attention of each head (h,): the slope with which its output is scaled."""
        return {key: x_hqk.sum(axis=(1, 2)) for key, x_hqk in self.attention.items()}

    def __str__(self) -> str:
        order = np.argsort(-np.abs(self.integrated_t))[:8]
        rows = [f"  {self.tokens[i]!r}: {self.integrated_t[i]:+.4f}" for i in order]
        return "\n".join([
            f"{self.of!r} against {self.against!r} after token {self.position}: "
            f"{self.difference:.4f}, at the mean embedding {self.baseline:.4f}",
            f"integrated gradients ({self.steps} steps, {self.gap:+.4f} left):", *rows, self.limits,
        ])  # fmt: skip


def gradients(
    rerun: TextRerun, of: str | int | None, against: str | int | None, position: int | None,
    steps: int,
) -> Gradients:  # fmt: skip
    """Gradient times attention of every head and integrated gradients of every token."""
    if not isinstance(steps, int) or steps < 1:
        raise ArgumentError(f"steps must be a number from 1 up, got {steps!r}.")
    if len(rerun.ids) > 1 or len(rerun.text_ids) > MAX_GRADIENT_TOKENS:
        raise BackendError(
            f"gradients need one text of at most {MAX_GRADIENT_TOKENS} tokens, got "
            f"{' and '.join(f'{name} of {len(ids)}' for name, ids in rerun.ids.items())}."
        )
    at = check_position(position, len(rerun.text_ids))
    logits_v = rerun.logits_at(at)[0]
    tokens = choose_tokens(rerun.tokenizer, logits_v, of, against)
    one, other = (token_name(rerun.tokenizer, token) for token in tokens)
    attention = _gradient_times_attention(rerun, at, tokens)
    integrated_t, baseline = _integrated(rerun, at, tokens, steps)
    return Gradients(
        one, other, at, float(logits_v[tokens[0]] - logits_v[tokens[1]]), baseline,
        rerun.seen.texts(rerun.seen.parts[0])[0].tokens, attention, integrated_t, steps,
    )  # fmt: skip


def _gradient_times_attention(
    rerun: TextRerun, at: int, tokens: tuple[int, int]
) -> dict[LayerKey, Array]:
    calls: dict[LayerKey, tuple[Array, Array]] = {}
    outputs: dict[LayerKey, torch.Tensor] = {}

    def look(call: SentenceCall) -> None:
        inner = call.call
        heads, queries = inner.query.shape[1:3]
        weights = call.scores(np.arange(heads), np.arange(queries)).softmax(-1).nan_to_num(0)
        value_hkd = inner.value[call.row].repeat_interleave(heads // inner.value.shape[1], dim=0)
        calls[call.key] = (in_float64(weights), in_float64(value_hkd))
        call.pending.takers.append(lambda output, key: outputs.update({key: output}))

    _, difference_b = _scaled_run(rerun, at, tokens, [1.0], Probe(look))
    found = {}
    gradients = _gradients(difference_b, [outputs[x] for x in calls])
    for (key, (weights_hqk, value_hkd)), gradient in zip(calls.items(), gradients, strict=True):
        gradient_qhd = in_float64(gradient)[0]
        found[key] = weights_hqk * np.einsum("qhd,hkd->hqk", gradient_qhd, value_hkd)
    return found


def _integrated(
    rerun: TextRerun, at: int, tokens: tuple[int, int], steps: int
) -> tuple[Array, float]:
    """Integrated gradients (t,) by the midpoint rule, and the difference at the baseline."""
    middle = (np.arange(steps) + 0.5) / steps
    sums_t = np.zeros(len(rerun.text_ids))
    for start in range(0, steps, ROWS):
        scales = middle[start : start + ROWS]
        embedded, difference_b = _scaled_run(rerun, at, tokens, scales.tolist())
        way_bte = embedded - _baseline(rerun)
        product_bt = in_float64((way_bte * _gradients(difference_b, [embedded])[0]).sum(-1))
        sums_t += (product_bt / scales[:, None]).sum(axis=0)
    return sums_t / steps, float(_scaled_run(rerun, at, tokens, [0.0])[1].detach()[0])


def _scaled_run(
    rerun: TextRerun, at: int, tokens: tuple[int, int], scales: list[float], *changes: Probe
) -> tuple[Any, Any]:
    """Embeddings (b, t, e) on the way from the baseline, and the logit difference (b,) of each."""
    import torch

    made: list[torch.Tensor] = []

    def scaled(module: Any, arguments: Any, output: torch.Tensor) -> torch.Tensor:
        factors = output.new_tensor(scales)[:, None, None]
        baseline_e = _baseline(rerun)
        made.append((baseline_e + (output.detach() - baseline_e) * factors).requires_grad_())
        return made[-1]

    hook = rerun.model.get_input_embeddings().register_forward_hook(scaled)
    try:
        with torch.enable_grad():
            logits_btv = rerun.run_logits(*changes, rows=len(scales), gradients=True)
            difference_b = logits_btv[:, at, tokens[0]] - logits_btv[:, at, tokens[1]]
    finally:
        hook.remove()
    return made[0], difference_b


def _baseline(rerun: TextRerun) -> Any:
    """The mean embedding of the vocabulary, (e,)."""
    table = rerun.model.get_input_embeddings()
    return table.weight.detach().mean(0) * getattr(table, "embed_scale", 1.0)


def _gradients(difference_b: Any, by: list[Any]) -> Any:
    """Gradients by some tensors; those of the parameters are left alone."""
    import torch

    return torch.autograd.grad(difference_b, by, torch.ones_like(difference_b))

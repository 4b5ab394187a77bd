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
from regard.experiments.changes import Progress
from regard.typing import Array
from regard.watcher.capture.runs import LayerKey
from regard.watcher.experiments.because import in_float64
from regard.watcher.experiments.experiment import choice_name, choose_tokens
from regard.watcher.experiments.intervention_call import Probe, SentenceCall
from regard.watcher.experiments.outcome import need_choices
from regard.watcher.experiments.rerun import TextRerun, input_device

if TYPE_CHECKING:
    import torch

FIRST_STEPS, MOST_STEPS = 32, 128
COMPLETE = 0.05
EMBEDDED_AT_ONCE = 4096
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
    the sum over ``steps``. They are printed where they are ``complete``.
    """

    of: str
    against: str
    where: str
    difference: float
    baseline: float
    tokens: tuple[str, ...]
    attention: Mapping[LayerKey, Array] = field(repr=False)
    integrated_t: Array = field(repr=False)
    steps: int = FIRST_STEPS
    limits: str = field(default=LIMITS, repr=False)

    @property
    def gap(self) -> float:
        """What the sum over steps leaves of the difference."""
        return self.difference - self.baseline - float(self.integrated_t.sum())

    @property
    def complete(self) -> bool:
        """Whether the gap is small beside what the tokens amount to, each without its sign."""
        return abs(self.gap) <= COMPLETE * float(np.abs(self.integrated_t).sum())

    @property
    def heads(self) -> dict[LayerKey, Array]:
        """Gradient x attention of each head (h,): the slope with which its output is scaled."""
        return {key: x_hqk.sum(axis=(1, 2)) for key, x_hqk in self.attention.items()}

    def __str__(self) -> str:
        return "\n".join([
            f"{self.of!r} against {self.against!r} {self.where}: "
            f"{self.difference:.4f}, at the mean embedding {self.baseline:.4f}",
            *self._integrated_lines(), self.limits,
        ])  # fmt: skip

    def _integrated_lines(self) -> list[str]:
        if not self.complete:
            largest = sorted(self.heads.items(), key=lambda pair: -np.abs(pair[1]).max())[:4]
            return [
                f"integrated gradients: not shown. {self.steps} steps leave {self.gap:+.4f} of the "
                f"difference unexplained; give more, as in steps={4 * self.steps}.",
                "gradient x attention, the largest head of a layer:",
                *(f"  {key}, head {np.abs(x_h).argmax()}: {x_h[np.abs(x_h).argmax()]:+.4f}"
                  for key, x_h in largest),
            ]  # fmt: skip
        order = np.argsort(-np.abs(self.integrated_t))[:8]
        rows = [f"  {self.tokens[i]!r}: {self.integrated_t[i]:+.4f}" for i in order]
        return [f"integrated gradients ({self.steps} steps, {self.gap:+.4f} left):", *rows]


def gradients(
    rerun: TextRerun, of: str | int | None, against: str | int | None, position: int | None,
    steps: int | None, progress: Progress,
) -> Gradients:  # fmt: skip
    """Gradient times attention of every head and integrated gradients of every token.

    Without ``steps`` there are more where the first ones do not add up to the difference.
    """
    if steps is not None and (not isinstance(steps, int) or steps < 1):
        raise ArgumentError(f"steps must be a number from 1 up, got {steps!r}.")
    if len(rerun.ids) > 1 or len(rerun.text_ids) > MAX_GRADIENT_TOKENS:
        raise BackendError(
            f"gradients need one text of at most {MAX_GRADIENT_TOKENS} tokens, got "
            f"{' and '.join(f'{name} of {len(ids)}' for name, ids in rerun.ids.items())}."
        )
    if not hasattr(rerun.model, "get_input_embeddings"):
        raise BackendError(
            f"gradients need the embeddings of the tokens, and {type(rerun.model).__name__} does "
            "not say which they are (get_input_embeddings): ask effects, which runs it again."
        )
    at, outcome = rerun.place(position), need_choices(rerun.outcome, rerun.model)
    logits_v = rerun.logits_at(at)[0]
    tokens = choose_tokens(rerun.tokenizer, logits_v, of, against, outcome)
    one, other = (choice_name(rerun.tokenizer, token, outcome) for token in tokens)
    difference = float(logits_v[tokens[0]] - logits_v[tokens[1]])
    path = EmbeddingPath(rerun, at, tokens, _mean_embedding(rerun))
    try:
        attention = _gradient_times_attention(path)
        baseline = float(path.run([0.0])[1].detach()[0])
        for taken in (steps,) if steps else (FIRST_STEPS, MOST_STEPS):
            found = Gradients(
                one, other, rerun.where(at), difference, baseline,
                rerun.seen.texts(rerun.seen.parts[0])[0].tokens, attention,
                _integrated(path, taken, progress), taken,
            )  # fmt: skip
            if found.complete:
                break
    except RuntimeError as error:
        raise BackendError(
            f"{type(rerun.model).__name__} has no gradients: {error!s:.200} Kernels for packed "
            "weights seldom have any: load the model in bfloat16 or float32, or ask effects, which "
            "runs it again."
        ) from error
    return found


@dataclass(frozen=True)
class EmbeddingPath:
    """Runs between the mean embedding of the vocabulary (e,) and the text's own embeddings."""

    rerun: TextRerun = field(repr=False)
    at: int | None
    tokens: tuple[int, int]
    mean_e: torch.Tensor = field(repr=False)

    def run(self, scales: list[float], *changes: Probe) -> tuple[Any, Any]:
        """Embeddings (b, t, e) and the logit difference (b,) at some scales from 0 to 1."""
        import torch

        made: list[torch.Tensor] = []

        def scaled(module: Any, arguments: Any, output: torch.Tensor) -> torch.Tensor:
            factors = output.new_tensor(scales)[:, None, None]
            mean_e = self.mean_e.to(output)
            made.append((mean_e + (output.detach() - mean_e) * factors).requires_grad_())
            return made[-1]

        hook = self.rerun.model.get_input_embeddings().register_forward_hook(scaled)
        try:
            with torch.enable_grad():
                logits = self.rerun.run_logits(*changes, rows=len(scales), gradients=True)
                logits_bv = logits if self.at is None else logits[:, self.at]
                return made[0], logits_bv[:, self.tokens[0]] - logits_bv[:, self.tokens[1]]
        finally:
            hook.remove()


def _mean_embedding(rerun: TextRerun) -> Any:
    """The mean embedding of the vocabulary (e,), from the module itself."""
    import torch

    table = rerun.model.get_input_embeddings()
    ids = torch.arange(table.num_embeddings, device=input_device(rerun.model))
    with torch.no_grad():
        sums = [table(some[None])[0].double().sum(0) for some in ids.split(EMBEDDED_AT_ONCE)]
    return torch.stack(sums).sum(0) / len(ids)


def _gradient_times_attention(path: EmbeddingPath) -> dict[LayerKey, Array]:
    calls: dict[LayerKey, tuple[Array, Array]] = {}
    outputs: dict[LayerKey, torch.Tensor] = {}

    def look(call: SentenceCall) -> None:
        inner = call.call
        heads, queries = inner.query.shape[1:3]
        weights = call.scores(np.arange(heads), np.arange(queries)).softmax(-1).nan_to_num(0)
        value_hkd = inner.value[call.row].repeat_interleave(heads // inner.value.shape[1], dim=0)
        calls[call.key] = (in_float64(weights), in_float64(value_hkd))
        call.pending.takers.append(lambda output, key: outputs.update({key: output}))

    _, difference_b = path.run([1.0], Probe(look))
    found = {}
    gradients = _gradients(difference_b, [outputs[x] for x in calls])
    for (key, (weights_hqk, value_hkd)), gradient in zip(calls.items(), gradients, strict=True):
        gradient_qhd = in_float64(gradient)[0]
        found[key] = weights_hqk * np.einsum("qhd,hkd->hqk", gradient_qhd, value_hkd)
    return found


def _integrated(path: EmbeddingPath, steps: int, progress: Progress) -> Array:
    """Integrated gradients (t,) by the midpoint rule."""
    middle = (np.arange(steps) + 0.5) / steps
    sums_t = np.zeros(len(path.rerun.text_ids))
    for start in range(0, steps, ROWS):
        scales = middle[start : start + ROWS]
        embedded, difference_b = path.run(scales.tolist())
        way_bte = embedded - path.mean_e.to(embedded)
        product_bt = in_float64((way_bte * _gradients(difference_b, [embedded])[0]).sum(-1))
        sums_t += (product_bt / scales[:, None]).sum(axis=0)
        progress(min(start + ROWS, steps), steps)
    return sums_t / steps


def _gradients(difference_b: Any, by: list[Any]) -> Any:
    """Gradients by some tensors; those of the parameters are left alone."""
    import torch

    return torch.autograd.grad(difference_b, by, torch.ones_like(difference_b))

"""What an attention's output projection does to the values of each head.

The projection is asked as a module: W_O is what it returns for unit vectors, so that LoRA,
quantised and offloaded weights count as they act. A gate before it is measured too. Both are
compared with what the projection returned in the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import BackendError
from regard.typing import Array
from regard.watcher.capture.model_call import compared_rows, rounding
from regard.watcher.capture.modules import attach_hook
from regard.watcher.experiments.intervention_call import Probe, SentenceCall

if TYPE_CHECKING:
    import torch

    from regard.watcher.experiments.intervention_call import PendingChanges

PROJECTIONS = ("o_proj", "out_proj", "c_proj", "o", "proj")
GATED_NUMBERS = 2**24  # of the values of one head that are multiplied by gates at once
UNIFORM_VARIANCE = 1 / 12  # of a rounding error, in squares of one step
ROUNDED_STEPS = 127  # between the ends of the range; some kernels use 7 of the 8 bits
STANDARD_DEVIATIONS = 4
NOT_A_FACTOR = (
    "what stands between the heads and {name} is no factor for each of their numbers (a norm or a "
    "sum of heads, for example), so a value has no length of its own there: norm-weighted "
    "attention is not shown."
)


@dataclass(frozen=True)
class ProjectedValues:
    """Values (h_kv, k, d) of one sentence and what becomes of them: a gate (q, h, d), then W_O.

    ``gram_hdd`` is W_O W_O^T of each head; ``gate_qhd`` is None where nothing multiplies the heads'
    output before the projection.
    """

    value_gkd: torch.Tensor = field(repr=False)
    gram_hdd: torch.Tensor = field(repr=False)
    gate_qhd: torch.Tensor | None = field(default=None, repr=False)

    def norms(self, queries: Any = slice(None)) -> Array:
        """|v_j W_O| of every key in float64, (h, 1, k); with a gate (h, q, k) of some queries."""
        import torch

        heads = len(self.gram_hdd)
        value_hkd = self.value_gkd.repeat_interleave(heads // len(self.value_gkd), dim=0)
        if self.gate_qhd is None:
            norms_hqk = _lengths(value_hkd[:, None].double(), self.gram_hdd)
            return np.asarray(norms_hqk.cpu().numpy())
        gate_qhd = self.gate_qhd[queries]
        at_once = max(1, GATED_NUMBERS // prod(value_hkd.shape))
        blocks = [
            _lengths(value_hkd[:, None] * block.transpose(0, 1)[:, :, None], self.gram_hdd.float())
            for block in gate_qhd.float().split(at_once)
        ]
        return np.asarray(torch.cat(blocks, dim=1).double().cpu().numpy())


def _lengths(vectors_hqkd: torch.Tensor, gram_hdd: torch.Tensor) -> torch.Tensor:
    """|v W|, as the root of v (W W^T) v^T, which costs d x d for each vector instead of d x e."""
    return ((vectors_hqkd @ gram_hdd[:, None]) * vectors_hqkd).sum(-1).clamp_min(0).sqrt()


TakeValues = Callable[[SentenceCall, ProjectedValues], None]


@contextmanager
def projection_probe(take: TakeValues) -> Iterator[Probe]:
    """A probe for one run; ``take`` is given every sentence once its projection has run."""
    running: list[ProjectedCall] = []

    def look(call: SentenceCall) -> None:
        if not running or not running[-1].awaits(call):
            running[:] = [ProjectedCall(call, take)]
            running[0].attach(stack)
        running[0].add(call)

    with ExitStack() as stack:
        yield Probe(look)


@dataclass
class Piece:
    """One attention of those that a projection follows: of one image of several, for example."""

    pending: PendingChanges = field(repr=False)
    calls: list[SentenceCall] = field(default_factory=list, repr=False)
    heads_bqhd: torch.Tensor | None = field(default=None, repr=False)


class ProjectedCall:
    """An attention until its module ends: hooks that measure its gate and its projection.

    Between the heads and the projection gradients are on, so that a gate can be told from a norm.
    """

    def __init__(self, call: SentenceCall, take: TakeValues) -> None:
        self.key, self.call, self.take = call.key, call.call, take
        self.pieces: list[Piece] = []
        module = call.call.module
        self.name = next((x for x in PROJECTIONS if callable(getattr(module, x, None))), "")
        if not self.name:
            raise BackendError(
                f"{call.key}: norm-weighted attention needs the output projection of "
                f"{type(module).__name__}, but it has none of {', '.join(PROJECTIONS)}."
            )
        self.projection = getattr(module, self.name)
        self._given: torch.Tensor | None = None
        self._gate: torch.Tensor | None = None
        self._done = False

    def awaits(self, call: SentenceCall) -> bool:
        """Whether a sentence comes before the projection that this waits for."""
        return not self._done and call.call.module is self.call.module

    def add(self, call: SentenceCall) -> None:
        if not self.pieces or self.pieces[-1].pending is not call.pending:
            self.pieces.append(Piece(call.pending))
            call.pending.takers.append(self._heads_wrote)
        self.pieces[-1].calls.append(call)

    def attach(self, stack: ExitStack) -> None:
        """Hooks for the time of the stack."""
        for remove in (
            attach_hook(self.projection, "forward_pre", self._enter, with_kwargs=True),
            attach_hook(self.projection, "forward", self._leave),
            attach_hook(self.call.module, "forward", self._end, always_call=True),
        ):
            stack.callback(remove)

    def _heads_wrote(self, output_bqhd: torch.Tensor, key: Any) -> None:
        import torch

        self.pieces[-1].heads_bqhd = output_bqhd
        if self.call.attend is not None and not output_bqhd.requires_grad:
            output_bqhd.requires_grad_()
            torch.set_grad_enabled(True)

    def _enter(self, module: Any, arguments: Any, keywords: dict[str, Any]) -> Any:
        import torch

        if not self._heads or self._given is not None or self._done or not arguments:
            return None
        given = arguments[0]
        self._gate = self._factors(given)
        torch.set_grad_enabled(False)
        self._given = given.detach()
        return (self._given, *arguments[1:]), keywords

    def _leave(self, module: Any, arguments: Any, output: Any) -> None:
        if self._given is not None and not self._done:
            self._finish(self._given, output)

    def _end(self, module: Any, arguments: Any, output: Any) -> None:
        import torch

        torch.set_grad_enabled(False)
        if self._heads and not self._done and output is not None:
            # torch's own module takes the weights of its projection and does not call it.
            self._finish(self._written, output)

    @property
    def _heads(self) -> list[torch.Tensor]:
        return [x.heads_bqhd for x in self.pieces if x.heads_bqhd is not None]

    @property
    def _written(self) -> torch.Tensor:
        """The heads' output (b, q, h, d) of all pieces."""
        import torch

        return torch.cat([x.detach() for x in self._heads], dim=1)

    def _factors(self, given: torch.Tensor) -> torch.Tensor | None:
        """The factors between the heads' output and the projection's input; None for none."""
        import torch

        written = self._written
        if given.numel() != written.numel():
            raise self._refusal()
        given = given.reshape(written.shape)
        if torch.equal(given.to(written.dtype), written):
            return None
        if not given.requires_grad:
            raise self._refusal()
        share, generator, found = rounding(self.call), torch.Generator().manual_seed(0), []
        for _ in range(2):
            signs = torch.randint(0, 2, given.shape, generator=generator).to(given) * 2 - 1
            gradients = torch.autograd.grad(given, self._heads, signs, retain_graph=True)
            found.append(torch.cat(gradients, dim=1) * signs)
        gate, other = found
        given = given.detach()
        away = (gate * written - given).abs().max()
        linear = away <= share * given.abs().max()
        if not linear or not (gate - other).abs().max() <= share * gate.abs().max():
            raise self._refusal()
        return gate

    def _refusal(self) -> BackendError:
        name = f"the projection {self.name} of {type(self.call.module).__name__}"
        return BackendError(f"{self.key}: {NOT_A_FACTOR.format(name=name)}")

    def _finish(self, given: torch.Tensor, output: Any) -> None:
        """Give the values of every sentence to the taker, once the projection is compared."""
        self._done = True
        sentences, queries, heads, width = self._written.shape
        given = given.reshape(sentences, queries, heads * width)
        matrix, bias_e = linear_map(self.projection, given[:1, :1])
        self._compare(given, _tensor(output), matrix, bias_e)
        matrix_hde = matrix.reshape(heads, width, -1).double()
        gram_hdd, first = matrix_hde @ matrix_hde.mT, 0
        for piece, heads_bqhd in zip(self.pieces, self._heads, strict=True):
            rows = slice(first, first + heads_bqhd.shape[1])
            for call in piece.calls:
                gate_qhd = None if self._gate is None else self._gate[call.row, rows]
                value_gkd = call.call.value[call.row].detach().float()
                self.take(call, ProjectedValues(value_gkd, gram_hdd, gate_qhd))
            first = rows.stop

    def _compare(
        self, given: torch.Tensor, output: torch.Tensor, matrix: torch.Tensor, bias_e: torch.Tensor
    ) -> None:
        """Raise where matrix and bias do not give what the projection returned in this run."""
        sentences, queries, width = given.shape
        rows = compared_rows(queries)
        size = matrix.norm()
        given = given[:, rows].to(matrix)
        allowed = rounding(self.call) * (given.norm(dim=-1) * size / width**0.5 + bias_e.norm())
        if packed(self.projection):  # it may round its input, all of a call to steps of one size
            step = 2 * given.abs().max() / ROUNDED_STEPS
            allowed = allowed + STANDARD_DEVIATIONS * UNIFORM_VARIANCE**0.5 * step * size
        expected = given @ matrix + bias_e
        away = None
        if output.numel() == sentences * queries * len(bias_e):
            returned = output.reshape(sentences, queries, -1)[:, rows].to(expected)
            away = (returned - expected).norm(dim=-1)
        if away is None or not bool((away <= allowed).all()):
            raise BackendError(
                f"{self.key}: what {self.name} ({type(self.projection).__name__}) returned is not "
                "the sum of what it returns for each head, so it does more than a matrix and a "
                "bias: norm-weighted attention is not shown. In training mode dropout is one "
                "reason (call model.eval())."
            )


def _tensor(output: Any) -> Any:
    return output[0] if isinstance(output, tuple | list) else output


def linear_map(
    module: Callable[[torch.Tensor], Any], like: torch.Tensor, at_once: int = 256
) -> tuple[torch.Tensor, torch.Tensor]:
    """What a linear function does: its matrix (in, out) and bias (out), from unit vectors.

    ``like`` (..., in) has the dtype and the device of its input. At least in float32.
    """
    import torch

    width = like.shape[-1]
    with torch.no_grad():
        bias_e = _wide(_tensor(module(like.new_zeros(1, 1, width)))[0, 0])
        rows = []
        for first in range(0, width, at_once):
            unit = like.new_zeros(1, min(at_once, width - first), width)
            unit[0, :, first:].fill_diagonal_(1)
            rows.append(_wide(_tensor(module(unit))[0]) - bias_e)
    return torch.cat(rows), bias_e


def _wide(tensor: torch.Tensor) -> torch.Tensor:
    return tensor if tensor.dtype.itemsize == 8 else tensor.float()


def packed(module: Any) -> bool:
    """Whether the weights of a module are kept in another form than torch's own floats."""
    import torch

    kept = [x for x in (*module.parameters(), *module.buffers()) if x.ndim > 1]
    plain = (torch.Tensor, torch.nn.Parameter)
    return not kept or any(
        type(x) not in plain or not x.is_floating_point() or x.itemsize == 1 for x in kept
    )

"""Attention written by hand: products, a softmax over them, and a product with a value.

torch's functions are seen as a program calls them, with the program's own axes. What a tensor holds
is known by its storage, so that views need no care. Scores carry what was done to the product of
query and key (scale, softcap, masks); after one function that is not known they are only scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

PRODUCTS = frozenset({"matmul", "__matmul__", "__rmatmul__", "bmm", "mm", "baddbmm", "einsum"})
SOFTMAX = frozenset({"softmax", "_softmax", "_safe_softmax"})
CASTS = frozenset({
    "to", "type", "type_as", "float", "half", "bfloat16", "double", "clone", "contiguous", "cpu",
    "cuda",
})  # fmt: skip
# Functions after which weights are weights still; dropout and casts leave those before them.
CHANGES = frozenset({"mul", "div", "truediv", "masked_fill", "nan_to_num", "where"})
COPIES = frozenset({"reshape", "contiguous", "clone", "flatten", "copy"})
MAX_SINKS = 8  # columns of a softmax that meet no value
HIDES = -1e3  # a number below it in place of a score hides its key


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores (..., q, k) as products of query and key, and what was done to them since.

    ``known`` says whether all of it is known, and the axes are these.
    """

    query: Tensor | None = None  # (..., q, d)
    key: Tensor | None = None  # (..., k, d)
    scale: float = 1.0
    softcap: float | None = None
    masks: tuple[Tensor, ...] = ()
    squashed: bool = False  # by a tanh whose factor is to come
    known: bool = True
    rows: tuple[int, int] = (0, 0)  # steps in memory along q and k

    def held_by(self, tensor: Tensor) -> Scores:
        """These, with the layout of the tensor that holds them."""
        return replace(self, rows=(tensor.stride(-2), tensor.stride(-1)))

    def seen_as(self, view: Tensor) -> Scores:
        """These where a view has their last axes last; else no more than scores."""
        same = view.ndim > 1 and (view.stride(-2), view.stride(-1)) == self.rows
        return self if same else self.changed

    @property
    def changed(self) -> Scores:
        """These after a function that is not known."""
        return Scores(known=False)


@dataclass(frozen=True, eq=False)
class Weights:
    """Weights of one softmax, wherever copies and views of them went.

    ``tensor`` are those before dropout, laid out as the program's own tensor ``carrier``, and
    ``axis`` is that of their keys. ``scores`` is None for a softmax of no scores (of features, as
    in linear attention), ``raw`` what the softmax got, with its ``raw_axis``.
    """

    serial: int
    tensor: Tensor
    axis: int
    shape: tuple[int, ...]  # of the carrier
    strides: tuple[int, ...]
    start: int
    scores: Scores | None
    raw: Tensor
    raw_axis: int
    dropout_p: float = 0.0
    changed: bool = False  # by something else than dropout or a cast
    mixed: bool = False
    first: Tensor | None = None  # as the softmax made them
    first_axis: int = -1

    def carried_by(self, tensor: Tensor, axis: int, carrier: Tensor, **changes: Any) -> Weights:
        layout = tuple(carrier.shape), tuple(carrier.stride()), carrier.storage_offset()
        return replace(
            self, tensor=tensor, axis=axis, shape=layout[0], strides=layout[1], start=layout[2],
            **changes,
        )  # fmt: skip

    def seen_as(self, view: Tensor) -> Tensor | None:
        """The weights before dropout under a view of their carrier; None for a foreign view."""
        if self.strides != tuple(self.tensor.stride()) and view.shape == self.shape:
            return self.tensor if tuple(view.stride()) == self.strides else None
        if self.strides != tuple(self.tensor.stride()):
            return None
        offset = view.storage_offset() - self.start
        last = offset + sum((n - 1) * s for n, s in zip(view.shape, view.stride(), strict=True))
        size = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
        if 0 in view.shape or offset < 0 or last > size:
            return None
        start = self.tensor.storage_offset() + offset
        return self.tensor.as_strided(view.shape, view.stride(), start)

    def axis_of(self, view: Tensor) -> int | None:
        """The axis of a view that runs over the keys, or over all but the sinks."""
        keys, step = self.shape[self.axis], self.strides[self.axis]
        last, sizes = view.ndim - 1, view.shape
        along = [n for n in range(view.ndim) if view.stride(n) == step and sizes[n] > 1]
        exact = [n for n in along if sizes[n] == keys]
        cut = [n for n in along if 0 < keys - sizes[n] <= MAX_SINKS]
        if exact or cut:
            return (exact or cut)[-1]
        return last if sizes[last] == 1 and keys - 1 <= MAX_SINKS else None


@dataclass(frozen=True, eq=False)
class Found:
    """An attention: weights (..., q, k) before dropout, their value, and the program's result.

    ``value`` (..., k, v) and ``as_output`` of the result (..., q, v) have the leading axes of the
    weights, where ``value`` is not shared; ``as_result`` is the way back.
    """

    held: Weights
    weights: Tensor
    value: Tensor
    as_output: Callable[[Tensor], Tensor]
    as_result: Callable[[Tensor], Tensor]
    sinks: int = 0

    @property
    def in_order(self) -> bool:
        """Whether the axes of the weights are those of the softmax, in its order."""
        first = self.held.first
        if first is None or first.ndim != self.weights.ndim:
            return False
        first = first.movedim(self.held.first_axis, -1)[..., : self.weights.shape[-1]]
        same = tuple(first.stride()) == tuple(self.weights.stride())
        return same and first.shape == self.weights.shape


@dataclass(eq=False)
class Written:
    """What the storages of a program's tensors hold: scores, weights, or nothing of interest.

    Linear attention multiplies queries with a product of keys and values: its softmax is one of
    features. ``refuse`` is called with the number of such a softmax, whose product looked like
    attention, once a second product shows what it is. ``unrecorded`` names the places of softmaxes
    that met no value.
    """

    place: Callable[[], str] = str
    refuse: Callable[[int], None] = field(default=lambda serial: None)
    unrecorded: dict[int, str] = field(default_factory=dict)
    _held: dict[int, tuple[StorageWeakRef, Any]] = field(default_factory=dict)
    _contexts: dict[int, tuple[StorageWeakRef, int]] = field(default_factory=dict)
    _places: dict[int, str] = field(default_factory=dict)
    _serial: int = 0

    @property
    def holds(self) -> bool:
        return bool(self._held)

    def forget(self) -> None:
        """Let go of all tensors, as at the end of a forward."""
        self._held.clear()
        self._contexts.clear()

    def of(self, tensor: Any) -> Any:
        return _entry(self._held, tensor)

    def _put(self, tensor: Tensor, what: Any) -> None:
        self._held = {x: y for x, y in self._held.items() if not y[0].expired()}
        if isinstance(what, Scores) and tensor.ndim < 2:
            return  # one row of the scores is none of its own
        storage = tensor.untyped_storage()
        what = what.held_by(tensor) if isinstance(what, Scores) else what
        self._held[storage._cdata] = StorageWeakRef(storage), what

    def follow(
        self, name: str, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any
    ) -> Found | None:
        """Take note of a function of torch; ``Found`` where it multiplies weights with a value."""
        if not isinstance(result, Tensor) or not _is_plain(result):
            return None
        if name in PRODUCTS:
            return self._product(name, arguments, keywords, result)
        if name in SOFTMAX:
            self._softmax(arguments, keywords, result)
        elif name == "linear":
            self._mix(arguments[0], result)
        elif self._held or self._contexts:
            self._carry(name, arguments, keywords, result)
        return None

    def _softmax(self, arguments: Any, keywords: Any, result: Tensor) -> None:
        self._serial += 1
        given = arguments[0] if arguments else keywords["input"]
        axis = keywords.get("dim", arguments[1] if len(arguments) > 1 else -1)
        if axis is None or result.ndim < 2:
            return
        axis %= result.ndim
        if result.ndim > 2:  # with fewer axes it is no attention of a batch
            self.unrecorded[self._serial] = self.place()
        scores, tensor = self.of(given), result.detach()
        scores = scores.seen_as(given) if isinstance(scores, Scores) else None
        if scores is not None and scores.squashed:  # by a tanh without a factor
            scores = replace(scores, softcap=1.0, squashed=False)
        empty = Weights(
            self._serial, tensor, axis, (), (), 0, scores, given.detach(), axis, first=tensor,
            first_axis=axis,
        )  # fmt: skip
        self._put(result, empty.carried_by(tensor, axis, result))

    # What is done to scores and weights.

    def _carry(self, name: str, arguments: Any, keywords: Any, result: Tensor) -> None:
        given = [x for x in (*arguments, *keywords.values()) if isinstance(x, Tensor)]
        if name in ("cat", "concat", "where"):
            given += [x for some in arguments if isinstance(some, list | tuple) for x in some]
        for x in given:
            context = _entry(self._contexts, x)
            if context is not None and result.shape == x.shape:
                storage = result.untyped_storage()
                self._contexts[storage._cdata] = StorageWeakRef(storage), context
        source = next((x for x in given if self.of(x) is not None), None)
        if source is None:
            return
        held, name = self.of(source), _plain_name(name)
        shares = result.untyped_storage()._cdata == source.untyped_storage()._cdata
        if shares and result.data_ptr() != source.data_ptr():
            return  # a view
        if isinstance(held, Scores):
            if not shares or name not in ("view", "reshape", "transpose", "permute", "to"):
                self._carry_scores(name, held, arguments, keywords, source, result)
        elif not shares:
            self._carry_weights(name, held, arguments, keywords, source, result)

    def _carry_scores(
        self, name: str, held: Scores, arguments: Any, keywords: Any, source: Tensor, result: Tensor
    ) -> None:
        if result.shape == source.shape:
            self._put(result, _scores_after(held, name, arguments, keywords, source))
        elif name in ("cat", "concat"):  # sinks
            self._put(result, held if result.shape[:-1] == source.shape[:-1] else held.changed)
        elif result.numel() == source.numel():  # a copy with other axes
            same = result.shape[-2:] == source.shape[-2:] and source.is_contiguous()
            self._put(result, held if same else held.changed)
        elif name in ("add", "masked_fill", "where", "mul", "sub"):  # broadcast
            self._put(result, held.changed)

    def _carry_weights(
        self, name: str, held: Weights, arguments: Any, keywords: Any, source: Tensor,
        result: Tensor,
    ) -> None:  # fmt: skip
        before, axis = held.seen_as(source), held.axis_of(source)
        if before is None or axis is None:
            return
        if result.shape == source.shape:
            if "dropout" in name:
                chance = keywords.get("p", next((x for x in arguments[1:2]), 0.5))
                before = _laid_out(before, result)
                new = held.carried_by(before, axis, result, dropout_p=float(chance))
            elif name in CASTS or name in COPIES:
                before = result.detach() if not held.dropout_p else _laid_out(before, result)
                new = held.carried_by(before, axis, result)
            elif name in CHANGES or (name == "add" and held.mixed):
                kept = held.dropout_p or held.mixed
                before = _laid_out(before, result) if kept else result.detach()
                new = held.carried_by(before, axis, result, changed=True)
            else:
                return
            self._put(result, new)
        elif result.numel() == source.numel() and name in COPIES:
            at = _axis_after(source.shape, axis, result.shape)
            if at is not None:
                self._put(result, held.carried_by(before.reshape(result.shape), at, result))

    def _mix(self, source: Any, result: Tensor) -> None:
        """Follow weights through a linear layer over their heads (talking heads)."""
        held = self.of(source)
        if not isinstance(held, Weights) or result.shape != source.shape:
            return
        before, axis = held.seen_as(source), held.axis_of(source)
        if before is None or axis is None or axis == source.ndim - 1:
            return
        new = held.carried_by(_laid_out(before, result), axis, result, mixed=True, changed=True)
        self._put(result, new)

    # Products.

    def _product(self, name: str, arguments: Any, keywords: Any, result: Tensor) -> Found | None:
        if name == "einsum":
            return self._einsum(arguments, result)
        names = ("input", "batch1", "mat1", "batch2", "mat2", "other", "tensor2")
        given = [*arguments, *(keywords[x] for x in names if x in keywords)]
        left, right = given[1:3] if name == "baddbmm" else given[:2]
        if name == "__rmatmul__":
            left, right = right, left
        if not (isinstance(left, Tensor) and isinstance(right, Tensor)):
            return None
        if min(left.ndim, right.ndim) > 2 and self._is_linear(left, right):
            return None
        for factor, other, transposed in ((left, right, False), (right, left, True)):
            held = self.of(factor)
            if isinstance(held, Weights) and factor.ndim > 1:
                found = self._multiplied(held, factor, other, result, transposed)
                if found is not None:
                    return found
        if min(left.ndim, right.ndim) > 2:
            scores = Scores(left, right.mT)
            if name == "baddbmm":
                beta, alpha = keywords.get("beta", 1), keywords.get("alpha", 1)
                masks = (arguments[0].detach() * beta,) if beta else ()
                scores = replace(scores, scale=float(alpha), masks=masks)
            self._put(result, scores)
        return None

    def _multiplied(
        self, held: Weights, factor: Tensor, other: Tensor, result: Tensor, transposed: bool
    ) -> Found | None:
        """Weights as the first factor, or transposed as the second."""
        if factor.ndim > 2 and other.ndim < 3:  # rows of a table that all share: a mixture
            return None
        turn = _turned if transposed else _same
        shown, value = turn(factor), turn(other)
        before, axis = held.seen_as(shown), held.axis_of(shown)
        if before is None or axis != shown.ndim - 1:
            return None
        output = turn(result)
        if before.shape[:-2] != output.shape[:-2]:
            if len(output.shape) != before.ndim:
                return None
            before = before.expand(*output.shape[:-2], *before.shape[-2:])
        apart = _apart(held, before)
        weights, as_output = before, turn
        as_result: Callable[[Tensor], Tensor] = turn
        if apart is not None:  # heads that share a key are rows of one product
            weights, shape = apart, tuple(output.shape)
            split = (*apart.shape[:-1], shape[-1])

            def as_output(x: Tensor) -> Tensor:
                return turn(x).reshape(split)

            def as_result(x: Tensor) -> Tensor:
                return turn(x.reshape(shape))

        return self._found(held, weights, value, as_output, as_result, result)

    def _found(
        self, held: Weights, weights: Tensor, value: Tensor, as_output: Any, as_result: Any,
        result: Tensor,
    ) -> Found | None:  # fmt: skip
        sinks = held.shape[held.axis] - weights.shape[-1]
        place = self.unrecorded.pop(held.serial, "")
        for key in [x for x, (_, y) in self._held.items()
                    if isinstance(y, Weights) and y.serial == held.serial]:  # fmt: skip
            del self._held[key]
        if held.scores is None:
            storage = result.untyped_storage()
            self._places[held.serial] = place
            self._contexts = {x: y for x, y in self._contexts.items() if not y[0].expired()}
            self._contexts[storage._cdata] = StorageWeakRef(storage), held.serial
        return Found(held, weights, value, as_output, as_result, sinks)

    def _is_linear(self, *factors: Tensor) -> bool:
        """Whether a product takes one of a softmax of features, which is refused then."""
        found = [_entry(self._contexts, x) for x in factors]
        serials = [x for x in found if x is not None]
        for serial in serials:
            self.unrecorded[serial] = self._places.get(serial, "")
            self.refuse(serial)
        return bool(serials)

    def _einsum(self, arguments: Any, result: Tensor) -> Found | None:
        factors = arguments[1] if isinstance(arguments[1], list | tuple) else arguments[1:]
        if len(factors) != 2 or not isinstance(arguments[0], str) or "->" not in arguments[0]:
            return None
        letters = _letters(arguments[0], factors)
        if letters is None:
            return None
        one, two, out = letters
        if min(x.ndim for x in factors) > 2 and self._is_linear(*factors):
            return None
        pairs = ((factors[0], one, factors[1], two), (factors[1], two, factors[0], one))
        for factor, own, other, others in pairs:
            held = self.of(factor)
            if isinstance(held, Weights):
                found = self._einsum_of_weights(held, factor, own, other, others, result, out)
                if found is not None:
                    return found
        if min(x.ndim for x in factors) > 2:
            self._put(result, _einsum_scores(factors, one, two, out))
        return None

    def _einsum_of_weights(
        self, held: Weights, factor: Tensor, own: str, other: Tensor, others: str, result: Tensor,
        out: str,
    ) -> Found | None:  # fmt: skip
        before, axis = held.seen_as(factor), held.axis_of(factor)
        summed = [x for x in own if x in others and x not in out]
        leading = [x for x in out if x in others and x in own]  # sentences come before heads
        rows = [x for x in own if x not in others]
        width = [x for x in others if x in out and x not in own]
        if before is None or axis is None or len(summed) != 1 or own[axis] != summed[0]:
            if (
                before is not None
                and axis is not None
                and self._mixes(other, own, axis, summed, width)
            ):
                order = [summed[0] if x == width[0] else x for x in out]
                self._mix_by_einsum(held, before.permute([own.index(x) for x in order]), result,
                                    order.index(own[axis]))  # fmt: skip
            return None
        if not rows or not width or not leading or set(rows) - set(out):
            return None  # without leading axes: rows of a table that all share, a mixture
        keys = factor.shape[axis]
        sizes = {x: factor.shape[n] for n, x in enumerate(own)}
        as_keys = [x for x in rows if sizes[x] == keys]
        query = as_keys[0] if len(as_keys) == 1 else rows[-1]
        heads = [x for x in rows if x != query]
        order = [*leading, *heads, query]
        weights = before.permute([own.index(x) for x in (*order, summed[0])])
        value = other.permute([others.index(x) for x in (*leading, *summed, *width)])
        value, widths = value.flatten(-len(width)), [other.shape[others.index(x)] for x in width]
        there = [out.index(x) for x in (*order, *width)]
        merged = len(leading) - 1 if heads and len(leading) > 1 else None
        split = tuple(sizes[x] for x in order)

        def as_output(x: Tensor) -> Tensor:
            x = x.permute(there).flatten(-len(width))
            return x if merged is None else x.flatten(merged, -3)

        def as_result(x: Tensor) -> Tensor:
            x = x.reshape(*split, *widths)
            return x.permute([there.index(n) for n in range(len(there))])

        weights = weights if merged is None else weights.flatten(merged, -3)
        return self._found(held, weights, value, as_output, as_result, result)

    @staticmethod
    def _mixes(other: Tensor, own: str, axis: int, summed: list[str], width: list[str]) -> bool:
        """Whether a matrix takes weights over another axis than that of their keys."""
        return other.ndim == 2 and len(width) == len(summed) == 1 and own[axis] != summed[0]

    def _mix_by_einsum(self, held: Weights, before: Tensor, result: Tensor, axis: int) -> None:
        """As ``_mix``, of heads mixed by a matrix in an einsum."""
        if result.shape == before.shape:
            new = _laid_out(before, result)
            self._put(result, held.carried_by(new, axis, result, mixed=True, changed=True))


def _einsum_scores(factors: Any, one: str, two: str, out: str) -> Scores:
    leading = [x for x in out if x in one and x in two]
    summed = [x for x in one if x in two and x not in out]
    rows, columns = ([x for x in out if x not in y] for y in (two, one))
    if not len(rows) == len(columns) == len(summed) == 1:
        return Scores(known=False)
    if out != "".join((*leading, *rows, *columns)):
        return Scores(known=False)
    query = factors[0].permute([one.index(x) for x in (*leading, *rows, *summed)])
    key = factors[1].permute([two.index(x) for x in (*leading, *columns, *summed)])
    return Scores(query, key)


def _letters(formula: str, factors: Any) -> tuple[str, str, str] | None:
    """The subscripts of two factors and of the result, with letters for an ellipsis."""
    terms, _, out = formula.replace(" ", "").partition("->")
    if terms.count(",") != 1:
        return None
    one, two = terms.split(",")
    if "..." in formula:
        pairs = zip(factors, (one, two), strict=True)
        sizes = [x.ndim - len(y.replace("...", "")) for x, y in pairs if "..." in y]
        if len(set(sizes)) != 1:
            return None
        more = "ABCDEFGH"[: sizes[0]]
        one, two, out = (x.replace("...", more) for x in (one, two, out))
    repeated = any(len(set(x)) != len(x) for x in (one, two, out))
    if repeated or (len(one), len(two)) != (factors[0].ndim, factors[1].ndim):
        return None
    return one, two, out


def _scores_after(
    scores: Scores, name: str, arguments: Any, keywords: Any, source: Tensor
) -> Scores:
    """Scores after a function of torch on them."""
    others = [x for x in arguments if x is not source]
    first = others[0] if others else None
    number, plain = _number(first), scores.known and not scores.masks
    if name in CASTS or name in COPIES or not scores.known:
        return scores
    if name in ("mul", "div", "truediv") and number and plain and arguments[0] is source:
        factor = number if name == "mul" else 1 / number
        if scores.squashed:
            return replace(scores, softcap=factor, scale=scores.scale * factor, squashed=False)
        return (
            replace(scores, scale=scores.scale * factor) if not scores.softcap else scores.changed
        )
    if name == "tanh" and plain and scores.softcap is None:
        return replace(scores, squashed=True)
    if scores.squashed:
        return scores.changed
    if name == "add" and isinstance(first, Tensor) and number is None and "alpha" not in keywords:
        return replace(scores, masks=(*scores.masks, first.detach()))
    if name == "sub" and isinstance(first, Tensor) and first.shape[-1:] == (1,):
        return scores  # a maximum, which changes no weight
    if name == "masked_fill" and len(arguments) > 2 and _hides(arguments[2]):
        return replace(scores, masks=(*scores.masks, ~arguments[1].bool()))
    if name == "where" and len(arguments) > 2 and _hides(arguments[2]) and arguments[1] is source:
        return replace(scores, masks=(*scores.masks, arguments[0].bool()))
    return scores.changed


def joined_masks(masks: tuple[Tensor, ...], shape: tuple[int, ...]) -> Tensor | bool | None:
    """All masks as one that broadcasts to (b, h, q, k); None without any, False if one does not."""
    joined: Any = None
    for given in masks:
        mask = given
        if mask.ndim == 3 and mask.shape[0] == shape[0] * shape[1] and shape[1] > 1:
            mask = mask.unflatten(0, shape[:2])
        elif mask.ndim == 3:
            mask = mask[None]
        fits = all(x in (1, y) for x, y in zip(mask.shape[::-1], shape[::-1], strict=False))
        if not fits or mask.ndim > 4:
            return False
        if joined is None:
            joined = mask
        elif joined.dtype == mask.dtype == torch.bool:
            joined = joined & mask
        elif torch.bool in (joined.dtype, mask.dtype):
            hides, numbers = (joined, mask) if joined.dtype == torch.bool else (mask, joined)
            joined = torch.where(hides, numbers, torch.finfo(numbers.dtype).min)
        else:
            lowest = torch.finfo(torch.float32).min
            joined = (joined.float() + mask.float()).clamp(min=lowest)
    return joined


def _apart(held: Weights, shown: Tensor) -> Tensor | None:
    """Weights (..., h, q, k) whose heads are rows of one product; None where they are not."""
    if held.first is None or shown.shape[-2] in held.first.shape or held.first_axis < 0:
        return None
    whole = held.first.movedim(held.first_axis, -1)
    whole = whole[..., : shown.shape[-1]]
    rows = [n for n in range(whole.ndim - 1) if whole.shape[n] > 1]
    for count in range(2, len(rows) + 1):
        some = rows[-count:]
        if prod(whole.shape[n] for n in some) != shown.shape[-2]:
            continue
        as_keys = [n for n in some if whole.shape[n] == shown.shape[-1]]
        query = as_keys[0] if len(as_keys) == 1 else some[-1]
        if query != some[-1] or whole.numel() != shown.numel():
            return None
        return whole.reshape(*shown.shape[:-2], -1, whole.shape[query], shown.shape[-1])
    return None


def _laid_out(weights: Tensor, like: Tensor) -> Tensor:
    """Weights in memory as another tensor of their shape, so that views of it are views of them."""
    if tuple(weights.stride()) == tuple(like.stride()):
        return weights
    return torch.empty_like(like, dtype=weights.dtype).copy_(weights)


def _axis_after(shape: Any, axis: int, other: Any) -> int | None:
    """The axis of another shape of as many numbers that is the same axis."""
    inside = prod(shape[axis + 1 :])
    for at in range(len(other)):
        if other[at] == shape[axis] and prod(other[at + 1 :]) == inside:
            return at
    return None


def _entry(entries: dict[int, tuple[StorageWeakRef, Any]], tensor: Any) -> Any:
    if not entries or not isinstance(tensor, Tensor) or not _is_plain(tensor):
        return None
    entry = entries.get(tensor.untyped_storage()._cdata)
    return None if entry is None or entry[0].expired() else entry[1]


def _is_plain(tensor: Tensor) -> bool:
    """Whether a tensor has a storage of its own: not a nested, sparse or batched one of vmap."""
    if tensor.layout != torch.strided or tensor.is_nested:
        return False
    return not torch._C._functorch.is_functorch_wrapped_tensor(tensor)


def _plain_name(name: str) -> str:
    """'mul' of 'mul_', '__mul__', '__imul__' and '__rmul__'."""
    bare = name.strip("_")
    turned = ("imul", "iadd", "isub", "itruediv", "rmul", "radd")
    return bare[1:] if name.startswith("__") and bare in turned else bare


def _hides(number: Any) -> bool:
    found = _number(number)
    return found is not None and found < HIDES


def _number(x: Any) -> float | None:
    if isinstance(x, int | float):
        return float(x)
    single = isinstance(x, Tensor) and x.numel() == 1 and x.device.type == "cpu"
    return float(x) if single and not x.requires_grad else None


def _turned(x: Tensor) -> Tensor:
    return x.mT


def _same(x: Tensor) -> Tensor:
    return x

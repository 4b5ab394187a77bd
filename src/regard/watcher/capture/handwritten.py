"""Attention written by hand, recognised among the operators of a program as they run.

A softmax over keys whose result is multiplied with a value is attention, and its weights exist
anyway. The output of a softmax is followed by its storage, through views, copies, casts, masks and
dropout, to a matrix product that sums over the axis of the softmax.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

SOFTMAX = frozenset({"aten::_softmax", "aten::_safe_softmax"})
# Operators whose result is weights where their first argument is, of the same shape.
ELEMENTWISE = frozenset({
    "aten::_to_copy", "aten::clone", "aten::mul", "aten::masked_fill", "aten::nan_to_num",
    "aten::where", "aten::div", "aten::copy", "aten::contiguous", "aten::native_dropout",
})  # fmt: skip
PRODUCTS = frozenset({"aten::bmm", "aten::mm", "aten::baddbmm"})
OF_BATCHES = frozenset({"aten::bmm", "aten::baddbmm"})  # of two factors that a program computed
OF_HEADS = PRODUCTS | {"aten::addmm"}  # a linear layer over heads: talking heads
# Operators whose result is scores where an argument is: those above, and what is added to scores.
SCORE_OPERATORS = ELEMENTWISE | {"aten::add", "aten::sub", "aten::tanh"}
MAX_SINKS = 8  # columns of a softmax that meet no value


@dataclass(frozen=True)
class WeightStorage:
    """The layout of weights in a storage: shape, strides, start, and the axis of their keys.

    ``reference`` is weak. ``before`` are the weights before dropout, and before a linear layer that
    mixed the heads; ``serial`` is the softmax, ``original`` the numbers that the axes had in it,
    and ``of_scores`` whether it was one of scores, products of queries and keys.
    """

    reference: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    axis: int
    serial: int
    original: tuple[int, ...]
    before: torch.Tensor | None = None
    mixed: bool = False
    of_scores: bool = True

    @classmethod
    def from_tensor(cls, weights: torch.Tensor, axis: int, serial: int) -> WeightStorage:
        from torch.multiprocessing.reductions import StorageWeakRef

        layout = tuple(weights.shape), tuple(weights.stride()), weights.storage_offset()
        axes = axis % weights.ndim, serial, tuple(range(weights.ndim))
        return cls(StorageWeakRef(weights.untyped_storage()), *layout, *axes)

    @property
    def row_axes(self) -> list[int]:
        return [n for n in range(len(self.shape)) if n != self.axis]

    def copied_to(self, output: torch.Tensor, order: list[int]) -> WeightStorage:
        """The layout of a copy whose axes, those of length 1 apart, are in this order."""
        copy = WeightStorage.from_tensor(output, 0, self.serial)
        shape = tuple(self.shape[n] for n in order)
        long = [x for x in zip(copy.shape, copy.strides, strict=True) if x[0] > 1]
        if [size for size, _ in long] == [size for size in shape if size > 1]:
            steps = iter(stride for _, stride in long)
            strides = tuple(next(steps) if size > 1 else 1 for size in shape)
        else:  # several axes as one, all in line
            strides = tuple(prod(shape[n + 1 :]) for n in range(len(shape)))
        original = tuple(self.original[n] for n in order)
        changes: dict[str, Any] = {
            "axis": order.index(self.axis),
            "original": original,
            "shape": shape,
        }
        changes |= {"mixed": self.mixed, "of_scores": self.of_scores}
        return replace(copy, strides=strides, **changes)


@dataclass(frozen=True)
class Multiplied:
    """Weights (..., q, k) that a product takes with a value, and their softmax.

    ``value`` is the other factor, as the product takes it; ``mixed`` says that a linear layer mixed
    the heads between the softmax and the product: the weights are those before it.
    """

    weights: torch.Tensor
    value: torch.Tensor
    serial: int
    mixed: bool = False
    transposed: bool = False


class HandwrittenAttention:
    """Weights on their way from a softmax to the product with a value.

    Linear attention multiplies queries with a product of keys and values: its softmax is one of
    features, not of scores. ``refuse`` is called with the number of such a softmax, whose product
    looked like attention, once a second product shows what it is.
    """

    def __init__(self) -> None:
        # A weak reference holds the address of its storage, so that no other storage gets it.
        self._storages: dict[int, WeightStorage] = {}
        self._dropout_masks: dict[int, Any] = {}
        self._multiplied: set[int] = set()
        self._serial = 0
        self.unrecorded: dict[int, str] = {}  # softmaxes that met no value yet, by their module
        self.place: Callable[[], str] = str
        self.refuse: Callable[[int], None] = lambda serial: None
        self._places: dict[int, str] = {}  # of softmaxes that are none of scores
        self._scores: dict[int, Any] = {}  # by address: storages that hold scores
        self._contexts: dict[int, tuple[Any, int]] = {}  # products that no score is in, and whose

    def follow(self, name: str, arguments: tuple[Any, ...], result: Any) -> Multiplied | None:
        """Take note of an operator; what it multiplies where that is weights with a value.

        Columns of a softmax that meet no value (sinks) are left out, so that rows may sum to less
        than 1.
        """
        if name in SOFTMAX:
            self._serial += 1
            if getattr(result, "ndim", 0) > 2:  # with fewer axes it is no attention of a batch
                self.unrecorded[self._serial] = self.place()
            storage = WeightStorage.from_tensor(result, arguments[1], self._serial)
            of_scores = _held(self._scores, arguments[0])
            self._remember(result, replace(storage, of_scores=of_scores))
            return None
        if name == "aten::bernoulli_":
            self._dropout_masks[_address(result)] = _weak(result)
        elif name in OF_HEADS:
            factors = arguments[-2:] if name in ("aten::baddbmm", "aten::addmm") else arguments[:2]
            found = None if self._is_linear(name, factors) else self._product(name, factors, result)
            if found is None and not self._mix(factors, result) and name in OF_BATCHES:
                self._scores[_address(result)] = _weak(result)
            return found
        if name in ELEMENTWISE or name == "aten::add":
            self._carry(name, arguments, result)
        if name in SCORE_OPERATORS and any(_held(self._scores, x) for x in arguments[:2]):
            self._scores[_address(result)] = _weak(result)
        return None

    def _is_linear(self, name: str, factors: tuple[Any, ...]) -> bool:
        """Whether a product takes one of a softmax of features, which is refused then."""
        held = [self._contexts[_address(x)] for x in factors if _held(self._contexts, x)]
        if name not in OF_BATCHES:  # a linear layer takes the output of any attention
            return False
        for _, serial in held:
            self.unrecorded[serial] = self._places.get(serial, "")
            self.refuse(serial)
        return bool(held)

    def _mix(self, factors: tuple[Any, ...], result: Any) -> bool:
        """Follow weights through a linear layer over their heads; False where it is another."""
        at = next((n for n, x in enumerate(factors) if self._entry(x) is not None), None)
        if at is None or result.numel() != factors[at].numel():
            return False
        source, entry, summed = factors[at], self._entry(factors[at]), -1 - at
        if entry is None or len(_axes_of(source, entry, summed)) != 1:
            return False
        order, weights = _axis_order(source, entry), _rebuilt(source, entry)
        if order is None or weights is None or _axes_of(source, entry, summed) == [entry.axis]:
            return False
        before = (weights if entry.before is None else entry.before).detach().permute(order)
        self._remember(result, replace(entry.copied_to(result, order), before=before, mixed=True))
        return True

    def _remember(self, tensor: torch.Tensor, storage: WeightStorage) -> None:
        for entries in (self._storages, self._dropout_masks, self._scores, self._contexts):
            for key in [key for key, entry in entries.items() if _expired(entry)]:
                del entries[key]
        self._storages[_address(tensor)] = storage

    def _carry(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        tensors = [x for x in arguments if hasattr(x, "untyped_storage")]
        source = next((x for x in tensors if self._entry(x) is not None), None)
        output = result[0] if isinstance(result, tuple) else result
        for x in tensors:
            if _held(self._contexts, x):
                self._contexts[_address(output)] = _weak(output), self._contexts[_address(x)][1]
        if source is None or output.shape != source.shape:
            return
        entry = self._entry(source)
        if name == "aten::add" and entry is not None and not entry.mixed:
            return  # no weights any more; to mixed ones a linear layer adds its bias
        weights = None if entry is None else _rebuilt(source, entry)
        order = None if entry is None else _axis_order(source, entry)
        if entry is None or weights is None or order is None:
            return  # a view of some of the weights: its layout is not known
        dropped = name == "aten::native_dropout" or any(
            _address(x) in self._dropout_masks for x in tensors
        )
        before = entry.before if entry.before is not None else weights if dropped else None
        before = None if before is None else before.detach().permute(order)
        self._remember(output, replace(entry.copied_to(output, order), before=before))

    def _entry(self, tensor: Any) -> WeightStorage | None:
        entry = self._storages.get(_address(tensor))
        return None if entry is None or _expired(entry) else entry

    def _product(self, name: str, factors: tuple[Any, ...], result: Any) -> Multiplied | None:
        """Weights as the first factor, or transposed as the second."""
        left, right = factors
        for factor, value, transposed in ((left, right, False), (right, left, True)):
            entry = self._entry(factor) if name in PRODUCTS else None
            if entry is None or entry.serial in self._multiplied:
                continue
            row, column = (-1, -2) if transposed else (-2, -1)
            rows, keys, stride = factor.shape[row], factor.shape[column], factor.stride(row)
            weights = self._weights(factor, entry, rows, keys, stride)
            if weights is not None:
                self._multiplied.add(entry.serial)
                place = self.unrecorded.pop(entry.serial, "")
                if not entry.of_scores:
                    self._places[entry.serial] = place
                    self._contexts[_address(result)] = _weak(result), entry.serial
                return Multiplied(weights, value, entry.serial, entry.mixed, transposed)
        return None

    def _weights(
        self, factor: torch.Tensor, entry: WeightStorage, rows: int, keys: int, stride: int
    ) -> torch.Tensor | None:
        """Weights (..., q, k) of a factor whose rows lie ``stride`` numbers apart."""
        source = entry.before if entry.before is not None else _rebuilt(factor, entry)
        if source is None or source.ndim < 2:
            return None
        sinks = source.shape[entry.axis] - keys
        of_all = source.numel() // max(1, source.shape[entry.axis])
        if not 0 <= sinks <= MAX_SINKS or of_all * keys != factor.numel():
            return None
        weights = _arranged(source.detach(), entry, _row_axes(entry, rows, stride), keys)
        if weights is None:
            return None
        first = 0
        if sinks and entry.before is None:
            first = (factor.storage_offset() - entry.start) // entry.strides[entry.axis]
        return weights[..., first : first + keys]


def _axis_order(view: torch.Tensor, entry: WeightStorage) -> list[int] | None:
    """Axes of the weights in the order of a view of all of them; None where it is another view."""
    long = [n for n, size in enumerate(entry.shape) if size > 1]
    order = [n for axis in range(view.ndim) for n in _axes_of(view, entry, axis)]
    if sorted(order) == long and view.storage_offset() == entry.start:
        for n, size in enumerate(entry.shape):
            if size == 1:
                order.insert(n, n)
        return order
    rebuilt = _rebuilt(view, entry)
    in_line = view.is_contiguous() and rebuilt is not None and rebuilt.is_contiguous()
    same = in_line and rebuilt is not None and view.numel() == rebuilt.numel()
    return list(range(len(entry.shape))) if same else None


def _row_axes(entry: WeightStorage, rows: int, stride: int) -> list[int]:
    """The axes of weights that are the rows of a factor: those with its strides, the last inside.

    More than one where heads share their keys, so that their queries are rows of one product.
    """
    if rows == 1:
        return [n for n in entry.row_axes if entry.shape[n] == 1][-1:]
    return _axes_in(entry, entry.row_axes, rows, stride)


def _axes_of(view: torch.Tensor, entry: WeightStorage, axis: int) -> list[int]:
    """The axes of weights that an axis of a view runs through, the innermost last."""
    return _axes_in(entry, range(len(entry.shape)), view.shape[axis], view.stride(axis))


def _axes_in(entry: WeightStorage, axes: Sequence[int], size: int, stride: int) -> list[int]:
    """Those of some axes of weights that ``size`` numbers, ``stride`` apart, run through."""
    merged: list[int] = []
    while size > 1:
        inside = [n for n in axes if entry.shape[n] > 1 and entry.strides[n] == stride]
        if not inside or size % entry.shape[inside[0]]:
            return []
        merged.insert(0, inside[0])
        stride *= entry.shape[inside[0]]
        size //= entry.shape[inside[0]]
    return merged


def _arranged(
    weights: torch.Tensor, entry: WeightStorage, rows: list[int], keys: int
) -> torch.Tensor | None:
    """Weights as (..., q, k), given the axes that are rows; None where queries are not known.

    Of several axes of rows one is the queries, and the others are heads that share their keys: as
    many queries as keys, or, where that cannot say it, the last before the keys in the softmax.
    """
    if not rows:
        return None
    last = entry.row_axes[-1]
    if last not in rows and entry.shape[last] == 1:
        # Rows of one axis: queries of one head, or heads of one query, which the shape cannot say.
        if entry.shape[rows[-1]] == keys:
            return None
        rows = [*rows, last]
    as_keys = [n for n in rows if entry.shape[n] == keys]
    query = as_keys[0] if len(as_keys) == 1 else max(rows, key=lambda n: entry.original[n])
    heads = [n for n in rows if n != query]
    leading = [n for n in entry.row_axes if n not in rows]
    if heads and not leading:
        return None  # rows of a table that all share: a mixture, no attention
    ordered = weights.permute(*leading, *heads, query, entry.axis)
    return ordered.flatten(len(leading) - 1, -3) if heads and len(leading) > 1 else ordered


def _rebuilt(view: torch.Tensor, entry: WeightStorage) -> torch.Tensor | None:
    """The weights as the softmax laid them out, from any view of their storage."""
    size = entry.start + sum((n - 1) * s for n, s in zip(entry.shape, entry.strides, strict=True))
    if 0 in entry.shape or size >= view.untyped_storage().nbytes() // view.element_size():
        return None
    return view.detach().as_strided(entry.shape, entry.strides, entry.start)


def _address(tensor: Any) -> int:
    return int(tensor.untyped_storage()._cdata)


def _weak(tensor: Any) -> Any:
    from torch.multiprocessing.reductions import StorageWeakRef

    return StorageWeakRef(tensor.untyped_storage())


def _held(entries: dict[int, Any], tensor: Any) -> bool:
    """Whether a tensor lies in one of some storages that are still alive."""
    entry = (
        entries.get(_address(tensor)) if entries and hasattr(tensor, "untyped_storage") else None
    )
    return entry is not None and not _expired(entry)


def _expired(entry: Any) -> bool:
    reference = entry.reference if isinstance(entry, WeightStorage) else entry
    reference = reference[0] if isinstance(reference, tuple) else reference
    return bool(reference.expired())

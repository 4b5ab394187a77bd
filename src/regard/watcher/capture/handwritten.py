"""Attention written by hand, recognised among the operators of a program as they run.

A softmax over keys whose result is multiplied with a value is attention, and its weights exist
anyway. The output of a softmax is followed by its storage, through views, copies, casts, masks and
dropout, to a matrix product that sums over the axis of the softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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
MAX_SINKS = 8  # columns of a softmax that meet no value


@dataclass(frozen=True)
class WeightStorage:
    """The layout of weights in a storage: shape, strides, start, and the axis of their keys.

    ``reference`` is weak. ``before`` are the weights before dropout, ``serial`` the softmax, and
    ``original`` the numbers that the axes had in it.
    """

    reference: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    axis: int
    serial: int
    original: tuple[int, ...]
    before: torch.Tensor | None = None

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
        layout = zip(copy.shape, copy.strides, strict=True)
        long = [(size, stride) for size, stride in layout if size > 1]
        if [size for size, _ in long] == [size for size in shape if size > 1]:
            steps = iter(stride for _, stride in long)
            strides = tuple(next(steps) if size > 1 else 1 for size in shape)
        else:
            strides = self.strides  # several axes as one, all in line
        original = tuple(self.original[n] for n in order)
        axis = order.index(self.axis)
        return replace(copy, shape=shape, strides=strides, axis=axis, original=original)


class HandwrittenAttention:
    """Weights on their way from a softmax to the product with a value."""

    def __init__(self) -> None:
        # A weak reference holds the address of its storage, so that no other storage gets it.
        self._storages: dict[int, WeightStorage] = {}
        self._dropout_masks: dict[int, Any] = {}
        self._multiplied: set[int] = set()
        self._serial = 0
        self.unrecorded: dict[int, str] = {}  # softmaxes that met no value yet, by their module
        self.place: Callable[[], str] = str

    def follow(self, name: str, arguments: tuple[Any, ...], result: Any) -> torch.Tensor | None:
        """Take note of an operator; the weights (..., q, k) where it multiplies some with a value.

        Columns of a softmax that meet no value (sinks) are left out, so that rows may sum to less
        than 1.
        """
        if name in SOFTMAX:
            self._serial += 1
            if getattr(result, "ndim", 0) > 2:  # with fewer axes it is no attention of a batch
                self.unrecorded[self._serial] = self.place()
            self._remember(result, WeightStorage.from_tensor(result, arguments[1], self._serial))
        elif name in ELEMENTWISE:
            self._carry(name, arguments, result)
        elif name == "aten::bernoulli_":
            self._dropout_masks[_address(result)] = _weak(result)
        elif name in PRODUCTS:
            return self._product(arguments[-2:] if name == "aten::baddbmm" else arguments[:2])
        return None

    def _remember(self, tensor: torch.Tensor, storage: WeightStorage) -> None:
        for entries in (self._storages, self._dropout_masks):
            for key in [key for key, entry in entries.items() if _expired(entry)]:
                del entries[key]
        self._storages[_address(tensor)] = storage

    def _carry(self, name: str, arguments: tuple[Any, ...], result: Any) -> None:
        tensors = [x for x in arguments if hasattr(x, "untyped_storage")]
        source = next((x for x in tensors if self._entry(x) is not None), None)
        output = result[0] if isinstance(result, tuple) else result
        if source is None or output.shape != source.shape:
            return
        entry = self._entry(source)
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

    def _product(self, operands: tuple[Any, ...]) -> torch.Tensor | None:
        """Weights as the first factor, or transposed as the second."""
        left, right = operands
        for factor, transposed in ((left, False), (right, True)):
            entry = self._entry(factor)
            if entry is None or entry.serial in self._multiplied:
                continue
            row, column = (-1, -2) if transposed else (-2, -1)
            rows, keys, stride = factor.shape[row], factor.shape[column], factor.stride(row)
            weights = self._weights(factor, entry, rows, keys, stride)
            if weights is not None:
                self._multiplied.add(entry.serial)
                self.unrecorded.pop(entry.serial, None)
                return weights
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
    layouts = {(entry.shape[n], entry.strides[n]): n for n in long}
    sizes = zip(view.shape, view.stride(), strict=True)
    order = [layouts.get((size, stride), -1) for size, stride in sizes if size > 1]
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
    axes = entry.row_axes
    if rows == 1:
        return [n for n in axes if entry.shape[n] == 1][-1:]
    merged: list[int] = []
    while rows > 1:
        inside = [n for n in axes if entry.shape[n] > 1 and entry.strides[n] == stride]
        if not inside or rows % entry.shape[inside[0]]:
            return []
        merged.insert(0, inside[0])
        stride *= entry.shape[inside[0]]
        rows //= entry.shape[inside[0]]
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


def _expired(entry: Any) -> bool:
    reference = entry.reference if isinstance(entry, WeightStorage) else entry
    return bool(reference.expired())

"""Attention written by hand, recognised among the operators of a program as they run.

A softmax over keys whose result is multiplied with a value is attention, and its weights exist
anyway. The output of a softmax is followed by its storage, through views, copies, casts, masks and
dropout, to a matrix product that sums over the axis of the softmax.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

SOFTMAX = frozenset({"aten::_softmax", "aten::_safe_softmax"})
# Operators whose result is weights where their first argument is, of the same shape.
CARRIES = frozenset({
    "aten::_to_copy", "aten::clone", "aten::mul", "aten::masked_fill", "aten::nan_to_num",
    "aten::where", "aten::div", "aten::copy", "aten::contiguous", "aten::native_dropout",
})  # fmt: skip
PRODUCTS = frozenset({"aten::bmm", "aten::mm", "aten::baddbmm"})
MOST_SINKS = 8  # columns of a softmax that meet no value


@dataclass(frozen=True)
class WeightStorage:
    """The layout of weights in a storage: shape, strides, start, and the axis of their keys.

    ``reference`` is weak. ``before`` are the weights before dropout, ``serial`` the softmax.
    """

    reference: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    start: int
    axis: int
    serial: int
    before: torch.Tensor | None = None

    @classmethod
    def of(cls, weights: torch.Tensor, axis: int, serial: int) -> WeightStorage:
        """The layout of a softmax's output."""
        from torch.multiprocessing.reductions import StorageWeakRef

        layout = tuple(weights.shape), tuple(weights.stride()), weights.storage_offset()
        return cls(StorageWeakRef(weights.untyped_storage()), *layout, axis % weights.ndim, serial)


class HandwrittenAttention:
    """Weights on their way from a softmax to the product with a value."""

    def __init__(self) -> None:
        # A weak reference holds the address of its storage, so that no other storage gets it.
        self._storages: dict[int, WeightStorage] = {}
        self._dropout_masks: dict[int, Any] = {}
        self._multiplied: set[int] = set()
        self._serial = 0

    def follow(self, name: str, arguments: tuple[Any, ...], result: Any) -> torch.Tensor | None:
        """Take note of an operator; the weights (..., q, k) where it multiplies some with a value.

        Columns of a softmax that meet no value (sinks) are left out, so that rows may sum to less
        than 1.
        """
        if name in SOFTMAX:
            self._serial += 1
            self._remember(result, WeightStorage.of(result, arguments[1], self._serial))
        elif name in CARRIES:
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
        if entry is None or weights is None or weights.shape != source.shape:
            return  # a view of the weights of another shape: its layout is not known
        dropped = name == "aten::native_dropout" or any(
            _address(x) in self._dropout_masks for x in tensors
        )
        carried = WeightStorage.of(output, entry.axis, entry.serial)
        before = entry.before if entry.before is not None else source.detach() if dropped else None
        self._remember(output, replace(carried, before=before))

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
            queries, keys = factor.shape[-2:]
            if transposed:
                queries, keys = keys, queries
            weights = self._weights(factor, entry, queries, keys)
            if weights is not None:
                self._multiplied.add(entry.serial)
                return weights
        return None

    def _weights(
        self, factor: torch.Tensor, entry: WeightStorage, queries: int, keys: int
    ) -> torch.Tensor | None:
        source = entry.before if entry.before is not None else _rebuilt(factor, entry)
        if source is None or source.ndim < 2:
            return None
        weights = source.detach().movedim(entry.axis, -1)
        sinks = weights.shape[-1] - keys
        rows = weights.numel() // max(1, weights.shape[-1])
        if not 0 <= sinks <= MOST_SINKS or rows * keys != factor.numel():
            return None
        if weights.shape[-2] != queries or (sinks and queries == keys == weights.shape[-1]):
            return None
        first = 0
        if sinks and entry.before is None:
            first = (factor.storage_offset() - entry.start) // entry.strides[entry.axis]
        return weights[..., first : first + keys]


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

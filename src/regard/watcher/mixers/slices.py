"""Positions or chunks read and written one by one, so that a gradient passes all of them once.

Torch fills a whole tensor for the gradient of each slice: a loop over n chunks costs n squared.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

MANY = 8  # slices of a tensor, from which on it is taken apart at once


class Slices:
    """Runs functions of a forward: ``x[:, i]`` is a part of x, ``y[:, i] = x`` a part of y.

    Only the way of gradients is another. A tensor that was written part by part is put together
    where a function reads it.
    """

    def __init__(self) -> None:
        self._read: dict[tuple[int, int, int], tuple[Any, int, tuple[Tensor, ...]]] = {}
        self._written: dict[int, tuple[Tensor, int, dict[int, Tensor]]] = {}
        self._whole: dict[int, tuple[Tensor, Tensor]] = {}

    def run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        axis = _axis(*args[:2]) if func in (Tensor.__getitem__, Tensor.__setitem__) else None
        if axis is not None and torch.is_grad_enabled():
            tensor, index = args[0], _index(args[1], axis) % args[0].shape[axis]
            written = self._written.get(id(tensor))
            if func is Tensor.__setitem__:
                if written is None and id(tensor) not in self._whole and _takes(tensor, args[2]):
                    written = self._written[id(tensor)] = tensor, axis, {}
                if written is not None and written[1] == axis:
                    return self._write(tensor.select(axis, index), args[2], index, written[2])
            elif written is not None and written[1] == axis:
                return written[2].get(index, tensor.select(axis, index))
            elif tensor.requires_grad:
                return self._part(tensor, axis, index)
        if self._written or self._whole:
            args, kwargs = tree_map(self._put_together, (args, kwargs))
        return func(*args, **kwargs)

    @staticmethod
    def _write(place: Tensor, given: Any, index: int, parts: dict[int, Tensor]) -> None:
        parts.pop(index, None)
        if isinstance(given, Tensor) and given.requires_grad:
            parts[index] = given.to(place.dtype).broadcast_to(place.shape)
            given = given.detach()
        place[...] = given

    def _part(self, tensor: Tensor, axis: int, index: int) -> Tensor:
        key = id(tensor), axis, tensor._version
        known, times, parts = self._read.get(key, (None, 0, ()))
        if known is None or known() is not tensor:  # a tensor that is gone had this number
            times, parts = 0, ()
        if times == MANY:
            parts = tensor.unbind(axis)
        self._read[key] = weakref.ref(tensor), times + 1, parts
        return parts[index] if times >= MANY else tensor.select(axis, index)

    def _put_together(self, given: Any) -> Any:
        """A tensor that was written part by part, from now on as torch has it."""
        if not isinstance(given, Tensor):
            return given
        if id(given) in self._written:
            tensor, axis, parts = self._written.pop(id(given))
            rows = [parts.get(i, x) for i, x in enumerate(tensor.unbind(axis))]
            self._whole[id(given)] = tensor, torch.stack(rows, dim=axis)
        return self._whole[id(given)][1] if id(given) in self._whole else given


def _axis(tensor: Tensor, index: Any) -> int | None:
    """The axis at which an index has a number, if it takes all of every other."""
    index = index if isinstance(index, tuple) else (index,)
    numbers = [axis for axis, x in enumerate(index) if type(x) is int]
    whole = all(type(x) is int or (isinstance(x, slice) and x == slice(None)) for x in index)
    return numbers[0] if whole and len(numbers) == 1 and tensor.ndim > 1 else None


def _index(index: Any, axis: int) -> int:
    return int(index[axis] if isinstance(index, tuple) else index)


def _takes(tensor: Tensor, given: Any) -> bool:
    """Whether a tensor without a gradient is given a part that has one."""
    return isinstance(given, Tensor) and given.requires_grad and not tensor.requires_grad

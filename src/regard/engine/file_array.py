"""Arrays in a file that are read when they are indexed, range by range.

A memory map would end the process (SIGBUS) where another program cuts the file short; reading
raises a FileError instead.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from regard.errors import FileError
from regard.typing import Array

Decode = Callable[[Array], Array]
SEPARATE_READS = 1024  # blocks read one by one; more of them are read in one piece


class FileReader:
    """One open file, read by several threads; it stays the same file if its name is replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb", buffering=0)
        self._lock = threading.Lock()

    def read(self, start: int, size: int) -> bytearray:
        """The bytes of a range."""
        content = bytearray(size)
        view = memoryview(content)
        with self._lock:
            self._file.seek(start)
            while view and (count := self._file.readinto(view)):
                view = view[count:]
        if view:
            raise FileError(
                f"{self.path} has become shorter since it was opened: make it again, and open it "
                "again."
            )
        return content

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


class FileArray(np.lib.mixins.NDArrayOperatorsMixin):
    """A C-contiguous array in a file, in place of an ndarray: indexing it reads what is needed.

    Integers and ranges on the first axes read those parts alone; anything else reads the array.
    ``decode`` turns numbers of the file into those of ``dtype``, one by one.
    """

    def __init__(
        self,
        reader: FileReader,
        start: int,
        stored: np.dtype[Any],
        shape: tuple[int, ...],
        decode: Decode | None = None,
    ) -> None:
        self.reader, self.start, self.stored, self.shape = reader, start, stored, shape
        self.decode = decode
        self.dtype = stored if decode is None else decode(np.zeros(0, stored)).dtype

    def decoded(self, decode: Decode) -> FileArray:
        """The same array, each of whose numbers is decoded when it is read."""
        return FileArray(self.reader, self.start, self.stored, self.shape, decode)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The number of bytes in the file."""
        return self.size * self.stored.itemsize

    def read(self) -> Array:
        """All of it as an ndarray."""
        content = self.reader.read(self.start, self.nbytes)
        array = np.frombuffer(content, self.stored).reshape(self.shape)
        return array if self.decode is None else self.decode(array)

    def reshape(self, *shape: Any) -> Any:
        """The same elements under other axes; nothing is read."""
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        product = math.prod(size for size in sizes if size != -1)
        sizes = tuple(self.size // max(1, product) if size == -1 else int(size) for size in sizes)
        if math.prod(sizes) != self.size:
            raise ValueError(f"cannot reshape {self.shape} into {sizes}")
        return FileArray(self.reader, self.start, self.stored, sizes, self.decode)

    def __getitem__(self, index: Any) -> Any:
        first, *others = index if isinstance(index, tuple) and index else (index,)
        rest = tuple(others)
        if self.shape and isinstance(first, int | np.integer) and not isinstance(first, bool):
            block = self._blocks(*self._range(int(first))).reshape(self.shape[1:])
            return block[rest] if rest else block.read()[()]
        if self.shape and isinstance(first, slice) and first.step in (None, 1):
            start, stop, _ = first.indices(self.shape[0])
            part = self._blocks(start, max(start, stop))
            if rest and 0 < part.shape[0] <= SEPARATE_READS:
                return np.stack([part[(i, *rest)] for i in range(len(part))])
            return part.read()[(slice(None), *rest)] if rest else part.read()
        return self.read()[index]

    def _range(self, first: int) -> tuple[int, int]:
        at = first + self.shape[0] if first < 0 else first
        if not 0 <= at < self.shape[0]:
            raise IndexError(f"index {first} is out of bounds for axis 0 of size {self.shape[0]}")
        return at, at + 1

    def _blocks(self, start: int, stop: int) -> FileArray:
        step = math.prod(self.shape[1:]) * self.stored.itemsize
        shape = (stop - start, *self.shape[1:])
        begin = self.start + start * step
        return FileArray(self.reader, begin, self.stored, shape, self.decode)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.read())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.read(), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        plain = [x.read() if isinstance(x, FileArray) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # an interface of NumPy that an object may have: this one has none
            raise AttributeError(name)
        return getattr(self.read(), name)

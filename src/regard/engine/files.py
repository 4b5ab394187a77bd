"""The .regard file of an observation: safetensors with a JSON header and checksums of every byte.

Each array has one in the header, and the header has its own, compared wherever a file is opened.
A file is written completely or not at all, and read at once or range by range.
"""

from __future__ import annotations

import json
import math
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Unpack, cast

import numpy as np

from regard.atomic_write import replacing
from regard.engine.call import Cost, Extent, Problem, build_problem, prepare
from regard.engine.observation import ArrayFacts, Observation
from regard.engine.profile import Profile
from regard.errors import FileError
from regard.textbook.options import AttentionOptions, check_shapes, with_defaults
from regard.typing import Array

FORMAT = "regard observation"
VERSION = 1
PROFILE_ARRAYS = ("first", "back", "weight")
BuildProblem = Callable[..., Problem]
Decode = Callable[[Array], Array]
# What a damaged header may cause where its fields are used.
HEADER_ERRORS = (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError,
                 OverflowError, MemoryError)  # fmt: skip
MAX_SEPARATE_READS = 1024  # blocks read one by one; more of them are read in one piece


class FileReader:
    """One open file, read by several threads; it stays the same file if its name is replaced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("rb", buffering=0)
        self._lock = threading.Lock()

    def read(self, start: int, size: int) -> bytearray:
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

    def __copy__(self) -> FileReader:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> FileReader:
        return self  # the open file stays the one that was read so far

    def __reduce__(self) -> tuple[type[FileReader], tuple[Path]]:
        return FileReader, (self.path.absolute(),)  # opened again where it is unpickled

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self._file.close()


class FileArray(np.lib.mixins.NDArrayOperatorsMixin):
    """A C-contiguous array in a file, in place of an ndarray: indexing it reads what is needed.

    A memory map would end the process (SIGBUS) where another program truncates the file; reading
    raises a FileError instead.

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
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.stored.itemsize

    def read(self) -> Array:
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
            if rest and 0 < part.shape[0] <= MAX_SEPARATE_READS:
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
        if name.startswith("_"):  # NumPy looks for optional interfaces, which this class lacks
            raise AttributeError(name)
        return getattr(self.read(), name)


def save(seen: Observation, path: Path, query_and_key: bool) -> None:
    """Write the facts; with ``query_and_key`` also what tiles and rows are computed from."""
    arrays = dict(seen.facts)
    if seen._profile is not None:
        arrays |= {f"profile.{name}": getattr(seen.profile, name) for name in PROFILE_ARRAYS}
    arguments: list[dict[str, Any]] = []
    notes = list(seen.notes)
    for index, part in enumerate(seen.parts if query_and_key else ()):
        problem = part.on_host()
        arguments.append(part_arguments(problem, path))
        arrays |= part_arrays(index, problem)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "keys": seen.keys,
        "cost": vars(seen.cost),
        "notes": notes,
        "parts": arguments,
    }
    write_file(path, header, arrays)


def write_file(path: Path, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write arrays and header, with the shape, dtype and checksum of each array."""
    # The widest numbers come first, so that every array begins at a multiple of its item size.
    contiguous = {name: _as_stored(array, path) for name, array in arrays.items()}
    ordered = sorted(contiguous.items(), key=lambda item: -item[1].itemsize)
    header = header | {"contents": {name: described(array) for name, array in ordered}}
    header["header_checksum"] = True
    metadata = {"regard": json.dumps(header, default=int), CHECKSUM_NAME: NO_CHECKSUM}
    entries: dict[str, Any] = {"__metadata__": metadata}
    end = 0
    for name, array in ordered:
        start, end = end, end + array.nbytes
        dtype = SAFETENSORS_NAMES[array.dtype]
        entries[name] = {"dtype": dtype, "shape": array.shape, "data_offsets": [start, end]}
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    text = text.replace(CHECKSUM_FIELD, _header_checksum(text), 1)
    with replacing(path) as draft, draft.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, array in ordered:
            file.write(array.reshape(-1).view(np.uint8).data)


def _as_stored(array: Array, path: Path) -> Array:
    """A contiguous array of little-endian numbers; ascontiguousarray would add an axis to a 0-d."""
    dtype = array.dtype.newbyteorder("<")
    if dtype not in SAFETENSORS_NAMES:
        raise FileError(f"{path} cannot hold numbers of dtype {array.dtype}: save a float64 mask.")
    return np.asarray(array, dtype, order="C")


def _header_checksum(text: bytes) -> bytes:
    """The field that a header must have: CRC-32 of its length and text, the field's digits 0."""
    crc = zlib.crc32(text, zlib.crc32(len(text).to_bytes(8, "little")))
    return CHECKSUM_FIELD.replace(NO_CHECKSUM.encode(), b"%08x" % crc)


def _check_header_text(text: bytes, metadata: dict[str, Any], about: Any, path: Path) -> None:
    """Compare a header with its checksum; files of earlier versions have none."""
    found = metadata.get(CHECKSUM_NAME)
    if found is None and not (isinstance(about, dict) and about.get("header_checksum")):
        return
    field = CHECKSUM_FIELD.replace(NO_CHECKSUM.encode(), str(found).encode())
    if text.count(field) != 1 or _header_checksum(text.replace(field, CHECKSUM_FIELD)) != field:
        raise FileError(
            f"{path} is damaged: its header is not the one that was saved. Make the file again "
            "with seen.save(...)."
        )


def load(path: str | Path, *, verify: bool = True) -> Observation:
    """Read a .regard file; tiles and rows work if query and key were saved with it.

    Parameters
    ----------
    path : the file.
    verify : whether to compare each array with its checksum.
    """
    header, arrays = read_file(Path(path), verify=verify)
    with file_errors(path):
        return observation_from_arrays(header, arrays)


@contextmanager
def file_errors(path: str | Path) -> Iterator[None]:
    """Raise a FileError in place of the errors that a damaged header causes."""
    try:
        yield
    except FileError:
        raise
    except HEADER_ERRORS as error:
        reason = str(error) or type(error).__name__
        if isinstance(error, KeyError):
            reason = f"its header has no {error}"
        raise FileError(
            f"{path} is not a complete .regard file: {reason.rstrip('.')}. It may be cut short or "
            "of another kind; make it again with seen.save(...)."
        ) from None
    except OSError as error:
        raise FileError(f"{path} cannot be read: {error.strerror}.") from None


def observation_from_arrays(
    header: dict[str, Any], arrays: dict[str, Array], build: BuildProblem = prepare
) -> Observation:
    """The observation of a header and named arrays; ``build`` makes a problem of query and key."""
    profile = None
    if "profile.first" in arrays:
        profile = Profile(*(arrays[f"profile.{name}"] for name in PROFILE_ARRAYS))
    parts = tuple(
        part_problem(options, arrays, i, build) for i, options in enumerate(header["parts"])
    )
    facts = {x: a for x, a in arrays.items() if not x.startswith(("profile.", "part."))}
    check_facts(facts, header["keys"], parts)
    cost, notes = cost_from_header(header["cost"]), tuple(str(note) for note in header["notes"])
    return Observation(ArrayFacts(facts), profile, parts, header["keys"], cost, notes)


def cost_from_header(entry: dict[str, Any]) -> Cost:
    """The cost in a header."""
    plan, flops, peak = entry["plan"], entry["flops"], entry["peak_bytes"]
    kernels = entry.get("kernels", "")  # files of the first version have none
    texts, numbers = (plan, kernels), (flops, peak)
    if not all(isinstance(x, str) for x in texts) or not all(isinstance(x, int) for x in numbers):
        raise FileError("cost must have a plan, flops and peak_bytes.")
    return Cost(plan, flops, peak, kernels)


def check_facts(facts: dict[str, Array], keys: Any, parts: tuple[Problem, ...]) -> None:
    """Compare the axes of all facts of an observation with each other."""
    if not isinstance(keys, int) or isinstance(keys, bool) or keys < 0:
        raise FileError(f"keys must be a whole number from 0 up, got {keys!r}.")
    rows = tuple(facts["logsumexp"].shape)
    axes = dict.fromkeys(("logsumexp", "entropy", "first_weights"), rows)
    axes["received"] = (*rows[:-1], keys)
    leading = {"output": rows, "top_weights": rows, "top_keys": rows, "map": rows[:-1]}
    for name, array in facts.items():
        shape = tuple(array.shape)
        if name in axes:
            fits = shape == axes[name]
        else:
            fits = name in leading and shape[: len(leading[name])] == leading[name]
            fits &= len(shape) == len(rows) + 1
        if not (rows and fits and array.dtype.kind in "fi"):
            raise FileError(f"the file's {name} has shape {shape}, which does not fit {rows}.")
    if parts and sum(part.visibility.keys for part in parts) != keys:
        raise FileError(f"the file's parts do not have {keys} keys together.")


def part_arguments(part: Problem, path: Path) -> dict[str, Any]:
    """The options of a part as JSON; its arrays are those of ``part_arrays``."""
    if callable(part.options["mask"]):
        raise FileError(
            f"{path} cannot hold query and key: their mask is a function, which no file can "
            "hold. Save without query_and_key."
        )
    options = {x: part.options[x] for x in ("causal", "offset", "window", "softcap")}
    return options | {"scale": part.scale}


def part_arrays(index: int, part: Problem) -> dict[str, Array]:
    """Query and key in the caller's shapes, mask and lengths where there are any."""
    visibility, leading = part.visibility, part.leading
    kv_leading = (*leading[:-1], leading[-1] // part.group) if leading else ()
    arrays = {
        "query": part.query_hqd.reshape(*leading, *part.query_hqd.shape[1:]),
        "key": part.key_gkd.reshape(*kv_leading, *part.key_gkd.shape[1:]),
    }
    if visibility.mask is not None:
        arrays["mask"] = np.asarray(part.options["mask"])
    if visibility.lengths_h is not None:
        arrays["lengths"] = np.asarray(part.options["lengths"])
    return {f"part.{index}.{name}": array for name, array in arrays.items()}


def part_problem(
    arguments: dict[str, Any], arrays: dict[str, Array], index: int, build: BuildProblem = prepare
) -> Problem:
    """A part rebuilt from its ``part_arguments`` and ``part_arrays``."""
    query, key, mask, lengths = (
        arrays.get(f"part.{index}.{x}") for x in ("query", "key", "mask", "lengths")
    )
    if query is None or key is None:
        raise FileError("the header lists query and key, but the file does not have them.")
    options = {name: arguments[name] for name in ("causal", "offset", "softcap", "scale")}
    window = tuple(arguments["window"]) if arguments["window"] else None
    options |= {"window": window, "mask": mask, "lengths": lengths}
    return build(query, key, np.zeros((*key.shape[:-1], 0), key.dtype), **options)


def read_file(
    path: Path, kind: str = FORMAT, version: int = VERSION, verify: bool = True
) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header of a file of this kind, and all its arrays, compared with their checksums."""
    header, unread_arrays = mapped_arrays(path)
    check_header(header, path, kind, version)
    with file_errors(path):
        arrays = {name: np.asarray(array) for name, array in unread_arrays.items()}
        check_contents(header["contents"], arrays, path, verify)
    return header, arrays


def check_contents(
    contents: dict[str, Any], arrays: dict[str, Array], path: Path, verify: bool
) -> None:
    """Compare shapes and dtypes of arrays with the header, and with ``verify`` their checksums."""
    if sorted(contents) != sorted(arrays):
        raise FileError(f"{path} is damaged: its header names other arrays than it has.")
    for name, array in arrays.items():
        entry = contents[name]
        if entry["shape"] != list(array.shape) or entry["dtype"] != str(array.dtype):
            raise FileError(f"{path} is damaged: its header gives {name} other axes than it has.")
        if verify and entry["crc32"] != checksum(array):
            raise FileError(
                f"{path} is damaged: the numbers of {name} are not those that were saved. Make "
                "the file again with seen.save(...)."
            )


def checksum(array: Array) -> int:
    """CRC-32 of an array's bytes.

    >>> checksum(np.zeros(2, np.uint8)) == zlib.crc32(bytes(2))
    True
    """
    return zlib.crc32(np.asarray(array, order="C").reshape(-1).view(np.uint8).data)


def check_header(header: Any, path: Path, kind: str = FORMAT, version: int = VERSION) -> None:
    """Raise unless the header is of this kind of file and of a version that can be read."""
    if not isinstance(header, dict) or header.get("format") != kind:
        raise FileError(
            f"{path} must be a .regard file, got a safetensors file without its header."
        )
    if not isinstance(header.get("version"), int):
        raise FileError(f"{path} has no version in its header: make it again with seen.save(...).")
    if header["version"] > version:
        raise FileError(
            f"{path} has version {header['version']} and this regard reads up to {version}: "
            "update regard."
        )


def described(array: Array) -> dict[str, Any]:
    """Shape, dtype and checksum, for the header."""
    return {"shape": list(array.shape), "dtype": str(array.dtype), "crc32": checksum(array)}


SAFETENSORS_DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "u1", "BOOL": "?",
}  # fmt: skip
SAFETENSORS_NAMES = {np.dtype(dtype): name for name, dtype in SAFETENSORS_DTYPES.items()}
CHECKSUM_NAME, NO_CHECKSUM = "header_crc32", "00000000"
CHECKSUM_FIELD = f'"{CHECKSUM_NAME}":"{NO_CHECKSUM}"'.encode()
MAX_ARRAY_SIZE = 2**48  # of all axes but the empty ones: NumPy refuses larger shapes
# Assumed of query and key that are not read: so long that no sum goes without a shift.
ASSUMED_ROW_LENGTH = 1e4


def open_mapped(path: str | Path, *, verify: bool = False) -> Observation:
    """An observation whose facts, query and key are read from the file as they are used.

    ``verify`` reads all of it once, to compare each array with its checksum.
    """
    header, arrays = mapped_arrays(Path(path))
    check_header(header, Path(path))
    with file_errors(path):
        if verify:
            check_contents(header["contents"], arrays, Path(path), verify)
        return observation_from_arrays(header, arrays, unread)


def mapped_arrays(path: Path) -> tuple[Any, dict[str, Array]]:
    """The header of a file, and its arrays, which are read as they are indexed."""
    if not path.is_file():
        raise FileError(f"No such file: {path}")
    with file_errors(path):
        reader, end = FileReader(path), path.stat().st_size
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            text = file.read(min(size, end))
        described = json.loads(text)
        metadata = described.pop("__metadata__", {})
        about = json.loads(metadata.get("regard", "null"))
        _check_header_text(text, metadata, about, path)
        arrays = {x: _array(reader, 8 + size, end, entry) for x, entry in described.items()}
        if 8 + size + sum(array.nbytes for array in arrays.values()) != end:
            raise ValueError(f"it has {end:,} bytes, other than its header says")
        return about, arrays


def _array(reader: FileReader, base: int, end: int, entry: dict[str, Any]) -> Array:
    start, stop = (base + int(offset) for offset in entry["data_offsets"])
    shape = tuple(int(size) for size in entry["shape"])
    array = FileArray(reader, start, np.dtype(SAFETENSORS_DTYPES[entry["dtype"]]), shape)
    if (
        min(shape, default=0) < 0
        or not base <= start <= stop <= end
        or array.nbytes != stop - start
        or math.prod(max(1, size) for size in shape) > MAX_ARRAY_SIZE
    ):
        raise ValueError("an array lies outside the file")
    return cast("Array", array)


def unread(query: Array, key: Array, value: Array, **options: Unpack[AttentionOptions]) -> Problem:
    """As ``prepare``, but no number of query and key is read."""
    check_shapes(query, key, value)
    lengths = {"query": ASSUMED_ROW_LENGTH, "key": ASSUMED_ROW_LENGTH, "value": 0.0}
    leading = tuple(query.shape[:-2])
    extent = Extent(query.dtype, leading, query.shape[-2], key.shape[-2], lengths)
    return build_problem(
        {"query": query, "key": key, "value": value}, extent, with_defaults(**options)
    )

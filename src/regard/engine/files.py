"""The .regard file of an observation.

Safetensors with a JSON header; written, read or memory-mapped.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from regard.engine.interfaces import ArrayFacts
from regard.engine.observation import Observation
from regard.engine.profile import Profile
from regard.engine.tiles.arguments import Extent, build_problem, prepare
from regard.engine.tiles.plan import Cost
from regard.engine.tiles.problem import Problem
from regard.errors import FileError
from regard.textbook.options import AttentionOptions, with_defaults
from regard.typing import Array

FORMAT = "regard observation"


VERSION = 1


PROFILE = ("first", "back", "weight")


Hold = Callable[..., Problem]


def save(seen: Observation, path: Path, query_and_key: bool) -> None:
    """Write the facts; with ``query_and_key`` also what tiles and rows are computed from."""
    from safetensors.numpy import save_file

    arrays = dict(seen.facts)
    if seen._profile is not None:
        arrays |= {f"profile.{name}": getattr(seen.profile, name) for name in PROFILE}
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
        "contents": {name: described(array) for name, array in arrays.items()},
    }
    contiguous = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    save_file(contiguous, path, metadata={"regard": json.dumps(header, default=int)})


def load(path: str | Path) -> Observation:
    """Read a .regard file; tiles and rows work if query and key were saved with it."""
    return observation_of(*read_file(Path(path)))


def observation_of(
    header: dict[str, Any], arrays: dict[str, Array], hold: Hold = prepare
) -> Observation:
    """Facts, profile and parts out of named arrays; ``hold`` makes a part of query and key."""
    profile = None
    if "profile.first" in arrays:
        profile = Profile(*(arrays[f"profile.{name}"] for name in PROFILE))
    parts = tuple(part_problem(given, arrays, i, hold) for i, given in enumerate(header["parts"]))
    own = {x: a for x, a in arrays.items() if not x.startswith(("profile.", "part."))}
    cost, notes = Cost(**header["cost"]), tuple(header["notes"])
    return Observation(ArrayFacts(own), profile, parts, header["keys"], cost, notes)


def part_arguments(part: Problem, path: Path) -> dict[str, Any]:
    """What tiles need beside query and key, as JSON can hold it."""
    if callable(part.options["mask"]):
        raise FileError(
            f"{path} cannot hold query and key: their mask is a function, which no file can "
            "hold. Save without query_and_key."
        )
    given = {x: part.options[x] for x in ("causal", "offset", "window", "softcap")}
    return given | {"scale": part.scale}


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
    arguments: dict[str, Any], arrays: dict[str, Array], index: int, hold: Hold = prepare
) -> Problem:
    """What ``part_arguments`` and ``part_arrays`` were made of."""
    query, key, mask, lengths = (
        arrays.get(f"part.{index}.{x}") for x in ("query", "key", "mask", "lengths")
    )
    if query is None or key is None:
        raise FileError("the file promises query and key, but does not hold them.")
    window = tuple(arguments["window"]) if arguments["window"] else None
    given = arguments | {"window": window, "mask": mask, "lengths": lengths}
    return hold(query, key, np.zeros((*key.shape[:-1], 0), key.dtype), **given)


def read_file(
    path: Path, kind: str = FORMAT, version: int = VERSION
) -> tuple[dict[str, Any], dict[str, Array]]:
    """The header of a file of this kind, and all its arrays."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise FileError(f"{path} is not there.")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            header = json.loads(metadata.get("regard", "null"))
            check_header(header, path, kind, version)
            return header, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FileError(
            f"{path} is not a whole .regard file: {error}. It may be cut short or of another kind; "
            "make it again with seen.save(...)."
        ) from None


def check_header(header: Any, path: Path, kind: str = FORMAT, version: int = VERSION) -> None:
    """A header of this kind of file, and of a version that this regard can read."""
    if not isinstance(header, dict) or header.get("format") != kind:
        raise FileError(
            f"{path} is a safetensors file, but not a .regard one: it has no such header."
        )
    if header["version"] > version:
        raise FileError(
            f"{path} has version {header['version']} and this regard reads up to {version}: "
            "update regard."
        )


def described(array: Array) -> dict[str, Any]:
    """Shape and dtype, for the header."""
    return {"shape": list(array.shape), "dtype": str(array.dtype)}


DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1",
          "BOOL": "?"}  # fmt: skip


LONG = 1e4  # stands for the length of a row nobody measured: too long for sums without a shift


def open_mapped(path: str | Path) -> Observation:
    """An observation whose facts, query and key are read from the file as they are used."""
    header, arrays = mapped_arrays(Path(path))
    check_header(header, Path(path))
    return observation_of(header, arrays, unread)


def mapped_arrays(path: Path) -> tuple[Any, dict[str, Array]]:
    """What the file says about itself, and its arrays, mapped."""
    if not path.is_file():
        raise FileError(f"{path} is not there.")
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            described = json.loads(file.read(min(size, path.stat().st_size)))
        content: Array = np.memmap(path, np.uint8, "r")
        about = json.loads(described.pop("__metadata__", {}).get("regard", "null"))
        return about, {x: _array(content[8 + size :], entry) for x, entry in described.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"{path} is not a whole .regard file: {error}. It may be cut short or of another kind; "
            "make it again with seen.save(...)."
        ) from None


def _array(content: Array, entry: dict[str, Any]) -> Array:
    start, stop = entry["data_offsets"]
    array: Array = content[start:stop].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return array


def unread(query: Array, key: Array, value: Array, **options: Unpack[AttentionOptions]) -> Problem:
    """As ``prepare``, but without looking at the numbers."""
    extent = Extent(query.dtype, tuple(query.shape[:-2]), query.shape[-2], key.shape[-2],
                   {"query": LONG, "key": LONG, "value": 0.0})  # fmt: skip
    return build_problem(
        {"query": query, "key": key, "value": value}, extent, with_defaults(**options)
    )

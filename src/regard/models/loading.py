"""regard.load: a .regard file, whichever kind it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.self_attention.storage import load as load_observation

if TYPE_CHECKING:
    from regard.models.seen import Seen
    from regard.self_attention.observation import Observation


def load(path: str | Path) -> Observation | Seen:
    """Read a .regard file: an Observation, or a Seen where a model was watched.

    Tiles and rows work if query and key were kept and saved.
    """
    from regard.models.storage import FORMAT, load_seen

    if kind_of(Path(path)) == FORMAT:
        return load_seen(Path(path))
    return load_observation(path)


def kind_of(path: Path) -> str:
    """The format that a file's header names; empty where it has none."""
    try:
        with path.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header: Any = json.loads(file.read(min(size, 2**30)))
            found = json.loads(header["__metadata__"]["regard"])["format"]
    except (OSError, ValueError, KeyError, TypeError):
        return ""  # the reader of observations says what is wrong
    return str(found)

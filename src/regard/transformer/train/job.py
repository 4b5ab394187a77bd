"""A training as asked for: in a few words on the command line, or in full in a recipe file."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, FileError
from regard.transformer.config import Config
from regard.transformer.train.augment import Alterations
from regard.transformer.train.loop import Watch, no_watch
from regard.transformer.train.recipe import Corpus, Habits, Round

SIZES = {
    "tiny": Config(vocabulary=600, layers=2, heads=4, width=64, feed_forward_width=128),
    "small": Config(vocabulary=8_000, layers=3, heads=4, width=256, feed_forward_width=512),
    "full": Config(vocabulary=12_000),
}


@dataclass(frozen=True)
class Text:
    """What a model learns from besides its rounds' pairs.

    The model itself translates `source` and `target`, at most `sentences` of each.
    """

    valid: Path | None = None
    source: tuple[Path, ...] = ()
    target: tuple[Path, ...] = ()
    sentences: int = 1_000_000

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file there is."""
        return (*self.source, *self.target, *([self.valid] if self.valid else []))


@dataclass(frozen=True)
class Job:
    """What to train, on what, in which rounds, and the folder it all goes to."""

    folder: Path
    rounds: tuple[Round, ...]
    text: Text = field(default_factory=Text)
    config: Config = SIZES["full"]
    habits: Habits = field(default_factory=Habits)
    device: str = "cpu"
    watch: Watch = no_watch

    @property
    def pairs(self) -> list[Path]:
        """The files of pairs that someone else made, each once."""
        made = {made_path(self.folder, kind) for kind in ("back", "self")}
        paths = dict.fromkeys(corpus.path for part in self.rounds for corpus in part.corpora)
        return [path for path in paths if path not in made]


def made_path(folder: Path, kind: str) -> Path:
    """Where pairs that the model made itself are kept: 'back' or 'self'."""
    return folder / f"{kind}.tsv.gz"


def plain_rounds(folder: Path, pairs: Iterable[Path], text: Text, whole: Round) -> list[Round]:
    """One round; or, with text in one language, one that learns both ways and one with made pairs.

    The first of the two takes a third of the time of `whole`.
    """
    real = tuple(Corpus(path) for path in pairs)
    if not (text.source or text.target):
        return [replace(whole, corpora=real)]
    both = tuple(replace(corpus, both_ways=bool(text.target)) for corpus in real)
    made = [Corpus(made_path(folder, "self"))] if text.source else []
    if text.target:
        made.append(Corpus(made_path(folder, "back"), tag="<back>"))
    return [_share(whole, "first", both, 1 / 3), _share(whole, "second", (*real, *made), 2 / 3)]


def read_recipe(path: Path, folder: Path) -> Job:
    """Read a recipe: tables config, habits and text, and a list of rounds with their corpora."""
    try:
        recipe = tomllib.loads(path.read_text(encoding="utf-8"))
        near = path.parent
        return Job(
            folder,
            tuple(_round(table, near, folder) for table in recipe["round"]),
            _text(recipe.get("text", {}), near),
            Config(**recipe.get("config", {"vocabulary": 12_000})),
            _habits(recipe.get("habits", {})),
        )
    except FileNotFoundError:
        raise FileError(f"there is no recipe at {path}: check its name.") from None
    except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
        raise FileError(
            f"{path.name} needs the tables config, habits, text and [[round]] as in the recipe "
            f"shipped with regard, but reading it gave: {error}."
        ) from None


def _round(table: Mapping[str, Any], near: Path, folder: Path) -> Round:
    corpora = tuple(_corpus(corpus, near, folder) for corpus in table["corpus"])
    rest = {name: value for name, value in table.items() if name != "corpus"}
    return Round(corpora=corpora, **rest)


def _corpus(table: Mapping[str, Any], near: Path, folder: Path) -> Corpus:
    rest = {name: value for name, value in table.items() if name not in ("path", "made")}
    if ("path" in table) == ("made" in table):
        raise ArgumentError(
            "a corpus needs either path, a file, or made, 'back' or 'self', but it is "
            f"{dict(table)}."
        )
    path = near / table["path"] if "path" in table else made_path(folder, table["made"])
    return Corpus(path, **rest)


def _text(table: Mapping[str, Any], near: Path) -> Text:
    paths = {side: tuple(near / name for name in table.get(side, [])) for side in _SIDES}
    valid = near / table["valid"] if "valid" in table else None
    return Text(valid, sentences=table.get("sentences", 1_000_000), **paths)


def _habits(table: Mapping[str, Any]) -> Habits:
    alterations = Alterations(**table.get("alterations", {}))
    return Habits(**{**table, "alterations": alterations})


def _share(whole: Round, name: str, corpora: tuple[Corpus, ...], share: float) -> Round:
    steps = max(1, round(whole.steps * share)) if whole.steps else 0
    return replace(whole, name=name, corpora=corpora, steps=steps, minutes=whole.minutes * share)


_SIDES = ("source", "target")

"""A toy language with one word for each word and its adjectives after the noun."""

import random
from pathlib import Path

import pytest

NOUNS = {"dog": "chien", "cat": "chat", "bird": "merle", "man": "monsieur"}
ADJECTIVES = {"big": "grand", "small": "petit", "red": "rouge", "sad": "triste"}
VERBS = {"sees": "voit", "eats": "mange", "likes": "aime"}


def sentences(count: int, seed: int = 0) -> list[tuple[str, str]]:
    rng = random.Random(seed)
    return [_sentence(rng) for _ in range(count)]


def _sentence(rng: random.Random) -> tuple[str, str]:
    (a, b), (c, d) = _noun(rng), _noun(rng)
    verb, verbe = rng.choice(list(VERBS.items()))
    return f"The {a} {verb} the {c}.", f"Le {b} {verbe} le {d}."


def _noun(rng: random.Random) -> tuple[str, str]:
    noun, nom = rng.choice(list(NOUNS.items()))
    adjective, adjectif = rng.choice(list(ADJECTIVES.items()))
    return f"{adjective} {noun}", f"{nom} {adjectif}"


@pytest.fixture(scope="session")
def toy_pairs() -> list[tuple[str, str]]:
    return sentences(400)


@pytest.fixture(scope="session")
def toy(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two files: most of the language to learn from, 60 other sentences to measure on."""
    folder = tmp_path_factory.mktemp("toy")
    pairs = list(dict.fromkeys(sentences(2_000)))
    lines = [f"{source}\t{target}\n" for source, target in pairs]
    train, valid = folder / "train.tsv", folder / "valid.tsv"
    train.write_text("".join(lines[60:]), encoding="utf-8")
    valid.write_text("".join(lines[:60]), encoding="utf-8")
    return train, valid

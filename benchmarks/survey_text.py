"""Sentences to survey: clauses strung together, with lengths that vary roughly as in real text."""

from __future__ import annotations

import random

NOUNS = ("dog", "cat", "robot", "teacher", "river", "garden", "letter", "engine", "village")
ADJECTIVES = ("old", "small", "red", "tired", "famous", "broken", "quiet", "hungry")
VERBS = ("saw", "found", "painted", "followed", "forgot", "carried", "opened", "liked")
LINKS = ("and", "but", "because", "while", "although", "so that")


def sentences(number: int, seed: int = 0) -> list[str]:
    """Sentences of one or more clauses, each further clause with probability 1/4."""
    rng = random.Random(seed)
    found = []
    for _ in range(number):
        clauses = [_clause(rng)]
        while rng.random() < 1 / 4:
            clauses.append(f"{rng.choice(LINKS)} {_clause(rng)}")
        found.append(" ".join(clauses).capitalize() + ".")
    return found


def _clause(rng: random.Random) -> str:
    return f"{_thing(rng)} {rng.choice(VERBS)} {_thing(rng)}"


def _thing(rng: random.Random) -> str:
    adjective = f"{rng.choice(ADJECTIVES)} " if rng.random() < 0.4 else ""
    return f"the {adjective}{rng.choice(NOUNS)}"

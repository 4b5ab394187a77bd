"""How good translations are: BLEU and chrF against every known reference (sacrebleu)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from regard.transformer.train.files import Pair


@dataclass(frozen=True)
class References:
    """Sentences to translate, each once, with every translation that is right."""

    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]

    def first(self, count: int) -> References:
        """An even selection of at most `count` sentences."""
        step = max(1, len(self.sources) // count)
        chosen = slice(0, step * count, step)
        return References(self.sources[chosen], self.references[chosen])


def group(pairs: Sequence[Pair]) -> References:
    """Gather the references of each source.

    >>> group([("Go.", "Va."), ("Hi.", "Salut."), ("Go.", "Allez.")]).references
    (('Va.', 'Allez.'), ('Salut.',))
    """
    grouped: dict[str, list[str]] = {}
    for source, target in pairs:
        grouped.setdefault(source, []).append(target)
    return References(tuple(grouped), tuple(map(tuple, grouped.values())))


def scores(translations: Sequence[str], wanted: References) -> dict[str, float]:
    """Corpus BLEU and chrF of the translations, all references used."""
    import sacrebleu

    # sacrebleu wants one list for each reference number, None where a sentence has fewer.
    columns = list(zip_longest(*wanted.references))
    bleu = sacrebleu.corpus_bleu(list(translations), columns)
    chrf = sacrebleu.corpus_chrf(list(translations), columns)
    return {"bleu": round(bleu.score, 2), "chrf": round(chrf.score, 2)}

"""Decomposition of one score into what was written into its query and its key.

score = scale * (query . key), and with the norms frozen query and key are sums over the components
of the residual stream: so the score is a sum over pairs of components, exact to rounding. A
component that is a head is itself a sum over the words it looked at, and so on down.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from regard.blas import one_blas_thread
from regard.display import TextDisplay
from regard.errors import ArgumentError
from regard.experiments.residual import Component, FrozenNorm, ResidualRun, Stream
from regard.experiments.selection import word_tokens
from regard.text.words import TokenizedText
from regard.transformer.reading import Reading
from regard.transformer.roles import check_number, check_part
from regard.typing import Array

BIAS = Component("norm bias")
FEED_FORWARD_BIAS = Component("feed-forward bias")
BY_HAND = Component("change by hand")
SIDES = ("query", "key")


@dataclass(frozen=True)
class TokenComponent:
    """A component at one token, and the direction whose product with it is its share of a score.

    ``text`` is 'source' or 'target'. A constant, as a norm's bias is, has no direction.
    """

    text: str
    position: int
    word: str
    component: Component
    direction_e: Array | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.word}: {self.component}"


@dataclass(frozen=True)
class ScoreTerm:
    """One term of a score: its value, and what it comes from on the query's and the key's side."""

    value: float
    query: TokenComponent
    key: TokenComponent

    def __str__(self) -> str:
        return f"{self.value:+.3f}  {self.query}  x  {self.key}"

    def to_dict(self) -> dict[str, Any]:
        """The term as JSON values."""
        return {"value": self.value, "query": str(self.query), "key": str(self.key)}


@dataclass(frozen=True, repr=False)
class ScoreDecomposition(TextDisplay):
    """A score, or one term of it, as a sum of terms, the largest first.

    ``total`` is what the terms sum to; ``score`` and ``weight`` are those of the head's query and
    key, at the token ``positions`` of both; ``path`` names the terms that were followed down to it.
    With ``against`` it is the score on the key minus that on another one, ``score_against``: a row
    of weights depends on differences of scores alone.
    """

    reading: Reading
    part: str
    layer: int
    head: int
    query: str
    key: str
    positions: tuple[int, int]
    score: float
    weight: float
    total: float
    terms: tuple[ScoreTerm, ...]
    path: tuple[str, ...] = ()
    against: str = ""
    score_against: float = 0.0
    run: ResidualRun | None = field(default=None, repr=False)

    def because(
        self, term: int | ScoreTerm | None = None, side: str | None = None
    ) -> ScoreDecomposition:
        """One term further down: the head or feed-forward layer in it as a sum of its inputs.

        Parameters
        ----------
        term : int or ScoreTerm, optional
            A term, or its number in ``terms``, the largest being 0; the largest that can be opened
            where none is given.
        side : str, optional
            'query' or 'key': the component to open; the query's where it can be opened.
        """
        from regard.experiments.further import further, largest_open

        if term is None:
            term = largest_open(self, side)
        elif not isinstance(term, ScoreTerm):
            term = self.terms[check_number("term", term, len(self.terms))]
        return further(self, term, side)

    def by(self, side: str) -> dict[str, float]:
        """The terms summed by the component of one side, 'query' or 'key'; the largest first."""
        if side not in SIDES:
            raise ArgumentError(f"side needs to be 'query' or 'key', but it is {side!r}.")
        sums: dict[str, float] = {}
        for term in self.terms:
            name = str(getattr(term, side))
            sums[name] = sums.get(name, 0.0) + term.value
        return dict(sorted(sums.items(), key=lambda item: -abs(item[1])))

    def to_dict(self) -> dict[str, Any]:
        """The decomposition as JSON values."""
        return {
            "sentence": self.reading.sentence,
            "part": self.part,
            "layer": self.layer,
            "head": self.head,
            "query": self.query,
            "key": self.key,
            "positions": list(self.positions),
            "against": self.against or None,
            "score": self.score,
            "score_against": self.score_against if self.against else None,
            "weight": self.weight,
            "total": self.total,
            "path": list(self.path),
            "terms": [term.to_dict() for term in self.terms],
            "counting": "layers and heads count from 0",
        }


@one_blas_thread()
def because(
    reading: Reading,
    word: str | int,
    other: str | int,
    layer: int,
    head: int,
    part: str = "encoder",
    against: str | int | None = None,
) -> ScoreDecomposition:
    """The score of one word on another in one head, as a sum over pairs of components.

    With ``against`` it is minus the score on that word, whose terms have the other sign.
    """
    check_part(part)
    sizes = reading.model.config
    layer = check_number("layer", layer, sizes.layers)
    head = check_number("head", head, sizes.heads)
    run = ResidualRun.of(reading)
    at = (part, layer, head)
    query, key = _token_pair(reading, run, (word, other), at)
    terms = _pair_terms(run, at, query, key)
    texts, rival = reading.texts(part), None
    if against is not None:
        _, rival = _token_pair(reading, run, (word, against), at, query)
        terms = sorted_terms([*terms, *_pair_terms(run, at, query, rival, sign=-1)])
    weights_qk = run.attention(part, layer).weights_bhqk[0, head]
    return ScoreDecomposition(
        reading, part, layer, head,
        _name(texts[0], query), _name(texts[1], key), (query, key), _score(run, at, query, key),
        float(weights_qk[query, key]), float(sum(term.value for term in terms)), terms,
        against="" if rival is None else _name(texts[1], rival),
        score_against=0.0 if rival is None else _score(run, at, query, rival),
        run=run,
    )  # fmt: skip


def _score(run: ResidualRun, at: tuple[str, int, int], query: int, key: int) -> float:
    result, head = run.attention(*at[:2]), at[2]
    scale = run.reading.model.config.head_width**-0.5
    return float(result.query_bhqd[0, head, query] @ result.key_bhkd[0, head, key] * scale)


def _name(text: TokenizedText, position: int) -> str:
    """A word, with the piece of it that is meant where it has several."""
    word = text.word_of_token[position]
    if text.word_of_token.count(word) == 1:
        return text.words[word]
    return f"{text.words[word]} ({text.tokens[position]})"


def _token_pair(
    reading: Reading,
    run: ResidualRun,
    words: tuple[str | int, str | int],
    at: tuple[str, int, int],
    query: int | None = None,
) -> tuple[int, int]:
    """The tokens of two words between which the head's weight is the largest.

    The first is ``query`` where it is chosen already.
    """
    part, layer, head = at
    queries, keys = reading.texts(part)
    (_, rows), (name, columns) = word_tokens(queries, words[0]), word_tokens(keys, words[1])
    rows = rows if query is None else np.array([query])
    weights_qk = run.attention(part, layer).weights_bhqk[0, head][np.ix_(rows, columns)]
    row, column = np.unravel_index(int(weights_qk.argmax()), weights_qk.shape)
    query, key = int(rows[row]), int(columns[column])
    if part == "decoder" and key > query:
        raise ArgumentError(
            f"{queries.tokens[query]} needs a word before it to look at, but {name} comes later: "
            "the decoder cannot see what it has not written yet."
        )
    return query, key


@dataclass(frozen=True)
class ScoreFactor:
    """Query or key of a score: its components at a token, in the d features of the head."""

    sources: tuple[TokenComponent, ...]
    vectors_nd: Array
    matrix_ed: Array
    norm: FrozenNorm
    position: int

    def directions(self, fixed_md: Array) -> Array:
        """direction_me in the stream for each of the other side's vectors, which are fixed."""
        norm = FrozenNorm(self.norm.factor_te[self.position], self.norm.bias_e)
        return norm.pull_back(fixed_md @ self.matrix_ed.T)

    def toward(self, number: int, direction_e: Array) -> TokenComponent:
        """A component with the direction whose product with it is its share of the score."""
        source = self.sources[number]
        return source if source.component == BIAS else replace(source, direction_e=direction_e)


def factor_of(
    run: ResidualRun, part: str, layer: int, head: int, position: int, *, is_query: bool
) -> ScoreFactor:
    """Query or key of one token as a sum of components, the norm's bias last."""
    stream = run.stream(part) if is_query else run.keys_stream(part)
    number = stream.before(part, layer) if is_query else run.keys_before(part, layer)
    norm = run.query_norm(part, layer) if is_query else run.key_norm(part, layer)
    matrix_ed = run.matrix(part, layer, "w_query" if is_query else "w_key", head)
    text = "source" if stream is run.source else "target"
    word = token_name(run, text, position)
    sources = [TokenComponent(text, position, word, x) for x in (*stream.components[:number], BIAS)]
    written_ne = stream.written_nte[:number, position]
    centred_ne = written_ne - written_ne.mean(axis=-1, keepdims=True)
    normed_ne = np.vstack([centred_ne * norm.factor_te[position], norm.bias_e])
    return ScoreFactor(tuple(sources), normed_ne @ matrix_ed, matrix_ed, norm, position)


def _pair_terms(
    run: ResidualRun, at: tuple[str, int, int], query: int, key: int, sign: int = 1
) -> tuple[ScoreTerm, ...]:
    one = factor_of(run, *at, query, is_query=True)
    other = factor_of(run, *at, key, is_query=False)
    scale = sign * run.reading.model.config.head_width**-0.5
    values_nm = one.vectors_nd @ other.vectors_nd.T * scale
    query_me = one.directions(other.vectors_nd * scale)
    key_ne = other.directions(one.vectors_nd * scale)
    return sorted_terms(
        ScoreTerm(float(values_nm[n, m]), one.toward(n, query_me[m]), other.toward(m, key_ne[n]))
        for n, m in np.ndindex(*values_nm.shape)
    )


def sorted_terms(terms: Iterable[ScoreTerm]) -> tuple[ScoreTerm, ...]:
    """The largest first, whatever its sign."""
    return tuple(sorted(terms, key=lambda term: -abs(term.value)))


def token_name(run: ResidualRun, text: str, position: int) -> str:
    """A token of one of the two texts, as it is shown."""
    reading = run.reading
    return (reading.source if text == "source" else reading.target).tokens[position]


def stream_of(run: ResidualRun, source: TokenComponent) -> Stream:
    """The residual stream that a source belongs to."""
    return run.source if source.text == "source" else run.target

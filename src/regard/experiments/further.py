"""One layer further down in the decomposition of a score.

A head's output is a sum over the words it looked at, each through its value; a feed-forward layer
is linear where its relu is frozen. Both are again sums over the components of the stream before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from regard.blas import one_blas_thread
from regard.errors import ArgumentError
from regard.experiments.because import (
    BIAS,
    BY_HAND,
    FEED_FORWARD_BIAS,
    SIDES,
    ScoreDecomposition,
    ScoreTerm,
    TokenComponent,
    sorted_terms,
    stream_of,
    token_name,
)
from regard.experiments.residual import FrozenNorm, ResidualRun
from regard.typing import Array

if TYPE_CHECKING:
    from regard.experiments.residual import Stream

Share = tuple[TokenComponent, float]


@one_blas_thread()
def further(
    decomposition: ScoreDecomposition, term: ScoreTerm, side: str | None
) -> ScoreDecomposition:
    """The decomposition of one term, by what one of its components is made of."""
    run = decomposition.run or ResidualRun.of(decomposition.reading)
    side = side or next((x for x in SIDES if _opens(getattr(term, x))), "query")
    opened: TokenComponent = getattr(term, _checked(side))
    if not _opens(opened):
        raise ArgumentError(_closed(opened))
    rest = term.key if side == "query" else term.query
    fixed = TokenComponent(
        rest.text, rest.position, rest.word, rest.component
    )  # its direction is spent
    terms = [
        ScoreTerm(value, *((source, fixed) if side == "query" else (fixed, source)))
        for source, value in shares(run, opened)
    ]
    return replace(
        decomposition,
        total=float(sum(x.value for x in terms)),
        terms=sorted_terms(terms),
        path=(*decomposition.path, str(term)),
        run=run,
    )


def largest_open(decomposition: ScoreDecomposition, side: str | None) -> ScoreTerm:
    """The largest term with a component that can be opened, on one side or on any."""
    sides = SIDES if side is None else (_checked(side),)
    for term in decomposition.terms:
        if opens(term, sides):
            return term
    raise ArgumentError(
        "because needs a term with a head or a feed-forward layer in it, but there is none left: "
        "these are where the score begins."
    )


def opens(term: ScoreTerm, sides: Sequence[str] = SIDES) -> bool:
    """Whether a term has a component that is itself a sum, on one of these sides."""
    return any(_opens(getattr(term, side)) for side in sides)


def _checked(side: str) -> str:
    if side not in SIDES:
        raise ArgumentError(f"side needs to be 'query' or 'key', but it is {side!r}.")
    return side


def _closed(source: TokenComponent) -> str:
    if source.component.kind in ("head", "feed-forward"):
        return (
            f"because needs a component on the side that was opened, but {source} is on the other: "
            "open that one first, in the decomposition before."
        )
    return (
        f"because needs a head or a feed-forward layer to go further down, but {source} is where "
        "it begins: take another term."
    )


def shares(run: ResidualRun, source: TokenComponent) -> Iterator[Share]:
    """Inputs of one component, each with its share of the score."""
    if source.component.kind == "head":
        return _head_shares(run, source)
    return _feed_forward_shares(run, source)


def _opens(source: TokenComponent) -> bool:
    kinds = ("head", "feed-forward")
    return source.direction_e is not None and source.component.kind in kinds


def _head_shares(run: ResidualRun, source: TokenComponent) -> Iterator[Share]:
    """By the words that the head looked at, and by the components of each word's value."""
    component, direction_e = source.component, source.direction_e
    part, layer, head = component.part, component.layer, component.head
    result = run.attention(part, layer)
    direction_d = run.matrix(part, layer, "w_output", head) @ direction_e
    weights_k = result.weights_bhqk[0, head, source.position]
    value_e = run.matrix(part, layer, "w_value", head) @ direction_d
    norm, stream = run.key_norm(part, layer), run.keys_stream(part)
    number = run.keys_before(part, layer)
    pulled_ke = norm.pull_back(np.broadcast_to(value_e, norm.factor_te.shape))
    text = "source" if stream is run.source else "target"
    for key, weight in enumerate(weights_k):
        if weight > 0:
            word = token_name(run, text, key)
            yield from _stream_shares(stream, number, (text, key, word), weight * pulled_ke[key])
            yield TokenComponent(text, key, word, BIAS), float(weight * (norm.bias_e @ value_e))
    # Ablated and patched heads wrote something else than their weighted sum.
    own_d = weights_k @ result.value_bhkd[0, head]
    by_hand = float((result.output_bhqd[0, head, source.position] - own_d) @ direction_d)
    if abs(by_hand) > 1e-9:
        yield replace(source, component=BY_HAND, direction_e=None), by_hand


def _feed_forward_shares(run: ResidualRun, source: TokenComponent) -> Iterator[Share]:
    """By the components before it at the same word, the relu frozen."""
    component, stream = source.component, stream_of(run, source)
    feed_forward, norm = run.feed_forward(component.part, component.layer)
    number = stream.index(component)
    x_te = stream.x_te(number)
    normed_e = norm(x_te)[source.position]
    w_in, w_out = np.asarray(feed_forward.w_in), np.asarray(feed_forward.w_out)
    active_f = normed_e @ w_in + feed_forward.b_in > 0
    direction_f: Array = active_f * (w_out @ source.direction_e)
    direction_e = w_in @ direction_f
    frozen = FrozenNorm.at(norm, x_te)
    pulled_e = frozen.pull_back(direction_e[None])[source.position]
    at = (source.text, source.position, source.word)
    yield from _stream_shares(stream, number, at, pulled_e)
    yield TokenComponent(*at, BIAS), float(frozen.bias_e @ direction_e)
    bias = feed_forward.b_in @ direction_f + feed_forward.b_out @ source.direction_e
    yield TokenComponent(*at, FEED_FORWARD_BIAS), float(bias)


def _stream_shares(
    stream: Stream, number: int, at: tuple[str, int, str], direction_e: Array
) -> Iterator[Share]:
    """The components of one token's stream, each with its product with a direction."""
    shares_n = stream.written_nte[:number, at[1]] @ direction_e
    for component, share in zip(stream.components[:number], shares_n.tolist(), strict=True):
        yield TokenComponent(*at, component, direction_e), share

"""Readings: the query, key and value that a function computes, found in a trace of its call.

Attention is two products of results: of queries with keys, and of what was made of that with
values. Their operands are query, key and value, whatever the layers before them are called. The
linear layer that an operand comes from says what it was before any scaling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from math import prod
from typing import Any

import numpy as np

from regard.checker.adapters import as_float64
from regard.checker.cases import Case, generator, join_heads
from regard.checker.graph import Node, Trace
from regard.errors import ArgumentError
from regard.typing import Array

BATCH, TOKENS, CONTEXT_TOKENS = 7, 5, 11  # sizes of a first look: primes that no width has
EXACT = 1e-4  # of what is compared, relative to its size: float32 leaves that much
MAX_BIAS = 1e3  # a score that is pushed further down is hidden

# The axes of an array as a function takes it: "b", "t", and the sizes of what a token has.
Form = tuple[str | int, ...]


def form_text(form: Form) -> str:
    """The axes of a form in words.

    >>> form_text(("b", "t", 12)), form_text((3, "b", "t", 4))
    ('(batch, token, feature)', '(3, batch, token, 4)')
    """
    words: dict[str | int, str] = {"b": "batch", "t": "token"}
    sizes = [axis for axis in form if isinstance(axis, int)]
    if len(sizes) == 1:
        words[sizes[0]] = "feature"
    return f"({', '.join(words.get(axis, str(axis)) for axis in form)})"


def pack(array_bte: Array, form: Form) -> Array:
    """An array (b, t, e) in the form in which a function takes it.

    >>> pack(np.zeros((2, 5, 12)), (3, "b", "t", 4)).shape
    (3, 2, 5, 4)
    """
    sizes = [axis for axis in form if isinstance(axis, int)]
    array = array_bte.reshape(*array_bte.shape[:2], *sizes)
    array = array if "b" in form else array[0]
    places = iter(range(array.ndim - len(sizes), array.ndim))
    known = {axis: i for i, axis in enumerate(x for x in "bt" if x in form)}
    return array.transpose([known[x] if isinstance(x, str) else next(places) for x in form])


def unpack(array: Array, form: Form) -> Array:
    """What came back in a form, as (b, t, e); without an axis of tokens there is one."""
    letters = [i for letter in "bt" for i, axis in enumerate(form) if axis == letter]
    rest = [i for i, axis in enumerate(form) if isinstance(axis, int)]
    array = array.transpose([*letters, *rest])
    batch = array.shape[0] if "b" in form else 1
    tokens = array.shape[letters.index(form.index("t"))] if "t" in form else 1
    return array.reshape(batch, tokens, -1)


@dataclass(frozen=True)
class Operand:
    """One of query, key and value as a product takes it, (n, tokens, width), and its node."""

    array: Array
    node: Node

    def origin(self) -> tuple[Node | None, float, bool]:
        """The linear layer that it comes from, the factor on the way, whether a norm lies there."""
        node, factor, curved = self.node, 1.0, False
        while not node.is_projection:
            factor, curved = factor * node.factor, curved or node.curved
            dependent = [x for x in node.inputs if x.sources]
            if not dependent:
                return None, factor, curved
            node = dependent[0]
        return node, factor, curved


@dataclass(frozen=True)
class Operands:
    """Query, key and value of a trace, and the nodes in which the values are summed."""

    parts: tuple[Operand, Operand, Operand]
    sums: tuple[Node, ...]
    key_first: bool = False


def find_operands(trace: Trace, key_first: bool | None = None) -> Operands | None:
    """The operands of the attention in a trace; None where there is none.

    ``key_first``: the scores are written key by query; None to find out.
    """
    fused = [node for node in trace.nodes if node.fused is not None and node.depth == 1]
    if fused:
        arrays = [(n.fused.query, n.fused.key, n.fused.value) for n in fused if n.fused]
        parts = [
            Operand(_stack([_flat(one[i]) for one in arrays]), fused[0].inputs[i]) for i in range(3)
        ]
        return Operands((parts[0], parts[1], parts[2]), tuple(fused))
    mixing = [node for node in trace.nodes if node.product is not None and node.mixes]
    scores = [node for node in mixing if node.depth == 1]
    sums = [n for n in mixing if n.depth == 2 and _depths(n) in ((1, 0), (0, 1))]
    if not scores or not sums:
        return None
    left = _stack([n.product.left for n in scores if n.product])
    right = _stack([n.product.right.swapaxes(1, 2) for n in scores if n.product])
    weights, values = zip(*(_weights_and_values(n) for n in sums), strict=True)
    weight, value = _stack(list(weights)), _stack(list(values))
    if left is None or right is None or weight is None or value is None:
        return None
    first = scores[0].product
    summed = sums[0].product
    if first is None or summed is None:
        return None
    query, key = Operand(left, first.nodes[0]), Operand(right, first.nodes[1])
    if key_first is None:
        key_first = keys_come_first(weight, left, right)
    if key_first:
        query, key = key, query
    value_node = summed.nodes[1 if _depths(sums[0]) == (1, 0) else 0]
    return Operands((query, key, Operand(value, value_node)), tuple(sums), key_first)


def _depths(node: Node) -> tuple[int, int]:
    one, two = node.product.nodes if node.product else (node, node)
    return one.depth, two.depth


def _weights_and_values(node: Node) -> tuple[Array, Array]:
    """The weights (n, q, k) and the values (n, k, v) of a product, whichever way it is written."""
    assert node.product is not None
    left, right = node.product.left, node.product.right
    if _depths(node) == (1, 0):
        return left, right
    return right.swapaxes(1, 2), left.swapaxes(1, 2)


def keys_come_first(weight: Array, left: Array, right: Array) -> bool:
    """Whether the weights belong to the scores transposed: the left operand is the key."""
    rows, columns = left.shape[1], right.shape[1]
    if rows != columns:
        return bool(weight.shape[1:] == (columns, rows))
    if weight.shape != (left.shape[0], rows, columns) or left.shape[0] != right.shape[0]:
        return False
    scores = left @ right.swapaxes(1, 2)
    return misfit(weight, scores.swapaxes(1, 2)) < 0.5 * misfit(weight, scores)


def misfit(weight: Array, scores: Array) -> float:
    """How far the logarithms of weights are from a multiple of the scores, row by row."""
    seen = weight > 1e-12
    logs = centred(np.log(np.where(seen, weight, 1)), seen)
    scores = centred(scores, seen)
    factor = (logs * scores).sum() / max((scores**2).sum(), 1e-30)
    return float(((logs - factor * scores) ** 2).sum())


def centred(array: Array, seen: Array) -> Array:
    """The array less the mean of the seen part of each row; 0 where nothing is seen."""
    count = np.maximum(seen.sum(axis=-1, keepdims=True), 1)
    mean = np.where(seen, array, 0).sum(axis=-1, keepdims=True) / count
    return np.where(seen, array - mean, 0)


def _stack(arrays: list[Array]) -> Any:
    """Arrays of one shape one after the other; None where they differ."""
    return np.concatenate(arrays) if len({a.shape for a in arrays}) == 1 else None


def _flat(array: Array) -> Array:
    return array.reshape(-1, *array.shape[-2:])


@dataclass(frozen=True)
class Arrangement:
    """How an operand (n, rows, width) is made of sentences, heads and tokens."""

    batch_first: bool = True
    tokens_last: bool = True

    def heads(self, array: Array, batch: int, tokens: int) -> Array:
        """The operand as (b, h, t, d)."""
        n, rows, width = array.shape
        several, inner = n // batch, rows // tokens
        if several * batch != n or inner * tokens != rows:
            raise ValueError("an operand of other sizes")
        array = array.reshape(batch, several, rows, width) if self.batch_first else (
            array.reshape(several, batch, rows, width).swapaxes(0, 1)
        )  # fmt: skip
        if self.tokens_last:
            array = array.reshape(batch, several, inner, tokens, width)
        else:
            array = array.reshape(batch, several, tokens, inner, width).swapaxes(2, 3)
        return array.reshape(batch, several * inner, tokens, width)


ARRANGEMENTS = [Arrangement(one, two) for one, two in product((True, False), repeat=2)]


@dataclass(frozen=True)
class Reading:
    """How query, key and value come from the arrays that a function is called with.

    ``forms``: of each array. ``sources``: which of them gives query, key and value. ``returns``:
    the form of the output. ``output``: the matrix (h * v + 1, e) of the output layer. ``inside``:
    what is compared is what the output layer gets. ``first_alone``: the first word alone asks.
    ``features`` computes query, key and value (b, h, t, d) from the arrays (b, t, e), and a bias
    (h, q, k) of the scores where it has one. ``draws``: the two draws of random words that a
    sentence is made of.
    """

    forms: tuple[Form, ...]
    sources: tuple[int, int, int]
    heads: int
    returns: Form
    output: Array | None = None
    inside: bool = False
    first_alone: bool = False
    features: Callable[[tuple[Array, ...]], tuple[Array, ...]] = lambda arrays: ()
    draws: tuple[int, int] = (0, 0)
    _known: dict[bytes, tuple[Array, ...]] = field(default_factory=dict)

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(prod(x for x in form if isinstance(x, int)) for form in self.forms)

    @property
    def batched(self) -> bool:
        return "b" in self.forms[0]

    @property
    def takes_context(self) -> bool:
        """Whether queries and keys come from different arrays."""
        return self.sources[0] not in self.sources[1:]

    @property
    def mixed(self) -> Reading:
        """The reading whose sentences are made of the words of two others, drawn by lot.

        Query, key and value of these two are asked for first, and those of the mixture follow:
        nobody who is asked for them can know what sentences will be made of the words.
        """
        return replace(self, draws=(0, 1))

    @property
    def exchanged(self) -> Reading:
        """As ``mixed``, with the other word of the two in every place."""
        return replace(self, draws=(1, 0))

    def project(self, case: Case) -> Case | None:
        """The case with query, key and value made by the function from random arrays."""
        b, queries, keys = case.query.shape[0], case.query.shape[2], case.key.shape[2]
        ordered = case.mask is not None or case.causal or case.window or case.cached
        if (queries != keys and not self.takes_context) or (self.first_alone and ordered):
            return None
        size = float(np.abs(case.query).mean()) / 0.8
        lengths = [queries if i == self.sources[0] else keys for i in range(len(self.forms))]
        first, second = (self._draw(b, lengths, size, draw) for draw in self.draws)
        made, others = self.vectors(first), self.vectors(second)
        if made is None or others is None or not _alike(made, others):
            return None
        lots = [generator(80 + i, b, t).random((b, t)) < 0.5 for i, t in enumerate(lengths)]
        arrays = tuple(
            np.where(lot[..., None], one, two)
            for lot, one, two in zip(lots, first, second, strict=True)
        )
        query, key, value = (
            np.where(lots[source][:, None, : one.shape[2], None], one, two)
            for source, one, two in zip(self.sources, made[:3], others[:3], strict=True)
        )
        bias = made[3] if len(made) > 3 else None
        return replace(case, query=query, key=key, value=value, sources=arrays, bias=bias)

    def _draw(self, batch: int, lengths: list[int], size: float, draw: int) -> tuple[Array, ...]:
        """Arrays (b, t, e) of random numbers; two draws have nothing in common."""
        return tuple(
            (
                generator(20 + 30 * draw + i, batch, t, e).standard_normal((batch, t, e)) * size
            ).round(3)
            for i, (t, e) in enumerate(zip(lengths, self.widths, strict=True))
        )

    def vectors(self, arrays: tuple[Array, ...]) -> tuple[Array, ...] | None:
        """Query, key and value of these arrays, asked for once; None where the module raises."""
        digest = b"".join(array.tobytes() for array in arrays)
        if digest not in self._known:
            try:
                self._known[digest] = self.features(arrays)
            except Exception as error:  # whatever a module raises with these sizes
                if type(error).__name__ == "SandboxError":
                    raise
                return None
        return self._known[digest]

    def finish(self, output_bhqv: Array) -> Array:
        """What comes back of the heads: joined, with the output layer unless it is compared before.

        Results that are no (b, h, q, v) come back as they are.
        """
        if output_bhqv.ndim != 4:
            return output_bhqv.squeeze()
        rows = join_heads(output_bhqv)
        if self.output is not None and not self.inside:
            rows = rows @ self.output[:-1] + self.output[-1]
        if rows.shape[-1] != prod(x for x in self.returns if isinstance(x, int)):
            return rows
        return pack(rows, self.returns) if "t" in self.returns else rows[:, 0]


def _alike(one: tuple[Array, ...], other: tuple[Array, ...]) -> bool:
    return [x.shape for x in one] == [x.shape for x in other]


class Reader:
    """Reads the attention of a function of whole arrays, such as the forward of a module.

    ``call`` traces a call with arrays (b, t, e), which it packs in these forms.
    """

    def __init__(self, call: Callable[[tuple[Array, ...]], Trace], forms: tuple[Form, ...]) -> None:
        self.trace, self.forms = call, forms
        self.widths = tuple(prod(x for x in form if isinstance(x, int)) for form in forms)
        self.arrangements = [ARRANGEMENTS[0]] * 3
        self.sources = (0, 0, 0)
        self.of_query: int | None = 0  # the array that gave the queries; None: of equal lengths
        self.key_first = self.first_alone = self.by_token = self.biased = False
        self.scale_h: Array | None = None  # of query and key of unit length: any will do
        self.biases: dict[tuple[int, ...], Array] = {}  # by the lengths of the arrays

    def reading(self) -> Reading | None:
        """The reading; None where the trace has no attention."""
        failure: Exception | None = None
        # The queries may come from any of the arrays; and with other lengths it may refuse, or
        # leave some of the context out.
        several = len(self.forms) > 1
        for of_query in (*range(len(self.forms)), None) if several else (0,):
            self.of_query = of_query
            try:
                made = self._reading(self.draw(of_query))
            except Exception as error:  # whatever the module raises with these sizes
                failure = failure or error
                continue
            if made is not None:
                return made
        if failure is not None:
            raise failure
        return None

    def draw(
        self, of_query: int | None = 0, tokens: int = TOKENS, batch: int = BATCH
    ) -> tuple[Array, ...]:
        """Arrays (b, t, e); those that give no query are of another length, or with None not."""
        batch = batch if "b" in self.forms[0] else 1
        return tuple(
            np.random.default_rng([i, 61]).standard_normal(
                (batch, tokens if of_query in (i, None) else CONTEXT_TOKENS, e)
            )
            for i, e in enumerate(self.widths)
        )

    def _reading(self, arrays: tuple[Array, ...]) -> Reading | None:
        trace = self.trace(arrays)
        found = find_operands(trace)
        if found is None:
            return None
        self.sources = tuple(max(o.node.sources, default=0) for o in found.parts)  # type: ignore[assignment]
        self.key_first = found.key_first
        changed = self._find(self.trace(_with_other_word(arrays)))
        if changed is None or not self._arrange(found, changed, arrays):
            return None
        self._fit_weights(trace, found, changed, arrays)
        heads = self._features(found, arrays)[0].shape[1]
        reading = Reading(
            self.forms, self.sources, heads, (), None, False, self.first_alone, self.features
        )
        return self._with_output(reading)

    def _tokens(self, i: int, arrays: tuple[Array, ...]) -> int:
        """The number of tokens that query, key or value has."""
        return 1 if i == 0 and self.first_alone else arrays[self.sources[i]].shape[1]

    def _arrange(self, found: Operands, changed: Operands, arrays: tuple[Array, ...]) -> bool:
        """Find out how each operand is made of sentences, heads and tokens."""
        if found.sums[0].product and found.parts[2].array.shape[0] != found.parts[0].array.shape[0]:
            return False
        batch, rows = arrays[0].shape[0], prod(found.parts[0].array.shape[:2])
        self.first_alone = bool(rows % (batch * arrays[self.sources[0]].shape[1]))
        fits = []
        for i, (one, two) in enumerate(zip(found.parts, changed.parts, strict=True)):
            tokens = self._tokens(i, arrays)
            usable, exact = None, None
            for arrangement in ARRANGEMENTS:
                try:
                    before = arrangement.heads(one.array, batch, tokens)
                    after = arrangement.heads(two.array, batch, tokens)
                except ValueError:
                    continue
                usable = usable or arrangement
                moved = np.abs(after - before).max(axis=(1, 3)) > 1e-6 * np.abs(before).max()
                expected = np.zeros_like(moved)
                expected[0, 2:3] = True
                if (moved == expected).all():
                    exact = arrangement
                    break
            if usable is None:
                return False
            self.arrangements[i] = exact or usable
            fits.append(exact is not None)
        self.by_token = all(fits)
        return True

    def features(self, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """Query, key and value as the products take them, without the scale."""
        try:
            return self._with_bias(self._found(arrays), arrays)
        except (ValueError, ArgumentError):
            # Some words take no part, as in a context that is cut: with as many words everywhere
            # all do, and query, key and value of a word do not depend on the others.
            lengths = [a.shape[1] for a in arrays]
            padded = tuple(
                np.resize(a.swapaxes(0, 1), (max(lengths), a.shape[0], a.shape[2])).swapaxes(0, 1)
                for a in arrays
            )
            parts = self._features(self._found(padded), padded)
            return tuple(p[:, :, : lengths[i]] for p, i in zip(parts, self.sources, strict=True))

    def _with_bias(self, found: Operands, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        query, key, value = self._features(found, arrays)
        if self.scale_h is not None:
            query = query * (self.scale_h[:, None, None] * query.shape[-1] ** 0.5)
        return (query, key, value, self._usual_bias(arrays)) if self.biased else (query, key, value)

    def _usual_bias(self, arrays: tuple[Array, ...]) -> Array:
        """The bias for these lengths, from moderate scores: large ones hide most of it."""
        lengths = tuple(array.shape[1] for array in arrays)
        if lengths not in self.biases:
            drawn = tuple(
                np.random.default_rng(i).standard_normal((2, t, e))
                for i, (t, e) in enumerate(zip(lengths, self.widths, strict=True))
            )
            self.biases[lengths] = self._bias(self._found(drawn), drawn)
        return self.biases[lengths]

    def _fit_weights(
        self, trace: Trace, found: Operands, changed: Operands, arrays: tuple[Array, ...]
    ) -> None:
        """Find out the scale of query and key that are normalised, and a bias of the scores.

        With the same places and other words a bias stays as it is, so that the logarithms of the
        weights change by the scale times the change of the scores.
        """
        normalised = all(part.origin()[2] for part in found.parts[:2])
        one, two = self._logs_and_scores(found, arrays), self._logs_and_scores(changed, arrays)
        if one is None or two is None:
            return
        logs, scores = one[0] - two[0], one[1] - two[1]
        scale_h = (logs * scores).sum((0, 2, 3)) / np.maximum((scores**2).sum((0, 2, 3)), 1e-30)
        rest = logs - scale_h[:, None, None] * scores
        if np.abs(rest).max() > EXACT * max(np.abs(logs).max(), 1e-6):
            return
        self.fitted_h = scale_h
        if normalised:
            self.scale_h = scale_h * self._factors(found)
        bias = self._bias(found, arrays)
        small = np.abs(bias).max() < 1e-6 * max(np.abs(one[1]).max(), 1.0)
        self.biased = not small and np.abs(bias).max() < MAX_BIAS and (
            _has_learned_bias(trace, bias.shape[-1]) or _falls_with_distance(bias, one[2])
        )  # fmt: skip

    def _factors(self, found: Operands) -> float:
        """What query and key were multiplied with before their product."""
        return found.parts[0].origin()[1] * found.parts[1].origin()[1]

    def _logs_and_scores(
        self, found: Operands, arrays: tuple[Array, ...]
    ) -> tuple[Array, Array, Array] | None:
        """Logarithms of the weights and the scores (b, h, q, k), each less the mean of its row."""
        weights = self._weights(found, arrays)
        if weights is None:
            return None
        query, key, _ = self._raw(found, arrays)
        if weights.shape[1] % key.shape[1]:
            return None
        key = np.repeat(key, weights.shape[1] // key.shape[1], axis=1)
        scores = query @ key.swapaxes(-1, -2)
        if scores.shape != weights.shape:
            return None
        seen = weights > 1e-12
        return centred(np.log(np.where(seen, weights, 1)), seen), centred(scores, seen), seen

    def _weights(self, found: Operands, arrays: tuple[Array, ...]) -> Array | None:
        """The weights (b, h, q, k); those of a fused operation are computed."""
        fused = found.sums[0].fused
        if fused is None:
            weights = np.concatenate([_weights_and_values(n)[0] for n in found.sums])
            try:
                queries = self._tokens(0, arrays)
                return self.arrangements[0].heads(weights, arrays[0].shape[0], queries)
            except ValueError:
                return None
        bias = None if fused.bias is None else fused.bias.constant
        if bias is None or bias.ndim < 2 or fused.query.ndim != 4:
            return None
        key = np.repeat(fused.key, fused.query.shape[1] // fused.key.shape[1], axis=1)
        scale = fused.scale or fused.query.shape[-1] ** -0.5
        scores = fused.query @ key.swapaxes(-1, -2) * scale + bias
        e = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return np.asarray(e / e.sum(axis=-1, keepdims=True))

    def _bias(self, found: Operands, arrays: tuple[Array, ...]) -> Array:
        """What is added to the scores (h, q, k) whatever the words are."""
        both = self._logs_and_scores(found, arrays)
        if both is None:
            raise ArgumentError("with these sizes its weights were not found")
        return np.asarray((both[0] - self.fitted_h[:, None, None] * both[1])[0])

    def _find(self, trace: Trace) -> Operands | None:
        return find_operands(trace, self.key_first)

    def _found(self, arrays: tuple[Array, ...]) -> Operands:
        found = self._find(self.trace(arrays))
        if found is None:
            raise ArgumentError("with these sizes no attention was found in its trace")
        return found

    def _raw(self, found: Operands, arrays: tuple[Array, ...]) -> list[Array]:
        """Query, key and value (b, h, t, d) as the products take them."""
        parts = zip(found.parts, self.arrangements, strict=True)
        return [
            arrangement.heads(operand.array, arrays[0].shape[0], self._tokens(i, arrays))
            for i, (operand, arrangement) in enumerate(parts)
        ]

    def _features(
        self, found: Operands, arrays: tuple[Array, ...], exact: bool = True
    ) -> tuple[Array, ...]:
        raw = zip(self._raw(found, arrays), found.parts, strict=True)
        query, key, value = (array / operand.origin()[1] for array, operand in raw)
        if exact:
            key, value = _without_repeats(key, value, query.shape[1])
        return query, key, value

    def _with_output(self, reading: Reading) -> Reading | None:
        """The reading with its output layer: the layer itself, or fitted, or compared inside."""
        of_query = self.sources[0] if self.of_query is not None else None
        value = self._found(self.draw(of_query)).parts[2]
        samples = reading.heads * value.array.shape[-1] * 3 // 2 + 16
        tokens = TOKENS if reading.batched else samples
        arrays = self.draw(of_query, tokens, -(-samples // tokens))
        trace = self.trace(arrays)
        found, returned = self._find(trace), _first_array(trace.returned)
        if found is None or returned is None:
            return None
        batch, queries = arrays[0].shape[0], self._tokens(0, arrays)
        joined = join_heads(self.arrangements[0].heads(_sums(found), batch, queries))
        forms = list(forms_of(returned.shape, batch, queries))
        for form in forms:
            output = _output_matrix(joined, unpack(returned, form), _output_layer(trace, found))
            if output is not None:
                return replace(reading, returns=form, output=output if output.size else None)
        taken = self.forms[self.sources[0]]
        returns = next((x for x in forms if _order(x) == _order(taken)), forms[0] if forms else ())
        return self._inside(replace(reading, returns=returns), trace, joined, arrays)

    def _inside(
        self, reading: Reading, trace: Trace, joined: Array, arrays: tuple[Array, ...]
    ) -> Reading | None:
        """The reading of a function whose output is no linear function of the joined heads."""
        layer = _output_layer(trace, self._find(trace))
        matrix = None if layer is None else _matrix(layer, joined.shape[-1])
        returned = _first_array(trace.returned)
        if not reading.returns or returned is None:
            return None
        if matrix is None or layer is None or layer.value is None:
            return reading
        alike = layer.value().size == returned.size and _equal(
            np.sort(layer.value().ravel()), np.sort(returned.ravel())
        )
        if alike or not self._passes_on(trace, layer, arrays, reading.returns):
            return replace(reading, output=matrix)
        words: Form = ("b", "t") if reading.batched else ("t",)
        return replace(reading, output=matrix, inside=True, returns=(*words, joined.shape[-1]))

    def _passes_on(
        self, trace: Trace, layer: Node, arrays: tuple[Array, ...], returns: Form
    ) -> bool:
        """Whether what comes back is made from a layer, and shows the words of other places."""
        if not trace.outputs or not _leads_to(layer, trace.outputs[0]):
            return False
        changed = _first_array(self.trace(_with_other_word(arrays)).returned)
        returned = _first_array(trace.returned)
        if changed is None or returned is None:
            return False
        before, after = (unpack(x, returns) for x in (returned, changed))
        moved = np.abs(after - before)[0].max(axis=-1) > 1e-9 * np.abs(before).max()
        return bool(moved[3:].any()) or self.first_alone  # later words: earlier may not see it

    def inner(self, trace: Trace, batch: int, tokens: int) -> Array:
        """What the output layer gets, (b, t, columns)."""
        found = self._find(trace)
        layer = _output_layer(trace, found)
        if found is None or layer is None or layer.product is None:
            raise ArgumentError("its output layer was not found again")
        rows: Array = layer.product.left[0]
        swapped = rows.reshape(tokens, batch, -1).swapaxes(0, 1)
        joined = join_heads(self.arrangements[0].heads(_sums(found), batch, tokens))
        # Some modules turn (b, t) into (t, b) for themselves.
        return swapped if _equal(swapped, joined) else rows.reshape(batch, tokens, -1)


def _output_matrix(joined_bte: Array, rows_bte: Array, layer: Node | None) -> Array | None:
    """The matrix that makes rows of the joined heads; one of no numbers where they are equal."""
    ones = np.ones((prod(joined_bte.shape[:2]), 1))
    joined = np.concatenate([joined_bte.reshape(len(ones), -1), ones], axis=1)
    rows = rows_bte.reshape(len(ones), -1)
    columns = joined.shape[1] - 1
    if rows.shape[1] == columns and _equal(rows, joined[:, :-1]):
        return np.zeros((0, 0))
    matrix = None if layer is None else _matrix(layer, columns)
    if matrix is not None and rows.shape[1] == matrix.shape[1]:
        shift = rows - joined @ matrix
        if _equal(shift, np.broadcast_to(shift[:1], shift.shape), np.abs(rows).max()):
            matrix[-1] += shift[0]
            return matrix
    fitted = np.linalg.lstsq(joined, rows, rcond=None)[0]
    return fitted if _equal(joined @ fitted, rows) else None


def _order(form: Form) -> list[int]:
    """Where sentences and words stand in a form."""
    return [form.index(x) for x in "bt" if x in form]


def forms_of(shape: tuple[int, ...], batch: int, tokens: int) -> Iterator[Form]:
    """The forms that an array of this shape may have, with these numbers of sentences and words."""
    places = range(len(shape))
    for b, t in permutations(places, 2):
        if (shape[b], shape[t]) == (batch, tokens):
            yield tuple("b" if i == b else "t" if i == t else n for i, n in enumerate(shape))
    for letter, size in (("t", tokens if batch == 1 else -1), ("b", batch if tokens == 1 else -1)):
        for at in places:
            if shape[at] == size:
                yield tuple(letter if i == at else n for i, n in enumerate(shape))


def _has_learned_bias(trace: Trace, keys: int) -> bool:
    """Whether something that training changes is added to the scores, a number for each key."""
    for node in trace.nodes:
        added = [node.fused.bias] if node.fused is not None else node.inputs
        for x in added if node.depth == 1 else ():
            if x is not None and x.learned and x.constant is not None and x.constant.ndim > 1:
                return bool(x.constant.shape[-1] == keys)
    return False


def _falls_with_distance(bias_hqk: Array, seen_bhqk: Array) -> bool:
    """Whether a bias is a straight line that falls with the distance of query and key."""
    h, q, k = bias_hqk.shape
    if q != k:
        return False
    distance = np.broadcast_to(-np.abs(np.arange(k) - np.arange(q)[:, None]), (h, q, k))
    line = centred(distance.astype(float), seen_bhqk[0])
    slope = (line * bias_hqk).sum((1, 2)) / np.maximum((line**2).sum((1, 2)), 1e-30)
    return bool((slope >= 0).all()) and _equal(slope[:, None, None] * line, bias_hqk)


def _equal(one: Array, other: Array, size: float = 0.0) -> bool:
    size = max(size, float(np.abs(other).max(initial=0)), 1e-6)
    return one.shape == other.shape and bool(np.abs(one - other).max(initial=0) <= EXACT * size)


def _matrix(layer: Node, rows: int) -> Array | None:
    """The matrix of a linear layer with its bias as the last row, where it has so many rows."""
    if layer.product is None or layer.product.right.shape[:2] != (1, rows):
        return None
    weight = layer.product.right[0]
    bias = np.zeros(weight.shape[1]) if layer.product.bias is None else layer.product.bias
    return np.concatenate([weight, np.broadcast_to(bias, weight.shape[1:])[None]])


def _sums(found: Operands) -> Array:
    """What the products of weights and values give, (n, q, v)."""
    arrays = []
    for node in found.sums:
        if node.product is not None:
            weights, values = _weights_and_values(node)
            arrays.append(weights @ values)
        elif node.value is not None:
            arrays.append(_flat(node.value()))
    return np.concatenate(arrays)


def _with_other_word(arrays: tuple[Array, ...]) -> tuple[Array, ...]:
    changed = tuple(array.copy() for array in arrays)
    for i, array in enumerate(changed):
        array[0, 2] = np.random.default_rng([i, 62]).standard_normal(array.shape[-1])
    return changed


def _without_repeats(key: Array, value: Array, heads: int) -> tuple[Array, Array]:
    """Key and value with the heads that are repeated for several queries taken once."""
    unique: list[int] = []
    for head in range(key.shape[1]):
        if not any(
            np.array_equal(key[:, head], key[:, other])
            and np.array_equal(value[:, head], value[:, other])
            for other in unique
            if value.shape[1] == key.shape[1]
        ):
            unique.append(head)
    if len(unique) == key.shape[1] or heads % len(unique):
        return key, value
    return key[:, unique], value[:, unique]


def _output_layer(trace: Trace, found: Operands | None) -> Node | None:
    """The first linear layer that gets what the attention gives."""
    if found is None:
        return None
    depth = found.sums[0].depth
    later = [n for n in trace.nodes if n.is_projection and n.depth >= depth and n.product]
    return next((n for n in later if n.product and n.product.nodes[0].depth >= depth), None)


def _leads_to(node: Node, result: Node) -> bool:
    """Whether a result was computed from a node."""
    seen, waiting = set(), [result]
    while waiting:
        one = waiting.pop()
        if one is node:
            return True
        if id(one) not in seen:
            seen.add(id(one))
            waiting.extend(one.inputs)
    return False


def _first_array(returned: Any) -> Array | None:
    parts = returned if isinstance(returned, tuple | list) else (returned,)
    if isinstance(returned, dict):
        parts = tuple(returned.values())
    return as_float64(parts[0]) if hasattr(parts[0], "shape") else None

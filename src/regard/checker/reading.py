"""Readings: the query, key and value that a module computes, found in a trace of its call.

Attention is two products of results: of queries with keys, and of what was made of that with
values. Their operands are query, key and value, whatever the layers before them are called. The
linear layer that an operand comes from says what it was before any scaling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from regard.checker.cases import Case, generator, join_heads, split_heads
from regard.checker.trace import Node, Trace
from regard.engine.tensors import to_float64
from regard.errors import ArgumentError
from regard.typing import Array

BATCH, TOKENS, CONTEXT_TOKENS = 3, 7, 11  # sizes of a first look: primes that no width has
EXACT = 1e-4  # of what is compared, relative to its size: float32 leaves that much
LAYOUTS_OF_X = ("btd", "tbd", "bdt", "td", "bptd")


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
        parts = [
            Operand(_stack([_flat(n.fused[i]) for n in fused if n.fused]), fused[0].inputs[i])
            for i in range(3)
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
        key_first = _keys_come_first(weight, left, right)
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


def _keys_come_first(weight: Array, left: Array, right: Array) -> bool:
    """Whether the weights belong to the scores transposed: the left operand is the key."""
    rows, columns = left.shape[1], right.shape[1]
    if rows != columns:
        return bool(weight.shape[1:] == (columns, rows))
    if weight.shape != (left.shape[0], rows, columns) or left.shape[0] != right.shape[0]:
        return False
    scores = left @ right.swapaxes(1, 2)
    return _misfit(weight, scores.swapaxes(1, 2)) < 0.5 * _misfit(weight, scores)


def _misfit(weight: Array, scores: Array) -> float:
    """How far the logarithms of weights are from a multiple of the scores, row by row."""
    seen = weight > 1e-12
    logs = np.where(seen, np.log(np.where(seen, weight, 1)), np.nan)
    scores = np.where(seen, scores, np.nan)
    with np.errstate(all="ignore"):
        logs = np.nan_to_num(logs - np.nanmean(logs, axis=-1, keepdims=True))
        scores = np.nan_to_num(scores - np.nanmean(scores, axis=-1, keepdims=True))
    factor = (logs * scores).sum() / max((scores**2).sum(), 1e-30)
    return float(((logs - factor * scores) ** 2).sum())


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
    """How query, key and value come from the arrays that a module is called with.

    ``widths``: of each array. ``sources``: which of them gives query, key and value. ``output``:
    the matrix (h * v + 1, e) of the output layer. ``inside``: what is compared is what the output
    layer gets. ``features`` computes query, key and value (b, h, t, d) from the arrays (b, t, e).
    ``draws``: the two draws of random words that a sentence is made of.
    """

    layout: str
    widths: tuple[int, ...]
    sources: tuple[int, int, int]
    heads: int
    output: Array | None = None
    inside: bool = False
    features: Callable[[tuple[Array, ...]], tuple[Array, ...]] = lambda arrays: ()
    draws: tuple[int, int] = (0, 0)
    _known: dict[bytes, tuple[Array, ...]] = field(default_factory=dict)

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
        """The case with query, key and value made by the module from arrays of random numbers."""
        b, queries, keys = case.query.shape[0], case.query.shape[2], case.key.shape[2]
        if queries != keys and not self.takes_context:
            return None
        size = float(np.abs(case.query).mean()) / 0.8
        lengths = [queries if i == self.sources[0] else keys for i in range(len(self.widths))]
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
            np.where(lots[source][:, None, :, None], one, two)
            for source, one, two in zip(self.sources, made, others, strict=True)
        )
        return replace(case, query=query, key=key, value=value, x=arrays[0], others=arrays[1:])

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

    def finish(self, output: Array, layout: str) -> Array:
        """What comes back of heads joined: with the output layer, unless it is compared before."""
        if self.output is None or self.inside:
            return output
        rows = unpack_output(output, layout) @ self.output[:-1] + self.output[-1]
        return pack_source(np.asarray(rows), layout)


def _alike(one: tuple[Array, ...], other: tuple[Array, ...]) -> bool:
    return [x.shape for x in one] == [x.shape for x in other]


def pack_source(array_bte: Array, layout: str) -> Array:
    """An array (b, t, e) in the layout in which a module takes it."""
    if layout == "tbd":
        return array_bte.swapaxes(0, 1)
    if layout == "bdt":
        return array_bte.swapaxes(1, 2)
    if layout == "bptd":
        return array_bte[None]
    return array_bte[0] if layout == "td" else array_bte


def unpack_output(array: Array, layout: str) -> Array:
    """What came back, as (b, t, e)."""
    if layout == "tbd":
        return array.swapaxes(0, 1)
    if layout == "bdt":
        return array.swapaxes(1, 2)
    if layout == "bptd":
        return np.asarray(array[0])
    return array[None] if layout == "td" else array


class ModuleReader:
    """Reads the attention of a function of whole arrays, such as the forward of a module.

    ``trace`` calls it with arrays (b, t, e), packed in a layout, and returns the trace.
    """

    def __init__(self, trace: Callable[[tuple[Array, ...]], Trace], layout: str) -> None:
        self.trace_packed, self.layout = trace, layout
        self.arrangements = [ARRANGEMENTS[0]] * 3
        self.sources = (0, 0, 0)
        self.key_first = False
        self.seen: set[int] = set()
        self.by_token = False  # whether query, key and value of a word come from that word alone

    def trace(self, arrays: tuple[Array, ...]) -> Trace:
        trace = self.trace_packed(tuple(pack_source(a, self.layout) for a in arrays))
        self.seen |= trace.seen
        return trace

    def readings(self, widths: tuple[int, ...]) -> list[Reading]:
        """The readings, the likeliest first; [] where the trace has no attention."""
        batch = 1 if self.layout == "td" else BATCH
        failure: Exception | None = None
        # The queries may come from any of the arrays; and with other lengths it may refuse, or
        # leave some of the context out.
        for of_query in (*range(len(widths)), None) if len(widths) > 1 else (0,):
            try:
                made = self._readings(_draw(batch, widths, of_query=of_query), widths)
            except Exception as error:  # whatever the module raises with these sizes
                failure = failure or error
                continue
            if made:
                return made
        if failure is not None:
            raise failure
        return []

    def _readings(self, arrays: tuple[Array, ...], widths: tuple[int, ...]) -> list[Reading]:
        found = find_operands(self.trace(arrays))
        if found is None:
            return []
        self.sources = tuple(max(o.node.sources, default=0) for o in found.parts)  # type: ignore[assignment]
        self.key_first = found.key_first
        changed = self._find(self.trace(_with_other_word(arrays)))
        if changed is None or not self._arrange(found, changed, arrays):
            return []
        heads = self._features(found, arrays)[0].shape[1]
        made = [Reading(self.layout, widths, self.sources, heads, features=self.features)]
        if not self.by_token or self._uses_one_twice(arrays):
            made = [replace(made[0], features=self.natural_features)]
        return [self._with_output(reading) for reading in made]

    def _arrange(self, found: Operands, changed: Operands, arrays: tuple[Array, ...]) -> bool:
        """Find out how each operand is made of sentences, heads and tokens."""
        batch, fits = arrays[0].shape[0], []
        for i, (one, two) in enumerate(zip(found.parts, changed.parts, strict=True)):
            tokens = arrays[self.sources[i]].shape[1]
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
                expected[0, 2] = True
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
            return self._features(self._found(arrays), arrays)
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

    def _uses_one_twice(self, arrays: tuple[Array, ...]) -> bool:
        """Whether one projection serves in two places while another is computed and never used."""
        query, key, value = self._features(self._found(arrays), arrays, exact=False)
        pairs = ((query, key), (key, value), (query, value))
        if len(arrays) > 1 or not any(np.array_equal(one, two) for one, two in pairs):
            return False
        return self._three_blocks(arrays, query) is not None

    def _three_blocks(self, arrays: tuple[Array, ...], query: Array) -> tuple[Array, ...] | None:
        """Three equal parts of what the linear layers before the attention give, in their order.

        They lie side by side, or head by head where that gives the query.
        """
        trace, (b, t), width = self.trace(arrays), arrays[0].shape[:2], query.shape[-1]
        layers = [n for n in trace.nodes if n.is_projection and n.depth == 0 and n.value]
        made = [n.value() for n in layers if n.value]
        columns = [_by_word(m, b, t, self.layout) for m in made if m.size % (b * t) == 0]
        joined = np.concatenate(columns, axis=-1) if columns else np.zeros((b, t, 1))
        if joined.shape[-1] % (3 * width):
            return None
        by_head = joined.reshape(b, t, -1, 3, width).transpose(3, 0, 2, 1, 4)
        if any(_equal(part, query) for part in by_head):
            return tuple(by_head)
        parts = np.split(joined, 3, axis=-1)
        return tuple(split_heads(part, part.shape[-1] // width) for part in parts)

    def natural_features(self, arrays: tuple[Array, ...]) -> tuple[Array, ...]:
        """Query, key and value as the linear layers give them, their columns split into heads."""
        found = self._found(arrays)
        query, key, value = self._features(found, arrays, exact=False)
        parts = zip(found.parts, (query, key, value), strict=True)
        made = [
            _from_layer(operand, array, arrays[source], self.layout)
            for (operand, array), source in zip(parts, self.sources, strict=True)
        ]
        pairs = ((query, key), (key, value), (query, value))
        if len(arrays) == 1 and any(np.array_equal(one, two) for one, two in pairs):
            return self._three_blocks(arrays, query) or tuple(made)
        return tuple(made)

    def _find(self, trace: Trace) -> Operands | None:
        return find_operands(trace, self.key_first)

    def _found(self, arrays: tuple[Array, ...]) -> Operands:
        found = self._find(self.trace(arrays))
        if found is None:
            raise ArgumentError("with these sizes no attention was found in its trace")
        return found

    def _features(
        self, found: Operands, arrays: tuple[Array, ...], exact: bool = True
    ) -> tuple[Array, ...]:
        batch, features = arrays[0].shape[0], []
        for operand, arrangement, source in zip(
            found.parts, self.arrangements, self.sources, strict=True
        ):
            array = arrangement.heads(operand.array, batch, arrays[source].shape[1])
            features.append(array / operand.origin()[1])
        query, key, value = features
        if exact:
            key, value = _without_repeats(key, value, query.shape[1])
        return query, key, value

    def _with_output(self, reading: Reading) -> Reading:
        """The reading with its output layer: the layer itself, or fitted, or compared inside."""
        of_query = self.sources[0]
        first = _draw(1 if self.layout == "td" else BATCH, reading.widths, of_query=of_query)
        query, _, value = reading.features(first)
        columns = query.shape[1] * value.shape[-1]
        samples = columns * 3 // 2 + 16
        batch, tokens = (1, samples) if self.layout == "td" else (-(-samples // TOKENS), TOKENS)
        arrays = _draw(batch, reading.widths, tokens, of_query)
        trace = self.trace(arrays)
        found = self._find(trace)
        returned = _first_array(trace.returned)
        if found is None or returned is None:
            return reading
        joined = join_heads(self.arrangements[0].heads(_sums(found), batch, tokens))
        joined = np.concatenate(
            [joined.reshape(samples_of(joined), -1), np.ones((samples_of(joined), 1))], 1
        )
        try:
            rows = unpack_output(returned, self.layout).reshape(len(joined), -1)
        except ValueError:
            return reading
        if rows.shape[1] == columns and _equal(rows, joined[:, :-1]):
            return reading
        layer = _output_layer(trace, found)
        matrix = None if layer is None else _matrix(layer, columns)
        if matrix is not None:
            shift = rows - joined @ matrix if rows.shape[1] == matrix.shape[1] else joined[:, :1]
            if _equal(shift, np.broadcast_to(shift[:1], shift.shape), np.abs(rows).max()):
                matrix[-1] += shift[0]
                return replace(reading, output=matrix)
        fitted = np.linalg.lstsq(joined, rows, rcond=None)[0]
        if _equal(joined @ fitted, rows):
            return replace(reading, output=fitted)
        if matrix is None or layer is None or layer.value is None:
            return reading
        alike = layer.value().size == rows.size and _equal(
            np.sort(layer.value().ravel()), np.sort(rows.ravel())
        )
        inside = not alike and self._passes_on(trace, layer, arrays)
        return replace(reading, output=matrix, inside=inside)

    def _passes_on(self, trace: Trace, layer: Node, arrays: tuple[Array, ...]) -> bool:
        """Whether what comes back is made from a layer, and shows the words of other places."""
        if not trace.outputs or not _leads_to(layer, trace.outputs[0]):
            return False
        changed = _first_array(self.trace(_with_other_word(arrays)).returned)
        returned = _first_array(trace.returned)
        if changed is None or returned is None:
            return False
        before, after = (unpack_output(x, self.layout) for x in (returned, changed))
        moved = np.abs(after - before)[0].max(axis=-1) > 1e-9 * np.abs(before).max()
        return bool(moved[3:].any())  # later words: earlier ones may not see it

    def inner(self, trace: Trace, first: tuple[int, int]) -> Array:
        """What the output layer gets, a row for each word; ``first``: sentences and words."""
        layer = _output_layer(trace, self._find(trace))
        if layer is None or layer.product is None:
            raise ArgumentError("its output layer was not found again")
        rows: Array = layer.product.left[0]
        shape = (first[1], first[0], rows.shape[-1])
        swapped = rows.reshape(shape).swapaxes(0, 1).reshape(rows.shape)
        found = self._find(trace)
        joined = None if found is None else join_heads(
            self.arrangements[0].heads(_sums(found), first[0], first[1])
        ).reshape(rows.shape)  # fmt: skip
        # Some modules turn (b, t) into (t, b) for themselves.
        return swapped if joined is not None and _equal(swapped, joined) else rows


def samples_of(array_bte: Array) -> int:
    """The number of words in all sentences."""
    return int(array_bte.shape[0] * array_bte.shape[1])


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


def _draw(
    batch: int, widths: tuple[int, ...], tokens: int = TOKENS, of_query: int | None = 0
) -> tuple[Array, ...]:
    """Arrays (b, t, e); those that give no query are of another length, with None of the same."""
    lengths = [tokens if of_query in (i, None) else CONTEXT_TOKENS for i in range(len(widths))]
    return tuple(
        np.random.default_rng([i, 61]).standard_normal((batch, t, e))
        for i, (t, e) in enumerate(zip(lengths, widths, strict=True))
    )


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


def _by_word(made: Array, batch: int, tokens: int, layout: str) -> Array:
    """What a linear layer gives, as (b, t, columns)."""
    if layout == "tbd":
        return made.reshape(tokens, batch, -1).swapaxes(0, 1)
    return made.reshape(batch, tokens, -1)


def _from_layer(operand: Operand, array: Array, source: Array, layout: str) -> Array:
    """The columns of the linear layer whose numbers an operand has, split into heads as usual."""
    node = operand.origin()[0]
    if node is None or node.value is None:
        return array
    made = node.value()
    b, t = source.shape[:2]
    if made.size % (b * t):
        return array
    made = _by_word(made, b, t, layout)
    used = np.isin(made.round(9), array.round(9)).mean(axis=(0, 1)) > 0.5
    columns = made[:, :, used]
    width = array.shape[-1]
    if not used.any() or columns.shape[-1] % width:
        return array
    return split_heads(columns, columns.shape[-1] // width)


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
    return to_float64(parts[0]) if hasattr(parts[0], "shape") else None

"""A subject: a way to call a layer, and the attention that a call of it shows, head by head."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from regard.checker.adapters import Layer, as_float64, as_layer
from regard.checker.adapters.tape import Edits, Fused, Node, Run, record
from regard.checker.calling import MATRIX_NAME, Attempt, Binding, attempts
from regard.checker.example import Example
from regard.checker.instances import WIDTH
from regard.checker.reading import Form, forms_of, keys_come_first, misfit, pack, unpack
from regard.checker.signatures import function_parameters
from regard.errors import ArgumentError
from regard.typing import Array

BATCH, TOKENS, LONGER = 3, 7, 4
MAX_WAYS = 250  # to call one layer
MAX_SIZED_WAYS, SIZES_OF_WINDOWS = 4, (5, 9, 16, 64)
MAX_FAILED = 3  # calls with arrays of one form
MOVED = 1e-9


@dataclass
class Seen:
    """The attention of one call, (b, h, t, d) each; weights (b, h, q, k); output (b, t, e)."""

    q: Array
    k: Array
    v: Array
    weights: Array
    sums: Array
    output: Array
    run: Run
    heads_of_k: int = 0

    def __getitem__(self, role: str) -> Array:
        made: Array = getattr(self, role)
        return made


@dataclass
class Found:
    """Where an attention is on a tape: the numbers of its operations."""

    sums: list[int] = field(default_factory=list)
    scores: list[int] = field(default_factory=list)
    terms: int = 1  # products whose sum the scores of one product of weights and values are
    key_first: bool = False
    weights_left: bool = True
    heads_last: bool = False  # among the rows of a term whose keys serve all heads
    fused: bool = False


def find(run: Run) -> Found | None:
    """The first attention of a tape; later layers get what that one gave."""
    sums = [n for n in run.nodes if n.sums_values]
    if not sums:
        return None
    if sums[0].fused is not None:
        first = [n.index for n in sums if n.fused and max(x.level for x in n.inputs) == 0]
        return Found(first, first, fused=True) if first else None
    sums = [n for n in sums if n.operands and n.arrays is not None]
    scores: list[Node] = []
    most = 1
    for one, two in (n.operands for n in sums if n.operands):
        made = _scores_of(one if one.level == 1 else two)
        most = max(most, len(made))
        scores += [x for x in made if x not in scores]
    terms = most if len(scores) == most * len(sums) else 1
    if not scores or any(n.arrays is None for n in scores) or not sums[0].operands:
        return None
    left = sums[0].operands[0].level == 1
    indices = [n.index for n in scores]
    return Found([n.index for n in sums], indices, terms, weights_left=left)


def _scores_of(weight: Node) -> list[Node]:
    """The products that weights were made of: of two results, else of learned numbers."""
    found, learned = [], []
    waiting, seen = [weight], set()
    while waiting:
        one = waiting.pop(0)
        if id(one) in seen:
            continue
        seen.add(id(one))
        if one.operands is not None and one.level == 0:
            from_words = [bool(x.sources) for x in one.operands]
            if all(from_words):
                found.append(one)
                continue
            learned += [one] if any(from_words) else []
        waiting.extend(one.inputs)
    return found or learned[:1]


@dataclass
class Subject:
    """A way to call a layer: names and forms of its arrays, and where its attention is.

    ``unused``: matrices that a function is handed for nothing. ``invented``: arguments whose value
    nobody but the check has chosen.
    """

    layer: Layer
    names: tuple[str, ...]
    forms: tuple[Form, ...]
    bind: Callable[[list[Array], dict[str, Any]], Callable[..., Any]]
    params: dict[str, Any]
    lengths: tuple[int, ...]
    batch: int = BATCH
    unused: tuple[str, ...] = ()
    invented: tuple[str, ...] = ()
    found: Found = field(default_factory=Found)
    layouts: dict[str, tuple[bool, int, bool]] = field(default_factory=dict)
    out_form: Form | None = None
    masks: dict[str, Array] = field(default_factory=dict)  # that an example hands in
    pairs: dict[str, Array] = field(default_factory=dict)  # with a vector for each two words
    cached: dict[str, list[Array]] = field(default_factory=dict)
    is_apart: bool = False  # no word of its output depends on another word
    noise: float = MOVED  # what rounding alone may change, of the size
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def widths(self) -> list[int]:
        return [prod(x for x in form if isinstance(x, int)) for form in self.forms]

    def draw(self, seed: int = 0, lengths: tuple[int, ...] | None = None) -> list[Array]:
        """Random arrays (b, t, e)."""
        sizes = zip(lengths or self.lengths, self.widths, strict=True)
        return [
            np.random.default_rng([seed, i]).standard_normal((self.batch, t, e))
            for i, (t, e) in enumerate(sizes)
        ]

    def run(self, arrays: list[Array], edits: Edits | None = None) -> Run:
        packed = [
            np.ascontiguousarray(pack(a, form)) for a, form in zip(arrays, self.forms, strict=True)
        ]
        return record(self.bind(packed, self.options), packed, self.params, edits)

    def operands(self, run: Run) -> dict[str, Array]:
        """Query, key, value, weights and sums as the operations have them, (n, rows, width)."""
        at: dict[int, Node] = {}
        for n in run.nodes:
            at.setdefault(n.index, n)
        found = self.found
        if not all(i in at and at[i].sums_values for i in found.sums):  # other steps than before
            found = find(run) or found
            found.key_first = self.found.key_first
        if found.fused:
            made = [_apart(node.fused) for i in found.sums if (node := at[i]).fused]
            return {name: np.concatenate([m[i] for m in made]) for i, name in enumerate("qkvws")}
        scores = [x for i in found.scores if (x := at[i].arrays) is not None]
        sums = [x for i in found.sums if (x := at[i].arrays) is not None]
        starts = range(0, len(scores), found.terms)
        groups = [scores[i : i + found.terms] for i in starts]  # side by side: a sum of products
        pairs = [_side_by_side(one, found.heads_last) for one in groups]
        left, right = (np.concatenate([pair[i] for pair in pairs]) for i in (0, 1))
        if not found.weights_left:
            sums = [(two.swapaxes(1, 2), one.swapaxes(1, 2)) for one, two in sums]
        w, v = (np.concatenate([x[i] for x in sums]) for i in (0, 1))
        q, k = (right, left) if found.key_first else (left, right)
        return {"q": q, "k": k, "v": v, "w": w, "s": w @ v}

    def see(self, arrays: list[Array], edits: Edits | None = None) -> Seen:
        run = self.run(arrays, edits)
        operands = self.operands(run)
        made = {name: self.headed(name, operands[name]) for name in "qkvws"}
        heads = max(made["q"].shape[1], made["w"].shape[1])
        q, k, v = (np.repeat(made[x], heads // made[x].shape[1], axis=1) for x in "qkv")
        output = run.output if self.out_form is None else unpack(run.output, self.out_form)
        groups = number_of_different(made["k"])
        return Seen(q, k, v, made["w"], made["s"], output, run, groups)

    def headed(self, name: str, array: Array) -> Array:
        """(n, rows, width) as (b, h, t, width)."""
        own = "w" if name in "ws" and "w" in self.layouts else "q" if name in "ws" else name
        batch_first, inner, words_last = self.layouts.get(own, (True, 1, True))
        n, rows, width = array.shape
        b = self.batch if n % self.batch == 0 else 1
        array = array.reshape(b, n // b, rows, width) if batch_first else (
            array.reshape(n // b, b, rows, width).swapaxes(0, 1)
        )  # fmt: skip
        if inner > 1:
            t = rows // inner
            array = array.reshape(b, n // b, inner, t, width) if words_last else (
                array.reshape(b, n // b, t, inner, width).swapaxes(2, 3)
            )  # fmt: skip
            array = array.reshape(b, -1, t, width)
        return array

    @contextlib.contextmanager
    def changed(self, **changes: Callable[[Array], Array]) -> Iterator[None]:
        """A context in which parameters have other numbers."""
        before = {name: as_float64(self.params[name]) for name in changes}
        for name, change in changes.items():
            self.write(name, change(before[name].copy()))
        try:
            yield
        finally:
            for name, numbers in before.items():
                self.write(name, numbers)

    def write(self, name: str, numbers: Array) -> None:
        """Give a parameter other numbers."""
        import torch

        with torch.no_grad():
            self.params[name].copy_(torch.from_numpy(np.asarray(numbers)))

    def find(self, run: Run) -> Found | None:
        """Where the attention of a call is."""
        return find(run)

    def traced_factor(self, role: str, run: Run) -> float | None:
        """What an operand was multiplied with behind its layer, where a trace tells."""
        return None

    def arrange(self) -> bool:
        """Find out where sentences, heads and words are in the operands, by changing sentences."""
        arrays = self.draw(0)
        run = self.run(arrays)
        found = self.find(run)
        if found is None:
            return False
        self.found = found
        if not found.fused:
            raw = self.operands(run)
            with contextlib.suppress(ValueError):
                found.key_first = keys_come_first(raw["w"], raw["q"], raw["k"])
                if found.terms > 1:
                    found.heads_last = self._stands_better(run, raw)
        base = self.operands(run)
        others = [a.copy() for a in arrays]
        for i, a in enumerate(others):
            a[0] = np.random.default_rng([9, i]).standard_normal(a.shape[1:])
        after = self.operands(self.run(others))
        for name in "qkv":
            gap: Array = np.abs(after[name] - base[name]).max(axis=(1, 2))
            moved = np.asarray(gap > self.noise * np.abs(base[name]).max())
            first = self._batch_first(moved)
            self.layouts[name] = (first, *self._inner_heads(name, arrays, base[name]))
        if not np.abs(after["q"] - base["q"]).max() > self.noise:  # learned: they tell no order
            self.layouts["q"] = (self.layouts["k"][0], *self.layouts["q"][1:])
        self._arrange_weights(base)
        queries, keys = (self.headed(x, base[x]).shape[2] for x in "qk")
        learned_queries = not (np.abs(after["q"] - base["q"]).max() > self.noise)
        fits = queries in (1, *self.lengths) or learned_queries
        if keys < min(self.lengths) or not fits:
            self.is_apart = keys > 1 and self._keeps_words_apart(arrays, run.output)
            return False  # products of other things than words
        forms = list(forms_of(run.output.shape, self.batch, queries))
        taken = [x for x in self.forms[0] if isinstance(x, str)]
        same = [f for f in forms if [x for x in f if isinstance(x, str)] == taken]
        self.out_form = next(iter(same or forms), None)
        return True

    def _stands_better(self, run: Run, raw: dict[str, Array]) -> bool:
        """Whether the scores fit the weights better with heads as the last axis of such rows."""
        self.found.heads_last = True
        other = self.operands(run)
        gaps = [misfit(x["w"], x["q"] @ x["k"].swapaxes(1, 2)) for x in (raw, other)]
        return gaps[1] < gaps[0]

    def _keeps_words_apart(self, arrays: list[Array], before: Array) -> bool:
        """Whether another word in one place changes what comes back in that place alone."""
        sizes = self.batch, self.lengths[0]
        if len(arrays) > 1 or min(sizes) < 3 or any(before.shape.count(n) != 1 for n in sizes):
            return False
        others = [a.copy() for a in arrays]
        others[0][0, 2] = np.random.default_rng(6).standard_normal(others[0].shape[-1])
        moved = np.abs(self.run(others).output - before) > self.noise * np.abs(before).max()
        found = np.argwhere(moved)[:, [before.shape.index(n) for n in sizes]]
        return bool(len(found)) and bool((found == (0, 2)).all())

    def _batch_first(self, moved: Array) -> bool:
        """Whether the rows of one sentence lie together, from those that moved with the first."""
        b, n = self.batch, len(moved)
        several = n // b
        if n % b or not moved.any() or several < 2 or b < 2 or moved.sum() != several:
            return True
        together = bool(moved.reshape(b, several)[0].all())
        if not together and not moved.reshape(several, b)[:, 0].all():
            raise ValueError("sentences in no usual order")
        return together

    def _arrange_weights(self, base: dict[str, Array]) -> None:
        """Find out where heads stand among the rows of the weights."""
        first, inner, last = self.layouts["q"]
        if inner < 2:
            return
        gaps = {}
        for words_last in (last, not last):
            self.layouts["w"] = (first, inner, words_last)
            q, k, w = (self.headed(x, base[x]) for x in "qkw")
            k = np.repeat(k, q.shape[1] // k.shape[1], axis=1)
            scores = q @ k.swapaxes(-1, -2)
            if scores.shape == w.shape:
                flat = (x.reshape(-1, *x.shape[-2:]) for x in (w, scores))
                gaps[words_last] = misfit(*flat)
        if gaps:
            self.layouts["w"] = (first, inner, min(gaps, key=lambda x: gaps[x]))

    def _inner_heads(self, name: str, arrays: list[Array], base: Array) -> tuple[int, bool]:
        """How many heads stand among the rows of an operand, and whether words come after them."""
        n, rows, _ = base.shape
        if rows in {*self.lengths, sum(self.lengths)} or n != self.batch:
            return 1, True
        others = [a.copy() for a in arrays]
        for a in others:  # a norm would take away the same number everywhere
            a[:, 0] += np.random.default_rng(8).standard_normal(a[:, 0].shape)
        gap: Array = np.abs(self.operands(self.run(others))[name] - base).max(axis=(0, 2))
        moved = np.asarray(gap > self.noise * np.abs(base).max())
        for t in self.lengths:
            inner = rows // t
            if rows % t or inner < 2:
                continue
            last: Array = moved.reshape(inner, t)
            first: Array = moved.reshape(t, inner)
            if last[:, 0].all() and not last[:, 1:].any():
                return inner, True
            if first[0].all() and not first[1:].any():
                return inner, False
        return 1, True


def _side_by_side(terms: list[tuple[Array, Array]], heads_last: bool) -> tuple[Array, Array]:
    """Queries and keys whose product is the sum of these; keys of all heads serve each of them."""
    most = max(len(left) for left, _ in terms)
    lefts, rights = [], []
    for left, right in terms:
        n, rows, width = left.shape
        if n < most:
            heads = most // n
            left = left.reshape(n, rows // heads, heads, width).swapaxes(1, 2) if heads_last else (
                left.reshape(n, heads, rows // heads, width)
            )  # fmt: skip
            left = left.reshape(most, rows // heads, width)
        lefts.append(left)
        rights.append(np.repeat(right.swapaxes(1, 2), most // n, axis=0))
    return np.concatenate(lefts, axis=-1), np.concatenate(rights, axis=-1)


def number_of_different(array_bhtd: Array) -> int:
    """How many heads differ: those that are repeated for several queries count once."""
    heads: list[Array] = []
    for head in array_bhtd.swapaxes(0, 1):
        if not any(np.array_equal(head, other) for other in heads):
            heads.append(head)
    return len(heads)


def _apart(fused: Fused) -> list[Array]:
    """Query, key, value, weights and sums of a fused attention."""
    q, k, v = (x if x.ndim > 3 else x[(None,) * (4 - x.ndim)] for x in fused.arrays)
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = q @ k.swapaxes(-1, -2) * (fused.scale or q.shape[-1] ** -0.5)
    if fused.mask is not None:
        hides = fused.mask.dtype == bool
        scores = np.where(fused.mask, scores, -np.inf) if hides else scores + fused.mask
    if fused.causal:
        scores = np.where(np.tril(np.ones(scores.shape[-2:], bool)), scores, -np.inf)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    w = e / e.sum(axis=-1, keepdims=True)
    return [x.reshape(-1, *x.shape[-2:]) for x in (q, k, v, w, w @ v)]


def subjects(
    instance: Any, tokens: int = TOKENS, example: Example | None = None
) -> Iterator[Subject]:
    """The ways to call an instance in which an attention is found; an ArgumentError for none."""
    layer = _torch_layer(instance)
    if example is not None:
        yield from _of_example(layer, example)
        return
    failed: dict[Any, int] = {}
    found, spare, apart = False, None, False
    ways = attempts(function_parameters(layer.called), layer, layer.widths or [WIDTH])
    for attempt, sizes in _with_sizes(list(islice(ways, MAX_WAYS))):
        if failed.get(attempt.key, 0) > MAX_FAILED:
            continue
        with contextlib.suppress(Exception):  # whatever the code raises with these arguments
            subject = _first_arranged(layer, attempt, tokens, sizes)
            if subject is not None and subject.is_apart:
                apart, subject = True, None
            if subject is not None and subject.out_form is not None:
                found = True
                yield subject
                continue
            spare = spare or subject
        failed[attempt.key] = failed.get(attempt.key, 0) + 1
        if found and sizes:
            break
    if spare is not None and not found:  # its output has no place for words
        yield spare
    elif not found:
        raise WordsApartError if apart else ArgumentError("no attention was found in any call")


class WordsApartError(Exception):
    """In every call that shows products of weights and values, no word sees another."""


def _with_sizes(ways: list[Attempt]) -> Iterator[tuple[Attempt, list[tuple[int, ...]]]]:
    """Every way with the usual numbers of words, then the first ones with those of windows."""
    for attempt in ways:
        yield attempt, []
    for attempt in ways[:MAX_SIZED_WAYS]:
        yield attempt, [(n,) * len(attempt.names) for n in SIZES_OF_WINDOWS]


def _of_example(layer: Layer, example: Example) -> Iterator[Subject]:
    """The ways to vary an example call in which an attention is found: axes had to be guessed."""
    found, most = False, 0
    for attempt, batch, lengths in example.attempts(layer):
        most = max(most, len(attempt.names))
        if found and len(attempt.names) < most:
            return  # with one of its arrays alone only where all of them show nothing
        subject = _first_arranged(layer, attempt, lengths[0], [lengths], batch)
        if subject is not None and not subject.is_apart:
            subject.masks = example.masks(layer)
            subject.cached = example.cached(layer, subject.names)
            found = True
            yield replace(subject, invented=("axes",))
    if not found:
        raise ArgumentError("no attention was found in the example call")


def _torch_layer(instance: Any) -> Layer:
    layer = as_layer(instance)
    if layer is None and callable(instance):
        layer = Layer(instance, instance, instance, "torch", "float64")
    if layer is None or layer.library != "torch":
        raise ArgumentError("it takes no PyTorch tensors")
    return layer


def _first_arranged(
    layer: Layer,
    attempt: Attempt,
    tokens: int,
    sizes: Iterable[tuple[int, ...]] = (),
    batch: int = BATCH,
) -> Subject | None:
    """The subject of an attempt with the first lengths in which its attention is found."""
    import torch

    fixed = attempt.settled(layer)
    module: Any = layer.exact
    params: dict[str, Any] = dict(module.named_parameters()) if layer.parameters else {}
    unused, invented = [], list(attempt.masks)
    for name, make in list(fixed.items()):
        value = make(2, tokens)
        matrix = bool(re.search(MATRIX_NAME, name.lower()))
        if matrix and isinstance(value, np.ndarray) and value.dtype.kind == "f":
            params[name] = torch.from_numpy(np.array(value, np.float64))
            fixed[name] = _constant(params[name])
        elif matrix and value is None:
            unused.append(name)
        else:
            invented.append(name)
    bound = Binding(layer.called, attempt.names, attempt.forms, fixed | attempt.masks)
    call = binder(layer, bound)
    for lengths in sizes or _lengths(len(attempt.names), tokens):
        one = Subject(layer, attempt.names, attempt.forms, call, params, lengths,
                      batch if "b" in attempt.forms[0] else 1, tuple(unused),
                      tuple(invented))  # fmt: skip
        made = {name: make(one.batch, lengths[0]) for name, make in fixed.items()}
        one.pairs = {n: x for n, x in made.items() if _is_of_pairs(x, lengths[0])}
        with contextlib.suppress(Exception):
            if one.arrange() and np.isfinite(one.see(one.draw(1)).output).all():
                return one
            if one.is_apart:
                return one
    return None


def _is_of_pairs(value: Any, tokens: int) -> bool:
    """Whether an array has a vector for each two words."""
    return isinstance(value, np.ndarray) and value.ndim > 2 and value.shape[-3:-1] == (tokens,) * 2


def _constant(value: Any) -> Callable[[int, int], Any]:
    return lambda b, t: value


def binder(layer: Layer, bound: Binding) -> Callable[..., Callable[..., Any]]:
    """A maker of functions of tensors alone, from the arrays of a call and its options."""
    import torch

    def call(arrays: list[Array], options: dict[str, Any]) -> Callable[..., Any]:
        tensors = [torch.from_numpy(a) for a in arrays]
        return replace(bound, options=options).bind(layer.exact, tensors, "torch")

    return call


def _lengths(count: int, tokens: int) -> Iterator[tuple[int, ...]]:
    """Numbers of words of so many arrays: other ones for contexts, then equal ones."""
    longer = tokens + LONGER
    yield (tokens, *[longer] * (count - 1))
    if count > 1:
        yield (tokens,) * count
    if count > 3:
        yield (tokens, longer, longer, *[tokens] * (count - 3))

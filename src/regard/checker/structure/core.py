"""Stage 5: how scores become weights: scale, bias, cap, what is hidden, what rows sum to."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from regard.checker.adapters import native
from regard.checker.reading import centred
from regard.checker.signatures import ROLE_BY_NAME, function_parameters
from regard.checker.structure.names import (
    SCALES,
    WINDOWS,
    documentation,
    modules,
    numbers,
    says_causal,
    windows,
)
from regard.checker.structure.parameters import added
from regard.checker.structure.study import EXACT, Study
from regard.checker.structure.subject import Seen
from regard.typing import Array

HIDDEN = 1e-290  # a weight below it belongs to a hidden key, and not to a small score
LEARNED_KEYS = r"null|mem|register|sink|bias_k|token|latent|learn|prompt|prefix"
CAPS = (5, 10, 15, 20, 25, 30, 40, 50, 100)
ASKED_WINDOW = 3
HANDED_PLACES = r"pos|rel|emb"
PLACES = r"pos|offset|start|step|index"
LARGE_SCORES = 3000.0
SMALL = 1e-2  # words whose scores no cap changes
LEAST_MASK = 4.5  # that is taken from a score in order to hide a key
LOOSEST = 1e-5
SAYS_SCALED = r"scaled|sqrt|√|square root"
SAYS_WIDTH_OF_HEAD = r"(sqrt|√)\W*(d_?k|d_?h|d_head|head_dim|dim_head|head_width)"


@dataclass(frozen=True)
class Core:
    """Several calls as one: scores before any scaling, weights, and which keys are seen."""

    looks: list[Seen]
    raw: Array
    weights: Array

    @property
    def seen(self) -> Array:
        return np.asarray(self.weights > HIDDEN)

    @property
    def logs(self) -> Array:
        return centred(np.log(np.where(self.seen, self.weights, 1)), self.seen)

    @property
    def scores(self) -> Array:
        return centred(self.raw, self.seen)


def ask_core(study: Study) -> None:
    """Compare log weights with queries times keys; again with other lengths."""
    lengths = study.subject.lengths
    _ask(study, lengths)
    _ask_pairs(study)
    before = len(study.faults)
    others = {tuple(n + 5 for n in lengths), (lengths[0],) * len(lengths)} - {lengths}
    for other in others if not before else ():
        said = len(study.facts), len(study.differences), len(study.open)
        with contextlib.suppress(Exception):  # it may be made for one length
            _ask(study, other)
        del study.facts[said[0] :], study.differences[said[1] :], study.open[said[2] :]
    with contextlib.suppress(ValueError, RuntimeError):
        _ask_large(study)
    if not before:
        with contextlib.suppress(ValueError, RuntimeError, IndexError):
            _ask_windows(study)


def _ask_pairs(study: Study) -> None:
    """Whether what an array of pairs adds to a score is read from the place of query and key."""
    query, key = 4, 2
    before = study.base.weights
    for name, pairs in study.subject.pairs.items():
        other = pairs.copy()
        other[..., query, key, :] += np.random.default_rng(3).standard_normal(pairs.shape[-1])
        study.subject.options = {name: native(other, study.subject.layer.library, "float64")}
        try:
            after = study.see(study.arrays).weights
        finally:
            study.subject.options = {}
        rows = np.flatnonzero(study.moved_along(after, before, 0, 1, 3))
        if not rows.size:
            continue
        gap = np.log(after[0, 0, rows[0]] / before[0, 0, rows[0]])
        found = int(rows[0]), int(np.abs(gap - np.median(gap)).argmax())
        if found == (key, query):
            study.fault("pairs of words exchanged", f"{name}[{query}, {key}] moves score {found}")
        elif rows.size > 1 or found != (query, key):
            study.open.append(f"what {name} adds to the scores was not told")


def read_core(study: Study, lengths: tuple[int, ...], size: float = 1.0) -> Core:
    """Three calls with other words of these lengths."""
    drawn = [study.subject.draw(seed, lengths) for seed in (20, 21, 22)]
    looks = [study.see([size * a for a in arrays]) for arrays in drawn]
    raw = np.concatenate([x.q @ x.k.swapaxes(-1, -2) for x in looks])
    return Core(looks, raw, np.concatenate([x.weights for x in looks]))


def _ask(study: Study, lengths: tuple[int, ...]) -> None:
    core = read_core(study, lengths)
    if core.weights.shape != core.raw.shape:
        study.open.append(f"weights {core.weights.shape} for scores {core.raw.shape}")
        return
    softmax = _softmax_of(core)
    allowed = 1e-6 if study.exact > EXACT else 1e-12
    if softmax is not None and not _same_numbers(softmax, core.weights, allowed):
        mixed = _after_softmax(study, core, softmax)
        if mixed is None:
            return
        core = mixed
    rows = core.weights.sum(axis=-1)
    if not np.allclose(rows[core.seen.any(axis=-1)], 1, atol=1e-6):  # others may see nothing
        summed = _odd_sums(study, core, rows)
        if summed is None:
            return
        core = summed
    _pattern(study, core.seen)
    _fit(study, core)


def _same_numbers(one: Array, other: Array, allowed: float) -> bool:
    same = one.size == other.size
    return same and bool(np.allclose(np.sort(one.ravel()), np.sort(other.ravel()), atol=allowed))


def _softmax_of(core: Core) -> Array | None:
    """What the only softmax of a call gave, where it has the shape of the weights."""
    made = []
    for look in core.looks:
        soft = [n for n in look.run.nodes if n.op in ("_softmax", "_safe_softmax") and n.level == 1]
        values = [n.value for n in soft]
        if len(values) != 1 or values[0].shape != look.weights.shape:
            return None
        made.append(values[0])
    return np.concatenate(made)


def _after_softmax(study: Study, core: Core, softmax: Array) -> Core | None:
    """The core with the weights of its softmax, where heads are mixed after it; None: a fault."""
    late = {u.param for u in study.units if u.sums and not u.roles and not u.moved["v"].any()}
    mixing = sorted(name for name in late if study.subject.params[name].ndim >= 2)
    if mixing:
        study.differ("mixed", f"heads are mixed after the softmax ({', '.join(mixing)})")
        return Core(core.looks, core.raw, softmax)
    if np.allclose(core.weights.sum(axis=-1), 1, atol=1e-6):
        hidden = (core.weights <= HIDDEN) & (softmax > HIDDEN)
        if hidden.any():
            study.open.append("keys are left out after the softmax, and the rest sums to one")
            return None
    detail = "what meets the values is not what the softmax gave"
    study.fault("weights changed after the softmax", detail)
    _pattern(study, core.seen)
    return None


def _odd_sums(study: Study, core: Core, rows: Array) -> Core | None:
    """The core of weights whose rows do not sum to one, where that is meant; None: a fault."""
    columns = core.weights.sum(axis=-2)
    if np.allclose(columns, 1, atol=1e-6) and core.weights.shape[-1] > 1:
        detail = "the weights of a key sum to 1, not those of a query"
        study.fault("softmax over queries", detail)
        return None
    if not core.looks[0].run.nodes:
        study.open.append("the weights do not sum to one where they meet the values")
        return None
    if _is_divided_later(core.looks[0]):
        study.is_divided_later = True
        return Core(core.looks, core.raw, core.weights / rows[..., None])
    if _has_sink(study, core, rows):
        return core
    detail = f"the rows sum to {rows.min():.3g} ... {rows.max():.3g}"
    study.fault("weights do not sum to 1", detail)
    return None


def _is_divided_later(look: Seen) -> bool:
    """Whether a later result is the sums divided by the sums of the weights."""
    meant = np.sort((look.sums / look.weights.sum(axis=-1)[..., None]).ravel())
    later = [
        node
        for node in look.run.nodes
        if node.level == 2 and node.op == "div" and node.tensor.numel() == meant.size
    ]
    return any(np.allclose(np.sort(node.value.ravel()), meant, rtol=1e-6) for node in later)


def _has_sink(study: Study, core: Core, rows: Array) -> bool:
    """Whether what is missing from 1 is the share of one more score, the same for all queries."""
    share = (1 - rows) / rows
    if (share <= 0).any():
        return False
    for factor in (slopes(core), np.float64(study.base.q.shape[-1] ** -0.5)):
        if factor is None:
            continue
        scores = np.where(core.seen, core.raw * np.reshape(factor, (-1, 1, 1)), -np.inf)
        top = scores.max(axis=-1)
        sink = np.log(share) + top + np.log(np.exp(scores - top[..., None]).sum(axis=-1))
        spread = np.abs(sink - sink.mean(axis=(0, 2), keepdims=True)).max()
        if spread < max(1e-5, study.exact):
            learned = study.learned_in_scores()
            text = f"a sink ({', '.join(learned)})" if learned else "one is added to the sum"
            study.differ("sink", f"softmax with {text}")
            return True
    return False


def slopes(core: Core) -> Array | None:
    """The factor of each head between scores and log weights, from changes of the words."""
    log, score = core.logs, core.scores
    log, score = log - log.mean(axis=0), score - score.mean(axis=0)
    spread = (score**2).sum(axis=(0, 2, 3))
    if (spread < 1e-20).any():
        return None
    made: Array = (log * score).sum(axis=(0, 2, 3)) / spread
    return made


def _fit(study: Study, core: Core) -> None:
    factor = slopes(core)
    if factor is None:
        study.open.append("scores do not change with the words")
        return
    rest = core.logs - factor[:, None, None] * core.scores
    bias = rest.mean(axis=0)
    size = max(float(np.abs(core.logs).max()), 1e-6)
    if np.abs(rest - bias).max() > study.exact * size:
        explained = _is_capped(study, core) or _has_mixed_heads(study, core)
        if not explained and not _has_learned_term(study):
            study.open.append("scores are no multiple of query times key")
        return
    if "after" in study.normed.values():
        study.facts.append(f"scale {factor.mean():.4g} of normalised query and key")
    else:
        _scale(study, factor)
    if np.abs(bias).max() > study.exact * size:
        _bias(study, bias, core.seen[0])


def _scale(study: Study, factor: Array) -> None:
    layer, width = study.subject.layer, study.base.q.shape[-1]
    handed = [*function_parameters(layer.called), *_constructor(layer.exact)]
    if {"scale", "temperature"} & {ROLE_BY_NAME.get(p.name.lower()) for p in handed}:
        study.facts.append("a scale that is handed in")
        return
    factors = [layer_factor(study, role) for role in "qk"]
    if factors[0] is None or factors[1] is None:
        study.facts.append("scale not told: query and key come from no matrices")
        return
    total = factor * factors[0] * factors[1]
    few = [
        n for n in study.learned_in_scores() if prod(study.subject.params[n].shape) <= len(factor)
    ]
    if np.allclose(total, width**-0.5, rtol=1e-4):
        study.facts.append(f"scale 1/√{width}")
    elif few:
        study.differ("scale", f"a learned scale ({', '.join(few)})")
    else:
        _other_scale(study, float(total.mean()), width)


def _other_scale(study: Study, total: float, width: int) -> None:
    """A scale that is not that of the textbook: a choice, unless the code itself says otherwise."""
    model = study.subject.widths[0]
    known = {
        1.0: f"scores are not divided by √{width}",
        1 / width: f"scores are divided by {width} instead of √{width}",
        model**-0.5: f"scores are divided by √{model}, the width of the words, not by √{width}",
        width**0.5: f"scores are multiplied by √{width}",
        width**-0.25: f"scores are divided by the fourth root of {width}",
        width**-1.5: f"scores are divided by √{width} three times",
    }
    other = f"scores are multiplied by {total:.4g}; 1/√{width} is {width**-0.5:.4g}"
    text = next((x for n, x in known.items() if np.isclose(total, n, rtol=1e-4)), other)
    said = documentation(study.subject.layer.exact)
    unscaled = np.isclose(total, 1.0, rtol=1e-4)
    contradicts = re.search(SAYS_SCALED if unscaled else SAYS_WIDTH_OF_HEAD, said)
    if np.isclose(total, 1 / width, rtol=1e-4):
        contradicts = re.search(SAYS_WIDTH_OF_HEAD + r"|scaled dot.product", said)
    if contradicts and not re.search(r"unscaled|not scaled|no scal|without scal", said):
        study.fault("a scale that contradicts its docstring", text)
    elif _has_unused_scale(study):
        study.fault("a scale that is never used", text)
    else:
        study.differ("scale", text)


def _has_unused_scale(study: Study) -> bool:
    """Whether a number that is called a scale changes nothing."""
    before = study.base.output
    for module, name, value in list(numbers(study.subject.layer.exact)):
        if not re.search(SCALES, name.lower()) or value == 1:
            continue
        setattr(module, name, 1.7 * value)
        try:
            if np.array_equal(study.see(study.arrays).output, before):
                return True
        finally:
            setattr(module, name, value)
    return False


def parameters_of(study: Study) -> list[inspect.Parameter]:
    """The parameters of a call."""
    return function_parameters(study.subject.layer.called)


def _constructor(module: object) -> list[inspect.Parameter]:
    if not hasattr(module, "modules"):
        return []
    return list(inspect.signature(type(module).__init__).parameters.values())


def layer_factor(study: Study, role: str) -> float | None:
    """What its layer's numbers were multiplied with on the way to an operand."""
    names = [n for n in study.layers_of(role) if study.subject.params[n].ndim > 1]
    if not study.sources[role]:
        return 1.0
    if not study.base.run.nodes:
        return study.subject.traced_factor(role, study.base.run)
    if not names:
        return _factor_of_input(study, role)
    only = [n for n in names if all(set(u.roles) <= {role} for u in study.units_of(n))]
    params = study.subject.params
    name = max(only or names, key=lambda n: (prod(params[n].shape), names.index(n)))
    units = study.units_of(name)
    axis = study.role_axis(units)
    own = [u.index for u in units if u.axis == axis and u.roles == role]
    own = own or [u.index for u in units if u.axis == axis and role in u.roles]
    with study.subject.changed(**{name: added(axis, own, [5])}):
        after = study.see(study.arrays)
    heads: list[Array] = []
    for one in (after[role] - study.base[role]).swapaxes(0, 1):
        if not any(np.array_equal(one, other) for other in heads):
            heads.append(one)
    before = {node.index: node for node in study.base.run.nodes}
    for node in after.run.nodes:
        old = before.get(node.index)
        if old is None or node.operands is None or node.arrays is None:
            continue
        if node.tensor.shape != old.tensor.shape:
            continue
        if any(name in x.params and not x.sources for x in node.operands):
            made = node.value - old.value
            if np.abs(made).max() > 0:
                return float(np.linalg.norm(np.stack(heads)) / np.linalg.norm(made))
    return None


def _factor_of_input(study: Study, role: str) -> float | None:
    """Without layers an operand is an input times a number: what one more in one place gives."""
    i = min(study.sources[role])
    for feature in range(study.arrays[i].shape[-1]):
        arrays = [a.copy() for a in study.arrays]
        arrays[i][0, 0, feature] += 1
        moved = (study.see(arrays)[role] - study.base[role])[0]
        gap = float(np.linalg.norm(moved, axis=-1).max())  # a rotation keeps it
        if gap > 1e-6:
            return gap
    return None


def _is_capped(study: Study, core: Core) -> bool:
    """Whether scores go through a tanh: small ones, which it leaves as they are, show the scale."""
    small = read_core(study, study.subject.lengths, SMALL)
    late = _finite_mask(small.logs.mean(axis=0), core.seen[0])
    if late is not None:
        small = replace(small, weights=np.where(late, 0, small.weights))
    scale = slopes(small)
    if scale is None or small.logs.shape != core.logs.shape:
        return False
    own = [float(x) for _, _, x in numbers(study.subject.layer.exact) if x > 1]
    for cap in (*own, *CAPS):
        scores = cap * np.tanh(core.raw * scale[:, None, None] / cap)
        if late is not None:
            scores = np.where(late, -cap, scores)
        rest = core.logs - centred(scores, core.seen)
        if np.abs(rest - rest.mean(axis=0)).max() < study.exact * np.abs(core.logs).max():
            if late is not None:
                study.fault("softcap after the mask", f"hidden keys have the score {-cap:g}")
            study.differ("cap", f"scores are capped at {cap:g} by tanh")
            _scale(study, scale)
            return True
    return False


def _finite_mask(bias: Array, seen: Array) -> Array | None:
    """Where a number of one size is taken from the scores, as by a mask that is too weak."""
    below = np.where(seen, bias.max(axis=-1, keepdims=True) - bias, 0)
    size = float(below.max())
    taken = below > size / 2
    if size < LEAST_MASK or taken[seen].all() or below[~taken].max() > 0.01 * size:
        return None
    return taken if np.allclose(below[taken], size, rtol=0.01) else None


def _has_learned_term(study: Study) -> bool:
    """Whether scores are query times key where the parameters of another term are zero."""
    names = study.learned_in_scores()
    if not names:
        return False
    with study.subject.changed(**{name: lambda x: 0 * x for name in names}):
        core = read_core(study, study.subject.lengths)
    factor = slopes(core)
    if factor is None:
        return False
    rest = core.logs - factor[:, None, None] * core.scores
    if np.abs(rest - rest.mean(axis=0)).max() > study.exact * np.abs(core.logs).max():
        return False
    _scale(study, factor)
    found = _of_distance(study)
    if found is None:
        study.differ("term", f"a learned term is added to the scores ({', '.join(names)})")
        study.open.append("what the learned term of the scores is was not told")
        return True
    study.differ("term", f"a learned term of the distance is added ({', '.join(names)})")
    if not found:
        detail = "with more words, the same distance gets another term"
        study.fault("relative positions that change with the length", detail)
    return True


def _of_distance(study: Study) -> bool | None:
    """Whether scores of one word everywhere depend on the distance alone, whatever the length.

    None where they depend on the places themselves.
    """
    names = study.subject.names
    if any(re.search(HANDED_PLACES, p.name) and p.name not in names for p in parameters_of(study)):
        return None  # which of its rows is which distance only the caller knows
    terms: dict[tuple[int, int], float] = {}
    same = True
    for more in (0, 3):
        lengths = tuple(n + more for n in study.subject.lengths)
        try:
            weights = study.see_one_word(41, lengths).weights[0]
        except Exception:  # whatever the code raises with other lengths than those it was given
            break
        logs = np.log(np.where(weights > HIDDEN, weights, np.nan))
        steps = logs[..., 1:] - logs[..., :-1]
        heads, q, k = steps.shape
        own: dict[tuple[int, int], float] = {}
        for head, i, j in np.ndindex(heads, q, k):
            distance = head, j - i - (k + 1 - q)
            if np.isfinite(steps[head, i, j]):
                known = own.setdefault(distance, float(steps[head, i, j]))
                if abs(known - steps[head, i, j]) > LOOSEST:
                    return None
        same = same and all(abs(terms.get(x, y) - y) < LOOSEST for x, y in own.items())
        terms |= own
    return same if terms else None


def _has_mixed_heads(study: Study, core: Core) -> bool:
    """Whether log weights are sums over the heads of scores: talking heads."""
    heads, learned = core.raw.shape[1], study.learned_in_scores()
    if heads < 2 or not learned:
        return False
    raw, seen = core.raw, core.seen
    each = np.stack([
        centred(np.broadcast_to(raw[:, g : g + 1], raw.shape), seen) for g in range(heads)
    ])  # fmt: skip
    for head in range(heads):
        x = each[:, :, head].reshape(heads, len(raw), -1)
        x = (x - x.mean(axis=1, keepdims=True)).reshape(heads, -1).T
        y = core.logs[:, head].reshape(len(raw), -1)
        y = (y - y.mean(axis=0)).ravel()
        fitted = x @ np.linalg.lstsq(x, y, rcond=None)[0]
        if np.abs(fitted - y).max() > max(1e-5, study.exact) * np.abs(y).max():
            return False
    study.differ("mixed", f"heads are mixed before the softmax ({', '.join(learned)})")
    return True


def _bias(study: Study, bias: Array, seen: Array) -> None:
    """What is added to the scores whatever the words are."""
    learned = study.learned_in_scores()
    q, k = bias.shape[-2:]
    gap = -np.abs(np.arange(k)[None] - np.arange(q)[:, None]).astype(float)
    line = centred(np.broadcast_to(gap, bias.shape), seen)
    slope = (line * bias).sum(axis=(1, 2)) / np.maximum((line**2).sum(axis=(1, 2)), 1e-30)
    rest = np.abs(slope[:, None, None] * line - bias).max()
    if learned:
        study.differ("bias", f"a learned bias is added to the scores ({', '.join(learned)})")
    elif rest < max(1e-5, study.exact) * np.abs(bias).max():
        if (slope > 0).all():
            study.differ("bias", "a bias that falls with the distance is added (ALiBi)")
        else:
            shown = ", ".join(f"{x:.3g}" for x in -slope)
            study.fault("bias by distance with the wrong sign", f"slopes {shown}")
    elif _finite_mask(bias, seen) is not None:
        detail = "what is hidden keeps a weight: the number added to its score is too small"
        study.fault("mask added as a small finite number", detail)
    else:
        study.differ("bias", "a fixed bias is added to the scores")


def _without_learned_keys(study: Study, seen: Array) -> Array | None:
    """Which keys of words are seen; None with other lengths, where places are not known."""
    maps = study.maps["k"][0]
    learned = [j for j, words in enumerate(maps) if not words] if study.sources["k"] else []
    if not learned:
        return seen
    if seen.shape[-1] != len(maps):
        return None
    if _come_from_a_cache(study, learned):
        _cache(study, seen, learned)
    elif any(re.search(LEARNED_KEYS, name.lower()) for name in study.subject.params):
        study.differ("learned keys", f"{len(learned)} learned keys")
    else:
        study.open.append("keys that are handed in, such as those of a cache, are not varied")
    return np.delete(seen, learned, axis=-1)


def _come_from_a_cache(study: Study, rows: list[int]) -> bool:
    """Whether the numbers of these keys were handed in."""
    keys = study.base.k[:, :, rows].round(9)
    arrays = [x for parts in study.subject.cached.values() for x in parts]
    return any(np.isin(keys, x.round(9)).all() for x in arrays)


def _cache(study: Study, seen: Array, rows: list[int]) -> None:
    """Keys of earlier calls are seen by all new words, whose places come after them."""
    study.differ("cache", f"{len(rows)} keys of earlier calls")
    if not seen[..., rows].all():
        detail = "a new word does not see all keys of earlier calls"
        study.fault("causal mask at the wrong corner", detail)
    placed = any(re.search(PLACES, p.name.lower()) for p in parameters_of(study))
    turned = study.has("rotary") or study.base.run.angles("cos").size
    if not turned or placed:
        return
    library = study.subject.layer.library
    for name, parts in study.subject.cached.items():
        less = [native(_without_last(x, len(rows)), library, "float64") for x in parts]
        study.subject.options[name] = tuple(less) if len(less) > 1 else less[0]
    try:
        moved = study.moved(study.see(study.arrays).q, study.base.q).any()
    finally:
        study.subject.options = {}
    if not moved:
        detail = "queries are turned alike however many words came before"
        study.fault("positions start again after the cache", detail)


def _without_last(array: Array, words: int) -> Array:
    """A cache of so many words without the last of them."""
    axis = next((i for i in (2, 1, 0) if array.shape[i] == words), 2)
    return np.delete(array, -1, axis=axis)


def _pattern(study: Study, seen: Array) -> None:
    """What may be seen, by the places alone."""
    words = _without_learned_keys(study, seen)
    if words is None:
        return
    seen = words
    batch = study.subject.batch
    if study.subject.masks:
        _masks(study, seen)
        return
    if (seen.reshape(-1, batch, *seen.shape[1:]) != seen[:batch]).any():
        study.open.append("what is hidden depends on the words")
        return
    if (seen != seen[:1]).any():
        return  # a mask of each sentence was handed in
    seen = seen[0]
    q, k = seen.shape[-2:]
    roles = {ROLE_BY_NAME.get(p.name.lower()) for p in parameters_of(study)}
    causal = "causal" not in roles and says_causal(study.subject.layer.exact)
    if seen.all():
        study.facts.append("every word sees every key")
        if causal and q > 1:
            study.fault("causal mask ignored", "it is causal by its name, and nothing is hidden")
        return
    last = q < k and bool(seen[0, -1].all()) and not seen[0, 0].all()
    distance = np.arange(q)[:, None] - np.arange(k)[None] + (k - q if last else 0)
    shown = [sorted({int(x) for x in distance[head]}) for head in seen]
    if not all(
        (np.isin(distance, one) == head).all() for one, head in zip(shown, seen, strict=True)
    ):
        blocks = _block_size(seen[0]) if (seen == seen[0]).all() else 0
        if (seen[0, 1:] == (distance[1:] > 0)).all():  # its first word has to see something
            study.fault("causal mask off by one: does not see itself")
            return
        if study.sources["q"] == study.sources["k"]:
            text = f"blocks of {blocks} words" if blocks else "a pattern of its own"
            study.differ("pattern", f"words see {text}")
    elif any(one != shown[0] for one in shown):
        study.differ("pattern", "heads with different windows")
    else:
        _distances(study, shown[0], k if last else q, causal)


def _masks(study: Study, seen: Array) -> None:
    """Whether what is hidden is what the masks of an example hide, and what True means in them."""
    for name, mask in study.subject.masks.items():
        own = seen[: study.subject.batch]
        read = next((how for how, visible in _readings(mask, own) if _shows(visible, own)), "")
        if read:
            study.facts.append(f"`{name}`: {read}")
        else:
            study.open.append(f"what {name} hides is not what it says, in any usual meaning")


def _readings(mask: Array, seen: Array) -> Iterator[tuple[str, Array]]:
    """What a mask may mean, and the keys (b, h, q, k) that are visible then."""
    if mask.ndim == 1 and mask.dtype != bool and (mask > 1).any():
        yield "so many keys", (np.arange(seen.shape[-1]) < mask[:, None])[:, None, None]
        return
    true = mask if mask.dtype == bool else mask >= 0.5
    meanings = [("True may look", true), ("True hides", ~true)]
    if mask.dtype != bool and (mask < 0).any():
        meanings = [("0 and -inf, added", mask > -1)]
    for how, visible in meanings:
        if visible.ndim == 2 and visible.shape[0] == len(seen):
            yield how, visible[:, None, None]
        if visible.ndim == 3 and visible.shape[0] == len(seen):
            yield how, visible[:, None]
        if visible.ndim in (2, 4):
            yield how, visible


def _shows(visible: Array, seen: Array) -> bool:
    try:
        return bool((np.broadcast_to(visible, seen.shape) == seen).all())
    except ValueError:  # its axes are others
        return False


def _distances(study: Study, shown: list[int], queries: int, causal: bool) -> None:
    """What a set of visible distances is called."""
    first, last = shown[0], shown[-1]
    if shown == list(range(queries)):
        study.facts.append("causal")
    elif first == 0 and shown == list(range(last + 1)):
        study.facts.append("causal")
        study.differ("window", f"a window of {last + 1} keys, itself included")
        _compare_window(study, last + 1, causal=True)
    elif shown == list(range(-last, last + 1)):
        study.differ("window", f"a window of {last} keys to each side")
        if causal:
            study.fault("causal mask ignored", "it is causal by its name, and sees later words")
        _compare_window(study, last, causal=False)
    elif first == 1:
        study.fault("causal mask off by one: does not see itself")
    elif first == -1:
        study.fault("causal mask off by one: sees the next word")
    elif last <= 0:
        study.fault("causal mask transposed", "a word sees what comes after it")
    else:
        study.differ("pattern", f"a word sees the distances {shown}")


def _compare_window(study: Study, keys: int, causal: bool) -> None:
    for name, number in windows(study.subject.layer.exact):
        allowed = {number} if causal else {number, number // 2, (number - 1) // 2, number - 1}
        if keys not in allowed:
            where = "with itself" if causal else "to each side"
            detail = f"{name} is {number}, and a word sees {keys} keys {where}"
            study.fault("window of another size", detail)
        return


def _block_size(seen: Array) -> int:
    q, k = seen.shape
    for size in range(2, q if q == k else 0):
        blocks = np.arange(q) // size
        if (seen == (blocks[:, None] == blocks)).all():
            return size
    return 0


def _ask_windows(study: Study) -> None:
    """Windows that are attributes or arguments, with other numbers than they have."""
    subject = study.subject
    arrays = subject.draw(0, (subject.lengths[0],) * len(subject.lengths))
    before = study.see(arrays).weights > HIDDEN
    for _, module in modules(subject.layer.exact):
        for name, number in list(vars(module).items()):
            is_number = isinstance(number, int) and not isinstance(number, bool)
            if (is_number or number is None) and re.search(WINDOWS, name.lower()):
                setattr(module, name, ASKED_WINDOW)
                try:
                    _compare_asked(study, f"{name} = {ASKED_WINDOW}", arrays, before)
                finally:
                    setattr(module, name, number)
    others = [p.name for p in function_parameters(subject.layer.called)]
    others = [name for name in others if name not in subject.names]
    order = {name: True for name in others if ROLE_BY_NAME.get(name.lower()) == "causal"}
    for name in others:
        if re.search(WINDOWS, name.lower()):
            for number, keys in ((3, 3), (2, 2), ((3, 0), 4)):  # a pair: before and after
                subject.options = {**order, name: number}
                try:
                    _compare_asked(study, f"{name}={number}", arrays, before, keys)
                finally:
                    subject.options = {}


def _compare_asked(
    study: Study, what: str, arrays: list[Array], before: Array, meant: int = ASKED_WINDOW
) -> None:
    try:
        seen = study.see(arrays).weights > HIDDEN
    except Exception:  # no such number is taken there
        return
    if seen.shape != before.shape or (seen == before).all():
        return
    one = seen[0, 0]
    queries, keys = one.shape
    if queries != keys:
        return
    distance = np.arange(queries)[:, None] - np.arange(keys)[None]
    shown = sorted({int(x) for x in distance[one]})
    if not one[-1, -1]:
        study.fault("window of another size", f"{what}: the last word does not see itself")
    if (np.isin(distance, shown) == one).all() and shown[0] == 0 and shown[-1] + 1 != meant:
        detail = f"{what}: a word sees {shown[-1] + 1} keys with itself"
        study.fault("window of another size", detail)


def _ask_large(study: Study) -> None:
    """Scores beyond what exp can take."""
    seen = study.see([a * 100 for a in study.subject.draw(30)])
    largest = np.abs(seen.q @ seen.k.swapaxes(-1, -2)).max()
    if largest > LARGE_SCORES and not np.isfinite(seen.output).all():
        study.differ("maximum", "no maximum is subtracted: large scores overflow")

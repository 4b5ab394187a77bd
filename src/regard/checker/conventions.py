"""Calling conventions: how a function takes a case and in which form it returns its results.

A convention has an order of axes (``layout``), a form and shape of masks, and a way in which
positions enter: rotary embeddings of both orders, or biases by distance.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from regard.checker.cases import Case, draw_projected, join_heads
from regard.checker.reading import Reading, form_text, pack
from regard.checker.signatures import ARRAYS, Roles
from regard.textbook.stages import Trace
from regard.typing import Array

DTYPES = ("float64", "float32", "float16", "bfloat16")
# The distance from 1 to the next number.
EPSILONS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
LAYOUTS = {
    "qkv": ("bhtd", "bthd", "btd", "thd", "tbd", "td", "bhdt", "tbhd", "bhtd shared"),
    "xw": ("btd", "td"),
}
AXES = {
    "bhtd": "(batch, head, token, feature)",
    "bthd": "(batch, token, head, feature)",
    "btd": "(batch, token, feature)",
    "bte": "(batch, token, head * feature)",
    "thd": "(token, head, feature)",
    "tbd": "(token, batch, feature)",
    "td": "(token, feature)",
    "bhdt": "(batch, head, feature, token)",
    "tbhd": "(token, batch, head, feature)",
    "bhtd shared": "(batch, head, token, feature), key and value (batch, token, feature)",
}
# The forms in which a mask of visible keys can be handed to a function, and its shapes: full, b1qk,
# bqk, qk, and for masks of keys alone b11k, b1k, bk, k.
MASK_FORMS = {
    "bool": "True may look",
    "added": "0 and -inf, added",
    "ones": "1 may look, 0 may not",
    "hides": "True hides",
    "ones hide": "1 hides, 0 does not",
}
# A window as a pair of sides, or as one number: of both sides, of words before with or without
# the word itself.
WINDOW_FORMS = ("pair", "both sides", "before", "before it")
KEY_MASK_SHAPES = ("b11k", "b1k", "bk", "k")
PAD_FORMS, PAD_SHAPES = ("hides", "bool", "ones", "added"), ("bk", "b11k", "b1k")
ROTARY_BASE = 10000.0
WIDE_WINDOW = 10**6
# Query and key rotated in different orders of features: never right.
MIXED_POSITIONS = ("rotary, pairs and halves", "rotary, halves and pairs")


@dataclass(frozen=True)
class CallingConvention:
    """A calling convention: the form of the arguments and of the results.

    ``queries_last``: without an offset, the queries are the last words. ``always_causal``: causal
    without being asked. ``position``: how positions enter. ``transposed_weights``: the matrices are
    (out, in). ``head_width``: the only head width that it takes, 0 for any. ``square_weights``: x
    is as wide as all heads together, so that the matrices are square. ``scale_divides``: its scale
    is a divisor. ``equal_lengths``: it is asked with as many queries as keys alone; with a context
    of its own, where there is a mask.
    ``gives_scores``: what it returns besides the output are scores, as it says, and no weights.
    """

    roles: Roles
    layout: str
    library: str = "numpy"
    dtype: str = "float64"
    mask_form: str = "bool"
    mask_shape: str = "full"
    pad_form: str = "hides"
    pad_shape: str = "bk"
    queries_last: bool = False
    always_causal: bool = False
    reading: Reading | None = None
    position: str = ""
    transposed_weights: bool = False
    head_width: int = 0
    square_weights: bool = False
    scale_divides: bool = False
    window_form: str = "pair"
    equal_lengths: bool = False
    gives_scores: bool = False

    @property
    def batched(self) -> bool:
        return "b" in self.layout if self.reading is None else self.reading.batched

    @property
    def separate(self) -> bool:
        """Whether query, key and value are handed in as they are."""
        return self.roles.form == "qkv"

    @property
    def takes_context(self) -> bool:
        """Whether it is a module whose queries and keys come from different arrays."""
        return self.reading is not None and self.reading.takes_context

    @property
    def headed(self) -> bool:
        several = self.reading is not None or self.roles.has("heads")
        return "h" in self.layout or self.layout == "bte" or (not self.separate and several)

    @property
    def rank(self) -> int:
        axes = self.layout.partition(" ")[0] if self.reading is None else self.reading.forms[0]
        return min(4, len(axes))

    @property
    def mask_meaning(self) -> tuple[str, str]:
        """What the numbers of a mask and of a padding mask say."""
        return self.mask_form, self.pad_form

    @property
    def mask_shapes(self) -> tuple[str, str]:
        return self.mask_shape, self.pad_shape

    @property
    def tokens_first(self) -> bool:
        axes = self.layout if self.reading is None else self.reading.forms[0]
        return tuple(axes[:2]) == ("t", "b")

    @property
    def axes(self) -> str:
        """The axes of the arrays in words."""
        if self.reading is None:
            return AXES[self.layout]
        return ", ".join(dict.fromkeys(form_text(form) for form in self.reading.forms))

    def axis(self, letter: str) -> int:
        """The axis of the output for sentences, "b", or for words, "t"."""
        return (self.layout if self.reading is None else self.reading.returns).index(letter)

    def fit(self, case: Case) -> Case | None:
        """The case as this convention can express it; None where it cannot."""
        heads, batch = case.query.shape[1], case.query.shape[0]
        unequal = case.query.shape[2] != case.key.shape[2]
        if self.equal_lengths and unequal and (case.is_masked or not self.takes_context):
            return None
        if case.key.shape[1] != heads and (not self.headed or self.roles.form != "qkv"):
            return None
        if self.layout == "bhtd shared":
            case = replace(case, key=case.key[:, :1], value=case.value[:, :1])
        if self.head_width and case.query.shape[-1] != self.head_width:
            return None
        if self.square_weights and case.query.shape[-1] != case.value.shape[-1]:
            return None
        if "rotary" in self.position and case.query.shape[-1] % 2:
            return None
        case = _first_of_batch(case, batch if self.batched else 1, heads if self.headed else 1)
        if not self.separate:
            projected = self._project(case)
            if projected is None:
                return None
            case = projected
        case = self._with_window(self._with_mask(case))
        causal = case.causal or self.always_causal
        ordered = (causal or case.window is not None) and not self.roles.has("offset")
        if ordered or self.always_causal:
            offset = case.key.shape[2] - case.query.shape[2] if self.queries_last else 0
            case = replace(case, causal=causal, offset=case.cached or offset)
        return self._with_positions(case)

    def _with_window(self, case: Case) -> Case:
        """The case with a window that this convention can express."""
        if case.window is None or self.window_form == "pair":
            return case
        return replace(case, window=(2, 2) if self.window_form == "both sides" else (2, 0))

    def _with_mask(self, case: Case) -> Case:
        """The case with a mask (b, h, q, k) that this convention can express."""
        mask = case.mask
        if mask is None and "mask" in self.roles.required:
            mask = np.ones((case.query.shape[2], case.key.shape[2]), bool)
        if mask is not None and mask.ndim == 2:
            shape = (*case.query.shape[:2],) if self.headed else (case.query.shape[0], 1)
            # Large scores in 16 bits leave no digits: there one mask serves all sentences.
            narrow = self.dtype in ("float16", "bfloat16") and self.mask_shape == "full"
            mask = expand_mask(mask, "qk" if narrow else self.mask_shape, shape)
        return replace(case, mask=mask)

    def _with_positions(self, case: Case) -> Case:
        if self.roles.has("slopes"):
            slopes = 0.5 ** np.arange(1, case.query.shape[1] + 1)
            bias = slope_bias(slopes, case.query.shape[2], case.key.shape[2], self.position)
            return replace(case, slopes=slopes, bias=bias)
        if "rotary" in self.position:
            query, key = self._rotated(case.query, case.key)
            return replace(case, query=query, key=key)
        return case

    def _rotated(self, query: Array, key: Array, back: bool = False) -> tuple[Array, Array]:
        """Query and key rotated by position; of a mixture each in its own order of features."""
        one, _, other = self.position.removeprefix("rotary, ").partition(" and ")
        return rotated(query, one, back), rotated(key, other or one, back)

    def _project(self, case: Case) -> Case | None:
        if self.reading is not None:
            return self._read(self.reading, case)
        if case.query.shape[2] != case.key.shape[2]:
            return None
        width = join_heads(case.query).shape[-1] if self.square_weights else 8
        return draw_projected(case, width=width)

    def _read(self, reading: Reading, case: Case) -> Case | None:
        """The case as a module makes it; of cached keys the queries are the last words."""
        cached = case.cached
        if not cached:
            return reading.project(case)
        if reading.takes_context:
            return None
        words = case.key.shape[2]
        whole = reading.project(replace(case, query=draw_like(case.query, words)))
        if whole is None:
            return None
        sources = tuple(array[:, cached:] for array in whole.sources)
        return replace(whole, query=whole.query[:, :, cached:], sources=sources)

    def arrays(self, case: Case) -> dict[str, Array]:
        if self.reading is not None:
            forms = zip(case.sources, self.reading.forms, strict=True)
            return dict(zip(self.roles.sources, (pack(x, form) for x, form in forms), strict=True))
        if self.separate:
            query, key = case.query, case.key
            if "rotary" in self.position:
                query, key = self._rotated(query, key, back=True)
            arrays = {"query": query, "key": key[:, :, case.cached :]}
            arrays["value"] = case.value[:, :, case.cached :]
            return {name: self.pack(array) for name, array in arrays.items()}
        x = case.sources[0]
        matrices = [m.T if self.transposed_weights else m for m in case.matrices]
        given = (x if self.batched else x[0], *matrices)
        return dict(zip(ARRAYS["xw"], given, strict=True))

    def options(self, case: Case) -> dict[str, Any]:
        made = self._scalar_options(case) | self._array_options(case)
        always = ("heads", "width", "model width", "w_output", "module", "slopes", "cos", "sin",
                  *self.roles.required)  # fmt: skip
        options = {role: made[role]() for role in self.roles.names}
        return {r: option for r, option in options.items() if r in always or option is not None}

    def _scalar_options(self, case: Case) -> dict[str, Callable[[], Any]]:
        (_, h, _, d), required = case.query.shape, self.roles.required
        return {
            "causal": lambda: case.causal and not self.always_causal,
            "scale": lambda: self._scale(case.scale or (d**-0.5 if "scale" in required else None)),
            "temperature": lambda: d**0.5,
            "offset": lambda: case.offset,
            "window": lambda: self._window(case),
            "softcap": lambda: case.softcap,
            "heads": lambda: h,
            "width": lambda: d,
            "model width": lambda: case.sources[0].shape[-1] if case.sources else h * d,
            "grouped": lambda: case.key.shape[1] != h,
            "dropout": lambda: 0.0 if "dropout" in required else None,
            "need weights": lambda: False if "need weights" in required else None,
            "training": lambda: False,
            "module": lambda: SimpleNamespace(
                num_key_value_groups=h // case.key.shape[1], training=False, layer_idx=0,
                head_dim=d, is_causal=False, config=SimpleNamespace(), scaling=d**-0.5,
                sliding_window=None,
            ),
        }  # fmt: skip

    def _array_options(self, case: Case) -> dict[str, Callable[[], Any]]:
        (_, h, _, d), lengths = case.query.shape, case.lengths
        return {
            "mask": lambda: None if case.mask is None else self._mask(case),
            "padding": lambda: self._padding(case),
            "lengths": lambda: lengths if self.batched or lengths is None else int(lengths[0]),
            "w_output": lambda: np.eye(h * case.value.shape[-1]),
            "query bias": lambda: np.zeros(h * d),
            "key bias": lambda: np.zeros(h * d),
            "value bias": lambda: np.zeros(h * case.value.shape[-1]),
            "output bias": lambda: np.zeros(h * case.value.shape[-1]),
            "slopes": lambda: case.slopes if case.slopes is not None else np.zeros(h),
            "cos": lambda: self._rotation(case)[0],
            "sin": lambda: self._rotation(case)[1],
            "past key": lambda: self._cache(case, case.key, "past key"),
            "past value": lambda: self._cache(case, case.value, "past value"),
            "past pair": lambda: (
                (self._cache(case, case.key, ""), self._cache(case, case.value, ""))
                if case.cached
                else None
            ),
        }

    def _scale(self, scale: float | None) -> float | None:
        return 1 / scale if scale and self.scale_divides else scale

    def _window(self, case: Case) -> Any:
        """The window as the function takes it; a required one that hides nothing is wide."""
        if case.window is None:
            if "window" not in self.roles.required:
                return None
            return (WIDE_WINDOW, WIDE_WINDOW) if self.window_form == "pair" else WIDE_WINDOW
        return {"pair": case.window, "before": 3}.get(self.window_form, 2)

    def _rotation(self, case: Case) -> tuple[Array, Array]:
        return rotation(case.key.shape[2], case.query.shape[-1], self.position)

    def _cache(self, case: Case, array_bhtd: Array, role: str) -> Array | None:
        """The keys of earlier calls; none, or no key where some array has to be handed in."""
        if not case.cached and role not in self.roles.required:
            return None
        kept = array_bhtd[:, :, : case.cached]
        return kept if self.reading is not None else self.pack(kept)

    def pack(self, array_bhtd: Array) -> Array:
        """An array (b, h, t, d) in the function's layout; any other shape is squeezed."""
        if array_bhtd.ndim != 4:
            return array_bhtd.squeeze()
        if self.layout == "bte" or not self.separate:
            joined = join_heads(array_bhtd)
            return joined if self.batched else joined[0]
        if self.layout == "bhdt":
            return array_bhtd.swapaxes(2, 3)
        if self.layout == "tbhd":
            return array_bhtd.transpose(2, 0, 1, 3)
        if self.layout == "bhtd shared":
            return array_bhtd[:, 0] if array_bhtd.shape[1] == 1 else array_bhtd
        if self.layout in ("bthd", "thd"):
            array_bhtd = array_bhtd.swapaxes(1, 2)
        elif not self.headed:
            array_bhtd = array_bhtd[:, 0]
        if self.layout == "tbd":
            return array_bhtd.swapaxes(0, 1)
        return array_bhtd if self.batched else array_bhtd[0]

    def expected(self, result: Trace, kinds: Collection[str] | None = None) -> dict[str, Array]:
        """The arrays that the function might return, by kind, in its shape; all, or these."""
        output = (self.reading.finish if self.reading else self.pack)(result.output)
        if result.weights.ndim != 4:
            return {"output": output}
        made = self._returned(result)
        chosen = made if kinds is None else [kind for kind in made if kind in kinds]
        return {"output": output, **{kind: made[kind]() for kind in chosen}}

    def _returned(self, result: Trace) -> dict[str, Callable[[], Array]]:
        """Makers of the arrays returned with the output, by kind, in the order of preference."""
        made = {} if self.gives_scores else {"weights": lambda: self._drop_axes(result.weights)}
        if self.layout == "bhtd":
            made["output, tokens first"] = lambda: result.output.swapaxes(1, 2)
            made["output, heads joined"] = lambda: join_heads(result.output)
        if self.headed:
            made["weights, mean over heads"] = lambda: self._without_batch(
                result.weights.mean(axis=1)
            )
        made["log-sum-exp"] = lambda: self._drop_axes(result.logsumexp)
        if self.layout == "bthd":
            made["log-sum-exp by token"] = lambda: result.logsumexp.swapaxes(1, 2)
        return made | {"received": lambda: self._drop_axes(result.received)}

    def _drop_axes(self, array_bhx: Array) -> Array:
        return self._without_batch(array_bhx if self.headed else array_bhx[:, 0])

    def _without_batch(self, array_bx: Array) -> Array:
        return array_bx if self.batched else array_bx[0]

    def _mask(self, case: Case) -> Array:
        mask = np.asarray(case.mask)
        if mask.dtype == bool:
            mask = mask_in_form(mask, self.mask_form)
        (b, h, q, _), k = case.query.shape, case.key.shape[2]
        return mask_in_shape(mask, self.mask_shape, (b, h, q, k), (self.batched, self.headed))

    def _padding(self, case: Case) -> Array | None:
        lengths, (b, _, k, _) = case.lengths, case.key.shape
        if lengths is None and "padding" not in self.roles.required:
            return None
        lengths = np.full(b, k) if lengths is None else np.asarray(lengths)
        real_bk = np.arange(k) < lengths[:, None]
        mask = mask_in_form(real_bk if self.batched else real_bk[0], self.pad_form)
        axes = {"b11k": (1, 2), "b1k": (1,)}.get(self.pad_shape, ())
        return np.expand_dims(mask, axes) if self.batched else mask


def draw_like(query_bhqd: Array, words: int) -> Array:
    """As many queries as words, of the size of these."""
    b, h, _, d = query_bhqd.shape
    return np.full((b, h, words, d), float(np.abs(query_bhqd).mean()))


def _first_of_batch(case: Case, batch: int, heads: int) -> Case:
    """The case cut to its first sentences and heads."""
    keys = case.key.shape[1] if heads > 1 or case.query.shape[1] == heads else 1
    return replace(
        case,
        query=case.query[:batch, :heads],
        key=case.key[:batch, :keys],
        value=case.value[:batch, :keys],
        lengths=None if case.lengths is None else np.asarray(case.lengths)[:batch],
    )


@lru_cache(maxsize=64)
def rotary_angles(tokens: int, width: int) -> Array:
    """The angle of every token and pair of features, (t, d / 2)."""
    frequency = ROTARY_BASE ** (-np.arange(0, width, 2) / width)
    angles = np.outer(np.arange(tokens), frequency)
    angles.flags.writeable = False  # one array serves many calls
    return angles


def rotation(tokens: int, width: int, position: str) -> tuple[Array, Array]:
    """cos and sin as a function takes them: (t, d) for halves, (t, d / 2) for pairs."""
    angles = rotary_angles(tokens, width)
    if position == "rotary, halves":
        angles = np.concatenate([angles, angles], axis=-1)
    if position == "no rotation":
        return np.ones((tokens, width)), np.zeros((tokens, width))
    return np.cos(angles), np.sin(angles)


def rotated(array_bhtd: Array, position: str, back: bool = False) -> Array:
    """Every token rotated by its position; ``back`` undoes it."""
    tokens, width = array_bhtd.shape[-2:]
    if width % 2:
        return array_bhtd
    angles = rotary_angles(tokens, width) * (-1 if back else 1)
    cos, sin = np.cos(angles), np.sin(angles)
    half = width // 2
    pairs = "pairs" in position
    first = array_bhtd[..., 0::2] if pairs else array_bhtd[..., :half]
    second = array_bhtd[..., 1::2] if pairs else array_bhtd[..., half:]
    one, other = first * cos - second * sin, second * cos + first * sin
    if pairs:
        return np.stack([one, other], axis=-1).reshape(array_bhtd.shape)
    return np.concatenate([one, other], axis=-1)


def slope_bias(slopes_h: Array, queries: int, keys: int, position: str) -> Array:
    """Bias (h, q, k) by distance: slope * (j - i), or minus slope times its size."""
    gap_qk = (np.arange(keys) - np.arange(queries)[:, None]).astype(np.float64)
    if position == "distance":
        gap_qk = -np.abs(gap_qk)
    return slopes_h[None, :, None, None] * gap_qk


def mask_in_form(visible: Array, form: str) -> Array:
    """A bool mask, True where a key is visible, in the form that a function takes."""
    if form == "added":
        return np.where(visible, 0.0, -np.inf)
    if form == "ones":
        return visible.astype(np.float64)
    if form == "ones hide":
        return 1.0 - visible
    return ~visible if form == "hides" else visible


def expand_mask(mask_qk: Array, shape: str, leading: tuple[int, int]) -> Array:
    """A mask (b or 1, h or 1, q or 1, k) that differs wherever the shape lets it.

    Every sentence and head gets the keys rolled further, so that a function that uses the first
    mask for all of them is found out.
    """
    batch, heads = leading
    if shape in KEY_MASK_SHAPES:
        rows = _rows_by_sentence(mask_qk, batch if "b" in shape else 1)
        return mask_qk[rows][:, None, None]
    if shape in ("qk", "qk11"):
        return mask_qk[None, None]
    heads = heads if shape == "full" else 1
    rolled = [[np.roll(mask_qk, 2 * b + h, axis=-1) for h in range(heads)] for b in range(batch)]
    return np.asarray(rolled)


def _rows_by_sentence(mask_qk: Array, batch: int) -> list[int]:
    """A row for each sentence; the last gets the empty row where there is one."""
    rows = [b % len(mask_qk) for b in range(batch)]
    empty = np.flatnonzero(~mask_qk.any(axis=-1))
    if mask_qk.dtype == bool and empty.size:
        rows[-1] = int(empty[0])
    return rows


def mask_in_shape(
    mask_bhqk: Array, shape: str, sizes: tuple[int, int, int, int], axes: tuple[bool, bool]
) -> Array:
    """The mask with the axes that a function takes; ``axes``: whether it has batch and heads."""
    b, h, q, k = sizes
    batched, headed = axes
    if shape == "full":
        leading = ((b,) if batched else ()) + ((h,) if headed else ())
        broadcast = np.broadcast_to(mask_bhqk, (b, h, q, k))
        return broadcast.reshape(*leading, q, k) if len(leading) < 2 else broadcast
    picked: dict[str, Any] = {"qk": (0, 0), "bqk": (slice(None), 0), "b1k": (slice(None), 0),
              "bk": (slice(None), 0, 0), "k": (0, 0, 0)}  # fmt: skip
    if shape in ("qkb1", "qkb", "qk11"):
        turned = mask_bhqk.transpose(2, 3, 0, 1)
        return turned[..., 0] if shape == "qkb" else turned
    return mask_bhqk[picked[shape]] if shape in picked else mask_bhqk


def mask_shapes(batched: bool, headed: bool, tokens_first: bool = False) -> tuple[str, ...]:
    """The shapes of masks to try, the most expressive first."""
    if tokens_first:
        return ("full", "qkb1", "qkb", "qk11", "b1qk", "bqk", "qk", "b11k", "bk")
    if not batched:
        return ("full", "qk", "k") if headed else ("full", "k")
    if headed:
        return ("full", "b1qk", "bqk", "qk", "b11k", "b1k", "bk")
    return ("full", "qk", "b1k", "bk")

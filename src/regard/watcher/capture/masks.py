"""Descriptions of the masks of a Hugging Face model: bands and padding instead of matrices.

The functions that make masks are followed while a model is watched. What they return goes to the
model as it is; their arguments say what it hides, so that facts need no matrix.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from regard.watcher.capture.modules import is_traced

if TYPE_CHECKING:
    import torch

Band = tuple[int | None, int | None]


@dataclass(frozen=True, eq=False)
class MaskSpec:
    """The mask of one forward as the arguments from which transformers made it.

    Queries have positions from ``query_start`` on, keys from ``key_start`` on. Where a model
    ``changed`` the mask that was made, as one with an indexer does, padding and positions are known
    from here, and what is hidden from the tensor itself.
    """

    arguments: dict[str, Any] = field(repr=False)
    changed: bool = False

    @property
    def shape(self) -> tuple[int, int, int, int]:
        a = self.arguments
        return (int(a["batch_size"]), 1, int(a["q_length"]), int(a["kv_length"]))

    @property
    def query_start(self) -> int:
        return int(self.arguments["q_offset"])

    @property
    def key_start(self) -> int:
        """The position of the first key; above 0 where a sliding cache dropped the oldest."""
        return int(self.arguments["kv_offset"])

    @cached_property
    def real_bk(self) -> NDArray[np.bool_] | None:
        """Unpadded positions (b, k) from position 0 on; None where nothing is padding."""
        padding = self.arguments.get("attention_mask")
        if padding is None:
            return None
        real_bk: NDArray[np.bool_] = padding.detach().cpu().numpy().astype(bool)
        return None if real_bk.all() else real_bk

    @cached_property
    def band(self) -> Band | None:
        """(left, right) as in ``window``; None where the rule is of another kind."""
        return mask_band(self.arguments["mask_function"])

    def as_kernel_computes(self, causal: bool) -> MaskSpec:
        """The description of what a kernel of torch hides that is given no mask.

        The one query of a decode step sees every key, and none is after it.
        """
        from transformers import masking_utils

        ordered = self.band is not None and self.band[1] == 0
        rule = masking_utils.bidirectional_mask_function
        if causal if self.shape[2] > 1 else ordered:
            rule = masking_utils.causal_mask_function
        return MaskSpec(self.arguments | {"mask_function": rule})

    def rule(self, sentence: int) -> Callable[[NDArray[np.intp], NDArray[np.intp]], Any]:
        """The mask function of one sentence for positions of queries and keys, as regard's mask."""
        import torch

        function = self.arguments["mask_function"]
        if self.arguments.get("use_vmap"):
            for axes in ((None, None, None, 0), (None, None, 0, None)):
                function = torch.vmap(function, in_dims=axes)

        def visible(query: NDArray[np.intp], key: NDArray[np.intp]) -> Any:
            rows, columns = torch.from_numpy(query), torch.from_numpy(key)
            if self.arguments.get("use_vmap"):
                rows, columns = rows[:, 0], columns[0]
            visible_qk = function(torch.tensor(sentence), torch.tensor(0), rows, columns)
            return visible_qk.expand(query.shape[0], key.shape[1]).numpy()

        return visible

    def dense(self) -> torch.Tensor:
        """The mask as a matrix of bool, (b, 1, q, k); True where a key is visible."""
        from transformers.masking_utils import sdpa_mask

        skips = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
        return cast("torch.Tensor", sdpa_mask(**self.arguments | skips))


MAX_REMEMBERED_MASKS = 8  # of a thread: a model has a few kinds of masks in a forward


class LatestMasks(threading.local):
    """The latest masks that transformers made on a thread, each with its description.

    A mask is held by a weak reference, and is None where it was left to a kernel.
    """

    def __init__(self) -> None:
        self._made: list[tuple[Any, MaskSpec]] = []

    def add(self, mask: Any, arguments: dict[str, Any]) -> None:
        # A cache of fixed size gives a tensor that it goes on counting with: its number now.
        starts = {name: int(arguments.get(name, 0)) for name in ("q_offset", "kv_offset")}
        reference = None if mask is None else weakref.ref(mask)
        entry = reference, MaskSpec(arguments | starts)
        self._made = [*self._made[1 - MAX_REMEMBERED_MASKS :], entry]

    def clear(self) -> None:
        self._made = []

    def described(self, mask: Any) -> MaskSpec | None:
        """The description of this very mask."""
        known = (spec for made, spec in reversed(self._made) if made and made() is mask)
        return next(known, None)

    def left_to_kernel(self, sentences: int, queries: int) -> list[MaskSpec]:
        """Descriptions of masks that are None, for so many sentences and queries."""
        return [
            spec
            for made, spec in self._made
            if made is None and spec.shape[:3] == (sentences, 1, queries)
        ]

    def of_sizes(self, sentences: int, queries: int, keys: int) -> MaskSpec | None:
        """The latest mask for so many queries and keys, which a model made its own from."""
        same = (x for _, x in reversed(self._made) if x.shape[2:] == (queries, keys))
        return next((x for x in same if sentences in (1, x.shape[0])), None)


latest_masks = LatestMasks()
_lock = threading.RLock()
_followers = 0
_replaced = ExitStack()


@contextmanager
def followed_masks() -> Iterator[None]:
    """Remember the arguments of every mask that transformers makes inside the block."""
    global _followers
    if "transformers" not in sys.modules:
        yield
        return
    with _lock:
        if not _followers:
            _follow()
        _followers += 1
    try:
        yield
    finally:
        with _lock:
            _followers -= 1
            if not _followers:
                _replaced.close()
                latest_masks.clear()


def _follow() -> None:
    from transformers import AttentionMaskInterface

    find = AttentionMaskInterface.__getitem__

    def followed(interface: Any, name: str) -> Callable[..., Any]:
        function = find(interface, name)

        @functools.wraps(function)
        def make(*arguments: Any, **keywords: Any) -> Any:
            mask = function(*arguments, **keywords)
            if not arguments and not is_traced():
                latest_masks.add(mask, keywords)
            return mask

        return make

    AttentionMaskInterface.__getitem__ = followed
    _replaced.callback(delattr, AttentionMaskInterface, "__getitem__")


def mask_band(function: Callable[..., Any]) -> Band | None:
    """Read a mask function of transformers as a band around each query, where it is one.

    The functions are recognised by name and closure: they have no other description.
    """
    name = getattr(function, "__qualname__", "")
    if name == "causal_mask_function":
        return (None, 0)
    if name == "bidirectional_mask_function":
        return (None, None)
    if name == "sliding_window_overlay.<locals>.inner_mask":
        return (_closure_value(function, "sliding_window") - 1, None)
    if name == "sliding_window_bidirectional_overlay.<locals>.inner_mask":
        reach = _closure_value(function, "sliding_window")
        return (reach, reach)
    if name == "and_masks.<locals>.and_mask":
        bands = [mask_band(part) for part in _closure_value(function, "mask_functions")]
        simple = [band for band in bands if band is not None]
        if len(simple) == len(bands):
            return _least(left for left, _ in simple), _least(right for _, right in simple)
    return None


def _closure_value(function: Callable[..., Any], name: str) -> Any:
    code: Any = function.__code__
    closure: Any = function.__closure__
    return closure[code.co_freevars.index(name)].cell_contents


def _least(values: Any) -> int | None:
    return min((value for value in values if value is not None), default=None)

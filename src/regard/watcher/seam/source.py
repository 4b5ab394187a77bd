"""The one source of attention in a torch program: which module runs, and what attends in it.

>>> torch = __import__("torch")
>>> attend = torch.nn.MultiheadAttention(8, 2, batch_first=True).eval()
>>> calls, x_bte = [], torch.ones(1, 3, 8)
>>> with AttentionSource(attend, calls.append).attached():
...     output, _ = attend(x_bte, x_bte, x_bte)
>>> calls[0].place.part, calls[0].shape
('encoder', (1, 2, 3, 3))
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

from regard.watcher.capture.modules import attach_hook, in_backward, is_traced
from regard.watcher.seam.call import AttentionCall, Place, Reader
from regard.watcher.seam.kernels import fast_path_call
from regard.watcher.seam.running import RunningModules, head_count, is_cross

if TYPE_CHECKING:
    from regard.watcher.seam.mode import AttentionMode


PARTS = {
    "encoder": "encoder", "decoder": "decoder", "vision": "vision", "visual": "vision",
    "language": "decoder", "text": "text", "down": "down", "mid": "mid", "up": "up",
}  # fmt: skip
CROSS_NAMES = frozenset({"multihead_attn", "attn2"})  # of nn.TransformerDecoder and of diffusers
OUTSIDE = "program"  # the path of attention outside of all modules


class AttentionSource:
    """Calls ``reader`` with every attention of a model in a block, on one thread.

    ``attached`` is the block; without a model it holds whatever runs in it. ``attach_inside`` looks
    into the forwards of some modules alone, and leaves the rest of the program as fast as it is.
    """

    def __init__(
        self, model: Any, reader: Reader, refused: Callable[[Place], None] = lambda place: None
    ) -> None:
        self.reader, self.refused = reader, refused
        self.modules = RunningModules(model, entering=self._entering, ended=self._forget)
        self.attending: dict[tuple[str, int], Any] = {}  # modules by path and number
        self.layers: dict[tuple[str, int], tuple[str, int]] = {}  # part and layer of each
        self._left_out: set[tuple[str, int]] = set()
        self.active = False  # whether hooks of ``attach_inside`` look
        self._sites: dict[tuple[int, int], tuple[str, int]] = {}  # by module and number
        self._numbers: Counter[str | int] = Counter()
        self._forward = -1
        self._whole = False
        self._mode: AttentionMode | None = None

    @property
    def mode(self) -> AttentionMode:
        from regard.watcher.seam.mode import AttentionMode

        if self._mode is None:
            self._mode = AttentionMode(self._read, self._place, self.modules.embedded)
            self._mode.refused = self.leave_out
            written = self._mode.written
            written.place = lambda: self.modules.path if self.modules.inside else ""
        return self._mode

    @property
    def unrecorded(self) -> tuple[str, ...]:
        """Paths of modules in which a softmax ran that no product with a value followed."""
        found = {} if self._mode is None else self._mode.written.unrecorded
        return tuple(dict.fromkeys(path for path in found.values() if path))

    def leave_out(self, place: Place) -> None:
        """Leave out what looked like attention from now on."""
        site = place.path, place.number
        self._left_out.add(site)
        self.layers.pop(site, None)
        self.refused(place)

    @contextmanager
    def attached(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(_torchs_modules(self))
            stack.enter_context(self.modules.attached())
            stack.enter_context(self.mode)
            self._whole = True
            stack.callback(setattr, self, "_whole", False)
            yield

    def attach_inside(self, modules: list[Any]) -> Callable[[], None]:
        """Hooks on some modules; the function returned removes them."""
        stack = ExitStack()
        for module in modules:
            stack.callback(attach_hook(module, "forward_pre", self._begin))
            stack.callback(attach_hook(module, "forward", self._end, always_call=True))
        stack.callback(self.modules.leave_all)
        return stack.close

    def begin_forward(self) -> None:
        """Count the attentions of modules that ``attach_inside`` looks into from 0 again."""
        self.modules.leave_all()
        self._numbers.clear()

    def _begin(self, module: Any, arguments: Any) -> None:
        if self.active and not (is_traced() or in_backward()) and self.modules.on_thread:
            self.modules.enter(module, sys._getframe(1))

    def _end(self, module: Any, arguments: Any, output: Any) -> None:
        if not is_traced() and self.modules.on_thread:
            self.modules.leave(module)

    def _entering(self, module: Any) -> Callable[[], None] | None:
        """Enter the modes that a module needs; returns what leaves them."""
        import torch

        stack = ExitStack()
        if not self._whole:
            stack.enter_context(_torchs_modules(self))
            stack.enter_context(self.mode)
        if type(module).forward in _asking_forwards():  # it is slower where a mode is on
            stack.enter_context(torch._C.DisableTorchFunction())
        elif torch._C._is_torch_function_all_disabled() and not _is_torchs(module):
            stack.enter_context(torch._C._EnableTorchFunction())
        elif self._whole:
            return None
        return _leaving_in_order(stack.close)

    def _forget(self) -> None:
        if self._mode is not None:
            self._mode.written.forget()

    def _place(self, inside: str) -> Place:
        modules = self.modules
        modules.drop_interrupted(sys._getframe(1))
        if self._forward != modules.forwards:
            self._forward = modules.forwards
            outside = self._numbers[OUTSIDE]  # calls outside of all modules go on counting
            self._numbers = Counter({OUTSIDE: outside})
        path = ".".join(x for x in (modules.path, inside) if x) or class_name(modules.module)
        counted = path if self._whole else id(modules.module)
        number = self._numbers[counted]
        self._numbers[counted] += 1
        if not self._whole:
            path, number = self._sites.get((id(modules.module), number), (path, number))
        return Place(
            path, number, forward=modules.forwards, module=modules.module, given=modules.given,
            real=modules.real,
        )  # fmt: skip

    def _read(self, call: AttentionCall) -> Any:
        if not self.modules.inside:
            return None
        call, site = unfolded(call), (call.place.path, call.place.number)
        if site in self._left_out or (site not in self.layers and not self._whole):
            return None
        if site not in self.layers:
            part = self.part(call)
            layer = sum(known == part for known, _ in self.layers.values())
            self.layers[site] = part, layer
            self.attending[site] = call.place.module
            self._sites[id(call.place.module), call.place.number] = site
        part, layer = self.layers[site]
        call = replace(call, place=replace(call.place, part=part, layer=layer))
        return self.reader(call)

    def part(self, call: AttentionCall, *, ordered: bool | None = None) -> str:
        """The part of a model that an attention is of; see ``part_name``."""
        queries, keys = call.shape[2:]
        two = self.modules.was_given_two(queries, keys)
        part = part_name(call, from_two_texts=two, ordered=ordered)
        cached = part == "encoder" and self.modules.has_cache(queries, keys)
        return "decoder" if cached else part


def class_name(module: Any) -> str:
    """A name for attention in a module without a path; see OUTSIDE."""
    return OUTSIDE if module is None else type(module).__name__


def part_name(
    call: AttentionCall, *, from_two_texts: bool = False, ordered: bool | None = None
) -> str:
    """The part of a model that a path names; else 'decoder' where no query sees a later key.

    ``ordered`` says that none does, where the caller knows it.
    """
    path, module = call.place.path, call.place.module
    words = path.lower().split(".")
    # The keys of another text may follow those of its own, as in T5Gemma 2.
    two = from_two_texts and "merged" not in type(module).__name__.lower()
    if is_cross(module, path) or CROSS_NAMES.intersection(words) or two:
        return "cross"
    if "text_decoder" in words:
        return "decoder"
    for word in words:
        part = next((PARTS[x] for x in PARTS if word == x or word.startswith(f"{x}_")), None)
        if part is not None:
            return part
    if ordered is None:
        ordered = call.causal or is_ordered(call)
    return "decoder" if ordered else "encoder"


def is_ordered(call: AttentionCall) -> bool:
    """Whether every later key is hidden from each query, and the queries are the last keys."""
    import torch

    shown = call.mask if call.weights is None else call.weights > 0
    queries, keys = call.shape[2:]
    if shown is None or queries < 2 or tuple(shown.shape[-2:]) != (queries, keys):
        return False
    hidden = ~shown if shown.dtype == torch.bool else shown < -1e4
    later = hidden.new_ones((queries, keys)).triu(keys - queries + 1)
    return bool(later.any()) and bool((hidden | ~later).all())


def unfolded(call: AttentionCall) -> AttentionCall:
    """A call whose heads that share a key were given as its queries, with heads as heads again.

    So do models of transformers that decode one token: fewer heads than the module names, and as
    many times more queries than the module was given tokens.
    """
    given, (b, h, q, _) = call.place.given, call.shape
    if given is None or call.query is None or call.weights is not None or call.kernel != "sdpa":
        return call
    if given[0] != b or q <= given[1] or q % given[1]:
        return call
    module = call.place.module
    heads = head_count(module) or head_count(getattr(module, "config", None))
    if heads != h * (q // given[1]):
        return call
    shape = (b, heads, given[1])
    query = call.query.reshape(*shape, call.query.shape[-1])
    output = None if call.output is None else call.output.reshape(*shape, call.output.shape[-1])
    total = None if call.logsumexp is None else call.logsumexp.reshape(shape)
    mask = call.mask
    if mask is not None and mask.ndim == 4 and mask.shape[2] > 1:
        shared = mask.shape[1] == 1
        mask = mask[:, :, : given[1]] if shared else mask.reshape(*shape, mask.shape[-1])
    return replace(call, query=query, output=output, logsumexp=total, mask=mask)


# torch's own modules ask whether a mode is on, and take slower operators then, with other bits.
# They run with modes off; what they call is replaced while a source is attached.

_lock = threading.RLock()
_sources = threading.local()
_entered = threading.local()
_blocks = 0
_before: dict[str, Any] = {}
FAST_OPERATORS = {
    "_native_multi_head_attention": "", "_transformer_encoder_layer_fwd": "self_attn",
}  # fmt: skip


@cache
def _asking_forwards() -> tuple[Any, ...]:
    from torch import nn

    return tuple(
        x.forward
        for x in (nn.MultiheadAttention, nn.TransformerEncoderLayer, nn.TransformerEncoder)
    )


def _leaving_in_order(close: Callable[[], None]) -> Callable[[], None]:
    """What leaves modes that were just entered, after all that were entered since.

    torch calls the hooks of several sources in the same order before and after a module, and what
    was entered first may not be left first: each mode puts back what it found.
    """
    entered: list[dict[str, Any]] = _entered.__dict__.setdefault("modes", [])
    mine = {"close": close, "left": False}
    entered.append(mine)

    def leave() -> None:
        mine["left"] = True
        while entered and entered[-1]["left"]:
            entered.pop()["close"]()

    return leave


def _is_torchs(module: Any) -> bool:
    return type(module).__module__.startswith("torch.nn.")


@contextmanager
def _torchs_modules(source: AttentionSource) -> Iterator[None]:
    """See what torch's own modules attend with inside the block."""
    global _blocks
    active: list[AttentionSource] = _sources.__dict__.setdefault("active", [])
    with _lock:
        if not _blocks:
            _replace()
        _blocks += 1
    active.append(source)
    try:
        yield
    finally:
        active.remove(source)
        with _lock:
            _blocks -= 1
            if not _blocks:
                _put_back()


def _replace() -> None:
    import torch
    import torch.nn.functional as F

    from regard.watcher.seam.mode import unasked

    attend = _before["attend"] = F.multi_head_attention_forward

    def attend_seen(*arguments: Any, **keywords: Any) -> Any:
        if not _sources.__dict__.get("active"):
            return attend(*arguments, **keywords)
        with torch._C._EnableTorchFunction():
            return unasked(attend)(*arguments, **keywords)

    F.multi_head_attention_forward = attend_seen
    for name, inside in FAST_OPERATORS.items():
        _before[name] = getattr(torch, name)
        setattr(torch, name, _fast(_before[name], name, inside))


def _fast(function: Any, name: str, inside: str) -> Any:
    import torch

    schema = getattr(torch.ops.aten, name).default._schema

    def call(*arguments: Any, **keywords: Any) -> Any:
        result = function(*arguments, **keywords)
        for source in tuple(_sources.__dict__.get("active", ())):
            source.mode.fast_path(fast_path_call(schema, arguments, keywords), inside)
        return result

    return call


def _put_back() -> None:
    import torch
    import torch.nn.functional as F

    F.multi_head_attention_forward = _before.pop("attend")
    for name in FAST_OPERATORS:
        setattr(torch, name, _before.pop(name))


_blocks_without = 0
_fast_path_before = True


@contextmanager
def without_fast_path() -> Iterator[None]:
    """Switch off torch's fast path, in whose operators no head can be changed.

    It is one switch of the whole process: the last of the blocks that overlap puts it back.
    """
    global _blocks_without, _fast_path_before
    from torch.backends import mha

    with _lock:
        if not _blocks_without:
            _fast_path_before = mha.get_fastpath_enabled()
            mha.set_fastpath_enabled(False)
        _blocks_without += 1
    try:
        yield
    finally:
        with _lock:
            _blocks_without -= 1
            if not _blocks_without:
                mha.set_fastpath_enabled(_fast_path_before)

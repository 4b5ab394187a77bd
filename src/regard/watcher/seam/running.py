"""Modules that run on a thread, what they were given, and the attention that belongs to them."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.watcher.capture.modules import is_traced, named_modules

if TYPE_CHECKING:
    from types import FrameType

    import torch


@dataclass
class RunningModules:
    """The running modules of one thread, the outermost first, and their names in the model.

    ``forwards`` counts the calls of outermost modules of the root. Names are those in ``root``;
    without one, those in the outermost module.

    Tokens are the indices (b, t) of embeddings that are looked up. A table of positions is asked
    for 0, 1, 2, ..., and one of segments for one number: they are told from tokens by that. In each
    module the first table that is neither counts.
    """

    root: Any = None
    forwards: int = 0
    elsewhere: bool = False  # whether modules ran on another thread
    thread: int = field(default_factory=threading.get_ident)
    _running: list[tuple[Any, FrameType, Callable[[], None] | None]] = field(
        default_factory=list, repr=False
    )  # with the frame of the call, and what leaves its modes
    entering: Callable[[Any], Callable[[], None] | None] | None = field(default=None, repr=False)
    ended: Callable[[], None] | None = field(default=None, repr=False)  # of outermost modules
    _names: dict[int, str] = field(default_factory=dict, repr=False)
    _roots: list[Any] = field(default_factory=list, repr=False)
    _ids: list[Any] = field(default_factory=list, repr=False)  # of the forward _ids_forward
    _ids_forward: int = -1
    _token_tables: set[int] = field(default_factory=set, repr=False)  # addresses that are known
    _tables: dict[str, int] = field(default_factory=dict, repr=False)  # address by module path
    _lists: dict[str, Any] = field(default_factory=dict, repr=False)  # of modules of one class

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Hooks for the block, which torch calls for every module of the process."""
        from torch.nn.modules.module import (
            register_module_forward_hook,
            register_module_forward_pre_hook,
        )

        if self.root is not None:
            self._name_modules(self.root)
        hooks = [
            register_module_forward_pre_hook(self._enter),
            register_module_forward_hook(self._leave, always_call=True),
        ]
        try:
            yield
        finally:
            for hook in hooks:
                hook.remove()
            self.leave_all()

    def leave_all(self) -> None:
        """Leave every module, as when an error or an interrupt ended them."""
        self._drop(0)

    def _drop(self, first: int) -> None:
        """Leave the modules from a number on, the innermost first."""
        while len(self._running) > first:
            leave = self._running.pop()[2]
            if leave is not None:
                leave()
        if not self._running and self.ended is not None:
            self.ended()

    @property
    def on_thread(self) -> bool:
        return threading.get_ident() == self.thread

    @property
    def module(self) -> Any:
        return self._running[-1][0] if self._running else None

    @property
    def path(self) -> str:
        return next(
            (self._names[id(x)] for x, *_ in reversed(self._running) if id(x) in self._names), ""
        )

    def sentences(self, queries: int) -> int | None:
        """Sentences that the innermost running module was given; None where that is not known.

        Its input is (b, t, e), or (t, b, e), where its tokens are the queries.
        """
        shape = next(iter(self._shapes()), ())
        if len(shape) != 3 or queries not in shape[:2]:
            return None
        return shape[0] if shape[1] == queries else shape[1]

    def has_cache(self, queries: int, keys: int) -> bool:
        """Whether keys came from earlier calls: the input is the queries' tokens, and no others."""
        given = {size for shape in self._shapes() if len(shape) == 3 for size in shape[:2]}
        return self.sentences(queries) is not None and queries < keys and keys not in given

    def was_given_two(self, queries: int, keys: int) -> bool:
        """Whether the innermost module was given keys beside its queries: two other tensors.

        A module around it, a block of a transformer, passes both on. Two of the same sizes are told
        apart by the name of the second, as in ``attend(x, context=y)``.
        """
        for index, (module, *_) in enumerate(self._running[:-4:-1]):
            if index == 0 or ATTENTION_NAME.search(type(module).__name__):
                named = _second_text(module, *self._given(-1 - index), (queries, keys))
                if named is not None:
                    return named
            shapes = self._shapes(-1 - index, keywords=False)
            given = [shape for shape in shapes if len(shape) == 3]
            if len(given) > 1 and given[0] != given[1]:
                lengths = [set(shape[:2]) for shape in given[:2]]
                return queries != keys and queries in lengths[0] and keys in lengths[1]
        return False

    @property
    def input_id(self) -> int:
        """The first argument of the innermost module, by id; modules in line get different ones."""
        positional, keywords = self._given(-1)
        return id(next(iter((*positional, *keywords.values())), None))

    def _given(self, index: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments of a running module, from the frame in which torch calls it."""
        call = self._running[index][1].f_locals if self._running else {}
        return call.get("args", ()), call.get("kwargs", {})

    def _shapes(self, index: int = -1, *, keywords: bool = True) -> list[tuple[int, ...]]:
        """Shapes of the tensors that a running module was given; () for what is none."""
        positional, named = self._given(index)
        given = (*positional, *named.values()) if keywords else positional
        plain = (x for x in given if keywords is False or hasattr(x, "is_nested"))
        return [() if getattr(x, "is_nested", True) else tuple(x.shape) for x in plain]

    @property
    def given(self) -> tuple[int, int] | None:
        """Sentences and tokens that the innermost module was given, where it got (b, t, e)."""
        shape = next(iter(self._shapes()), ())
        return shape[:2] if len(shape) == 3 else None

    @property
    def real(self) -> torch.Tensor | None:
        """The mask of padding (b, n) that the outermost modules were given."""
        for index in range(min(3, len(self._running))):
            mask = self._given(index)[1].get("attention_mask")
            if getattr(mask, "ndim", 0) == 2:
                return mask
        return None

    @property
    def innermost_list(self) -> tuple[str, int, int] | None:
        """Path of the list that the innermost module is in, its number there, and their count."""
        owner, _, name = self.path.rpartition(".")
        siblings = self._lists.get(owner)
        inside = siblings is not None and name.isdigit() and len(siblings) > 1
        return (owner, int(name), len(siblings)) if siblings and inside else None

    @property
    def inside(self) -> bool:
        self.drop_interrupted(sys._getframe(1))
        return self.root is None or any(id(x) in self._names for x, *_ in self._running)

    def drop_interrupted(self, frame: FrameType | None) -> None:
        """Drop modules whose call is not among those of the frame.

        torch calls no hook where KeyboardInterrupt, SystemExit or GeneratorExit ends a forward.
        """
        while self._running:
            caller, innermost = frame, self._running[-1][1]
            while caller is not None and caller is not innermost:
                caller = caller.f_back
            if caller is not None:
                return
            self._drop(len(self._running) - 1)

    def _enter(self, module: Any, arguments: Any) -> None:
        if is_traced() or threading.get_ident() != self.thread:
            self.elsewhere |= self.root is None or id(module) in self._names
            return
        call = sys._getframe(1)
        self.drop_interrupted(call)
        if self.root is None and not self._running and id(module) not in self._names:
            self._name_modules(module)
        if not self._running or not self.inside:
            self.forwards += id(module) in self._names
        self.enter(module, call)

    def enter(self, module: Any, call: Any) -> None:
        """Take note of a module that runs, called in this frame."""
        leave = None if self.entering is None else self.entering(module)
        self._running.append((module, call, leave))

    def _leave(self, module: Any, arguments: Any, output: Any) -> None:
        if not is_traced() and self.on_thread:
            self.leave(module)

    def leave(self, module: Any) -> None:
        """Leave a module, and those that an error left inside it."""
        for index in range(len(self._running) - 1, -1, -1):
            if self._running[index][0] is module:
                self._drop(index)
                return

    def embedded(self, table: torch.Tensor, indices: torch.Tensor) -> None:
        if not self.inside or indices.ndim != 2:
            return
        if self._ids_forward != self.forwards:
            self._ids_forward, self._ids = self.forwards, []
        owner, address = self.path.rpartition(".")[0], table.data_ptr()
        ids = indices.detach().cpu().numpy()
        if owner not in self._tables and (address in self._token_tables or not _counts(ids)):
            self._tables[owner] = address
        if self._tables.get(owner) == address:
            self._ids.append(ids)

    def ids(self, shape: tuple[int, int]) -> Any:
        """The tokens of that shape that were looked up last; None where there are none."""
        return next((ids for ids in reversed(self._ids) if ids.shape == shape), None)

    def _name_modules(self, root: Any) -> None:
        self._roots.append(root)  # while it lives, no other module gets its id
        for name, module in named_modules(root):
            self._names.setdefault(id(module), name)
            if len({type(x) for x in module._modules.values()}) == 1 and not name.isdigit():
                self._lists[name] = module._modules
            if hasattr(type(module), "get_input_embeddings"):  # a model of transformers
                with contextlib.suppress(NotImplementedError, AttributeError):
                    self._token_tables.add(module.get_input_embeddings().weight.data_ptr())


SECOND_TEXT = re.compile("context|memory|encoder_(hidden|out)|key_value|^kv|cross")
ATTENTION_NAME = re.compile("att(n|en)", re.IGNORECASE)


def _second_text(
    module: Any, positional: tuple[Any, ...], keywords: dict[str, Any], sizes: tuple[int, int]
) -> bool | None:
    """Whether a module was given vectors of another text, by the names of its arguments.

    None where its forward has no argument of such a name. Where as many queries and keys attend as
    both texts have together, they were read as one.
    """
    from torch.nn import MultiheadAttention

    names = list(inspect.signature(module.forward).parameters)
    given = dict(zip(names, positional, strict=False)) | keywords
    second = [x for x in names[1:] if SECOND_TEXT.search(x)]
    if isinstance(module, MultiheadAttention):
        second = ["key"]
    if not second:
        return None
    first: Any = given.get(names[0])
    others = [given[x] for x in second if getattr(given.get(x), "ndim", 0) >= 2]
    others = [x for x in others if x is not first]
    length = first.shape[-2] if getattr(first, "ndim", 0) >= 2 else 0
    return any(sizes != (length + x.shape[-2],) * 2 for x in others)


def _counts(ids_bt: Any) -> bool:
    """Whether every row counts up by one, or all are one number."""
    steps = np.diff(ids_bt, axis=1)
    return bool(ids_bt.shape[1] > 1 and ((steps == 1).all() or (steps == 0).all()))


HEAD_COUNT_NAMES = (
    "num_heads",
    "num_attention_heads",
    "n_heads",
    "n_head",
    "nhead",
    "heads",
    "nheads",
)


def head_count(module: Any) -> int | None:
    """The number of heads that a module names."""
    numbers = (getattr(module, name, None) for name in HEAD_COUNT_NAMES)
    return next((x for x in numbers if isinstance(x, int) and x > 0), None)


CROSS = re.compile(r"cross_?att|encoder_attn|EncDecAttention|cross_attn", re.IGNORECASE)


def is_cross(module: Any, name: str) -> bool:
    """Whether queries and keys of this attention come from different texts."""
    flag = getattr(module, "is_cross_attention", None)
    return bool(flag) or CROSS.search(f"{name} {type(module).__name__}") is not None


def sentence_axes(
    leading: tuple[int, ...], module: Any, sentences: int | None = None
) -> tuple[bool, tuple[int, int]]:
    """Whether heads come before sentences in two leading axes, and the numbers (b, h) of both.

    Sentences and heads of weights (..., q, k) may be one axis or several; ``sentences`` is their
    number where it is known.
    """
    heads = head_count(module)
    if len(leading) == 2:
        if sentences is None and leading[0] == heads:
            sentences = leading[1]
        swapped = leading[0] != sentences == leading[1]
        return swapped, (leading[1], leading[0]) if swapped else (leading[0], leading[1])
    if len(leading) < 2:
        number = prod(leading)
        if sentences and not heads and number % sentences == 0:
            heads = number // sentences
        of_each = heads if heads and number % heads == 0 else number
        return False, (number // of_each, of_each)
    if heads and prod(leading[1:]) == heads:
        return False, (leading[0], heads)
    return False, (prod(leading[:-1]), leading[-1])

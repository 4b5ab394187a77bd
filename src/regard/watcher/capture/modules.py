"""Modules of a model: a walk over them, those that run, and the token ids they were given."""

from __future__ import annotations

import contextlib
import inspect
import re
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from types import FrameType

    import torch


def named_modules(model: Any) -> list[tuple[str, Any]]:
    """Every module inside a model once, the model first, with its path.

    >>> from types import SimpleNamespace as Module
    >>> leaf = Module(_modules={})
    >>> model = Module(_modules={"a": Module(_modules={"b": leaf}), "c": leaf, "d": None})
    >>> [name for name, module in named_modules(model)]
    ['', 'a', 'a.b']
    """
    named: dict[int, tuple[str, Any]] = {}
    stack: list[tuple[str, Any]] = [("", model)]
    while stack:
        name, module = stack.pop()
        if module is None or id(module) in named:
            continue
        named[id(module)] = name, module
        prefix = f"{name}." if name else ""
        children = module._modules
        if children:
            stack += [(prefix + child, x) for child, x in reversed(children.items())]
    return list(named.values())


def all_modules(model: Any) -> list[Any]:
    """Every module inside a model once, the model first."""
    inside: dict[int, Any] = {}
    stack = [model]
    while stack:
        module = stack.pop()
        if module is None or id(module) in inside:
            continue
        inside[id(module)] = module
        children = module._modules
        if children:
            stack += reversed(children.values())
    return list(inside.values())


def module_config(module: Any) -> Any:
    """The config of a module; None where it has none.

    Found without ``getattr``, whose failure torch spends microseconds on.
    """
    config = vars(module).get("config")
    return getattr(module, "config", None) if config is None and _has_config(module) else config


def _has_config(module: Any) -> bool:
    return hasattr(type(module), "config")


HOOK_TABLES = (
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
)


class CleanState:
    """``__getstate__`` of a module in a block: copies and pickles of it have no hooks of regard.

    ``hooks`` are their ids, ``attributes`` what stood in place of the module's replaced ones.
    """

    def __init__(self, module: Any) -> None:
        self.module, self.hooks = module, set[int]()
        self.attributes: dict[str, dict[str, Any]] = {}

    @classmethod
    def from_module(cls, module: Any) -> CleanState:
        state: CleanState = module.__dict__.setdefault("__getstate__", cls(module))
        return state

    def __call__(self) -> Any:
        own: Any = type(self.module).__getstate__
        state = own(self.module)
        if not isinstance(state, dict):
            return state
        state = {name: x for name, x in state.items() if x is not self}
        for name in state.keys() & HOOK_TABLES:
            kept = [(x, hook) for x, hook in state[name].items() if x not in self.hooks]
            state[name] = OrderedDict(kept)
        for name, former in self.attributes.items():
            del state[name]
            state.update(former)
        return state

    def remove_if_unused(self) -> None:
        """Leave the module to its own ``__getstate__`` once nothing of regard is left in it."""
        if not self.hooks and not self.attributes:
            self.module.__dict__.pop("__getstate__", None)


def attach_hook(module: Any, kind: str, hook: Any, **options: Any) -> Callable[[], None]:
    """Register a hook that no copy of the module takes along; the function returned removes it."""
    handle = getattr(module, f"register_{kind}_hook")(hook, **options)
    state = CleanState.from_module(module)
    state.hooks.add(handle.id)
    held = weakref.ref(state)  # a module that is deleted while it has a hook is freed

    def remove() -> None:
        handle.remove()
        found = held()
        if found is not None:
            found.hooks.discard(handle.id)
            found.remove_if_unused()

    return remove


@contextmanager
def replaced_attribute(module: Any, name: str, value: Any) -> Iterator[None]:
    """An attribute of a module in the block, in place of its own or of its class's."""
    own, state = module.__dict__, CleanState.from_module(module)
    former = {name: own[name]} if name in own else {}
    outermost = name not in state.attributes  # blocks may be nested
    if outermost:
        state.attributes[name] = former
    own[name] = value
    try:
        yield
    finally:
        own.pop(name, None)
        own.update(former)
        if outermost:
            del state.attributes[name]
        state.remove_if_unused()


Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Forward:
    """A running forward: its owner by id, and its token ids as a tensor and on the host."""

    owner: int
    tensor: torch.Tensor | None = field(default=None, repr=False)
    ids_bt: Ids | None = field(default=None, repr=False)


def _ignore(inside: set[int]) -> None:
    """The callback of a forward before one is set, and after the block."""


class Forwards:
    """Running forwards of one thread, the outermost first.

    An owner is a module whose forward is one of the model: the model, the module around it, its
    encoder and decoder, and every model of transformers inside. ``begun`` and ``ended`` are called
    with the modules inside an owner, by id; ``ended`` only where the forward returned.
    """

    def __init__(self, model: Any, holder: Any) -> None:
        self.thread = threading.get_ident()
        self.count = 0
        self.begun: Callable[[set[int]], None] = _ignore
        self.ended: Callable[[set[int]], None] = _ignore
        self._stacks = encoder_and_decoder(model)
        self._owners = _owners(model, holder, list(self._stacks.values()))
        self._inside = {id(x): {id(module) for module in all_modules(x)} for x in self._owners}
        self.elsewhere = False  # whether the model ran on another thread
        self._running: list[Forward] = []
        self._embedded: tuple[int, Ids] | None = None  # a table by id, and what it looked up last

    @property
    def on_thread(self) -> bool:
        return not is_traced() and threading.get_ident() == self.thread

    @property
    def running(self) -> bool:
        return bool(self._running)

    def owner(self, module: Any) -> int:
        enclosing = [key for key, inside in self._inside.items() if id(module) in inside]
        return min(enclosing, key=lambda key: len(self._inside[key]))

    def ids(self, module: Any) -> Ids | None:
        """The tokens (b, t) of the innermost forward around a module; None where it has none."""
        enclosing = [x for x in self._running if id(module) in self._inside[x.owner]]
        if enclosing and enclosing[-1].ids_bt is not None:
            return enclosing[-1].ids_bt
        if self._embedded is None:
            return None
        table, ids_bt = self._embedded
        return ids_bt if not enclosing or table in self._inside[enclosing[-1].owner] else None

    def attach(self) -> list[Callable[[], None]]:
        """Hook the start and the end of every owner's forward; returns what removes the hooks."""
        hooks = []
        for owner in self._owners:
            hooks.append(attach_hook(owner, "forward_pre", self._begin, with_kwargs=True))
            hooks.append(attach_hook(owner, "forward", self._end, always_call=True))
        for table in _token_tables(self._owners):
            hooks.append(attach_hook(table, "forward_pre", self._embed))
        return hooks

    def forget_callbacks(self) -> None:
        """Call nothing any more at the start and the end of a forward."""
        self.begun = self.ended = _ignore

    def _embed(self, table: Any, arguments: tuple[Any, ...]) -> None:
        """Take the ids of a model whose ``forward`` is called directly, past its hooks."""
        if not self.on_thread or not arguments:
            return
        if not self._running or self._running[-1].ids_bt is None:
            self._embedded = id(table), arguments[0].detach().cpu().numpy()

    def _begin(self, owner: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.elsewhere |= threading.get_ident() != self.thread
        if not self.on_thread or id(owner) not in self._inside:  # a replica of an owner
            return
        self.count += 1
        self._leave(id(owner))
        if not self._running:
            self._embedded = None
        self._running.append(Forward(id(owner), *self._token_ids(owner, arguments, keywords)))
        self.begun(self._inside[id(owner)])

    def _end(self, owner: Any, arguments: tuple[Any, ...], output: Any) -> None:
        if not self.on_thread or id(owner) not in self._inside:  # a replica of an owner
            return
        self._leave(id(owner))
        if output is not None:  # a forward that failed has none
            self.ended(self._inside[id(owner)])

    def _leave(self, owner: int) -> None:
        """End a forward and those inside it: an interrupt ends them without calling a hook."""
        owners = [forward.owner for forward in self._running]
        if owner in owners:
            del self._running[owners.index(owner) :]

    def _token_ids(
        self, owner: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[torch.Tensor | None, Ids | None]:
        """Token ids among the arguments, or those of the forward around that passes embeddings."""
        ids: Any = keywords.get("input_ids", arguments[0] if arguments else None)
        enclosing = self._running[-1] if self._running else Forward(0)
        if getattr(ids, "ndim", 0) == 2 and not ids.is_floating_point():
            same = ids is enclosing.tensor  # a head passes them on: they are fetched once
            return ids, enclosing.ids_bt if same else ids.detach().cpu().numpy()
        if enclosing.ids_bt is None or any(owner is stack for stack in self._stacks.values()):
            return None, None
        shapes = [
            x.shape[:2] for x in (*arguments, *keywords.values()) if getattr(x, "ndim", 0) == 3
        ]
        embedded = enclosing.ids_bt.shape in [tuple(shape) for shape in shapes]
        return (enclosing.tensor, enclosing.ids_bt) if embedded else (None, None)


def encoder_and_decoder(model: Any) -> dict[str, Any]:
    """Encoder and decoder of a model that has both; empty for any other."""
    if not getattr(model.config, "is_encoder_decoder", False):
        return {}
    return {"encoder": model.get_encoder(), "decoder": model.get_decoder()}


def _token_tables(owners: list[Any]) -> list[Any]:
    """The embedding of tokens of each model that names one."""
    from torch.nn import Embedding
    from transformers import PreTrainedModel

    tables = []
    for owner in owners:
        if isinstance(owner, PreTrainedModel):
            with contextlib.suppress(NotImplementedError, AttributeError):
                tables.append(owner.get_input_embeddings())
    return list({id(x): x for x in tables if isinstance(x, Embedding)}.values())


def in_backward() -> bool:
    """Whether this is a backward pass, in which checkpointed layers run again."""
    import torch

    return bool(torch._C._current_graph_task_id() != -1)


def is_traced() -> bool:
    """Whether torch traces or exports the program: its tensors have no numbers then."""
    import torch

    return bool(torch.compiler.is_compiling() or torch.jit.is_tracing())


def uncompiled() -> contextlib.AbstractContextManager[Any]:
    """Compiled functions run as they were written, so that their operators can be seen."""
    if "torch._dynamo" not in sys.modules:
        return contextlib.nullcontext()
    import torch

    stance: contextlib.AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
    return stance


def _owners(model: Any, holder: Any, parts: list[Any]) -> list[Any]:
    from transformers import PreTrainedModel

    inside = [module for module in all_modules(model) if isinstance(module, PreTrainedModel)]
    return list({id(module): module for module in [holder, model, *inside, *parts]}.values())


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
    _running: list[tuple[Any, list[tuple[int, ...]], FrameType]] = field(
        default_factory=list, repr=False
    )  # with the shapes of their arguments, and the frame of the call
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
            self._running.clear()

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
        shape = next(iter(self._inputs), ())
        if len(shape) != 3 or queries not in shape[:2]:
            return None
        return shape[0] if shape[1] == queries else shape[1]

    def has_cache(self, queries: int, keys: int) -> bool:
        """Whether keys came from earlier calls: the input is the queries' tokens, and no others."""
        given = {size for shape in self._inputs if len(shape) == 3 for size in shape[:2]}
        return self.sentences(queries) is not None and queries < keys and keys not in given

    def was_given_two(self, queries: int, keys: int) -> bool:
        """Whether the innermost module was given keys beside its queries: two other tensors.

        A module around it, a block of a transformer, passes both on. Two of the same sizes are told
        apart by the name of the second, as in ``attend(x, context=y)``.
        """
        for index, (module, shapes, _) in enumerate(self._running[:-4:-1]):
            if index == 0 or ATTENTION_NAME.search(type(module).__name__):
                named = _second_text(module, *self._given(-1 - index), (queries, keys))
                if named is not None:
                    return named
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
        call = self._running[index][2].f_locals if self._running else {}
        return call.get("args", ()), call.get("kwargs", {})

    @property
    def innermost_list(self) -> tuple[str, int, int] | None:
        """Path of the list that the innermost module is in, its number there, and their count."""
        owner, _, name = self.path.rpartition(".")
        siblings = self._lists.get(owner)
        inside = siblings is not None and name.isdigit() and len(siblings) > 1
        return (owner, int(name), len(siblings)) if siblings and inside else None

    @property
    def _inputs(self) -> list[tuple[int, ...]]:
        return self._running[-1][1] if self._running else []

    @property
    def inside(self) -> bool:
        self._drop_interrupted(sys._getframe(1))
        return self.root is None or any(id(x) in self._names for x, *_ in self._running)

    def _drop_interrupted(self, frame: FrameType | None) -> None:
        """Drop modules whose call is not among those of the frame.

        torch calls no hook where KeyboardInterrupt, SystemExit or GeneratorExit ends a forward.
        """
        while self._running:
            caller, innermost = frame, self._running[-1][2]
            while caller is not None and caller is not innermost:
                caller = caller.f_back
            if caller is not None:
                return
            del self._running[-1]

    def _enter(self, module: Any, arguments: Any) -> None:
        if is_traced() or threading.get_ident() != self.thread:
            self.elsewhere |= self.root is None or id(module) in self._names
            return
        call = sys._getframe(1)
        self._drop_interrupted(call)
        if self.root is None and not self._running and id(module) not in self._names:
            self._name_modules(module)
        if not self._running or not self.inside:
            self.forwards += id(module) in self._names
        shapes = [() if getattr(x, "is_nested", True) else tuple(x.shape) for x in arguments]
        self._running.append((module, shapes, call))

    def _leave(self, module: Any, arguments: Any, output: Any) -> None:
        if is_traced() or threading.get_ident() != self.thread:
            return
        # An error may have left modules inside it on the list.
        for index in range(len(self._running) - 1, -1, -1):
            if self._running[index][0] is module:
                del self._running[index:]
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

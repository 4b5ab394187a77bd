"""Modules of a model: a walk over them, those that run, and the token ids they were given."""

from __future__ import annotations

import contextlib
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

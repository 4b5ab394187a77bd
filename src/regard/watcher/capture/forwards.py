"""Running forwards of a model and of its submodels, with their token ids."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.watcher.module_walk import modules_of

if TYPE_CHECKING:
    import torch

Ids = NDArray[np.int64]


@dataclass(frozen=True)
class Forward:
    """A running forward: its owner by id, and its token ids as a tensor and on the host."""

    owner: int
    tensor: torch.Tensor | None = field(default=None, repr=False)
    ids_bt: Ids | None = field(default=None, repr=False)


def _ignore(inside: set[int]) -> None:
    """Nothing is to be done when a forward begins or ends."""


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
        self._inside = {id(x): {id(module) for module in modules_of(x)} for x in self._owners}
        self._running: list[Forward] = []
        self._embedded: tuple[int, Ids] | None = None  # a table by id, and what it looked up last

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """The same object: a model that is copied inside a block takes its hooks along."""
        return self

    @property
    def on_thread(self) -> bool:
        """Whether this is the thread whose forwards are counted."""
        return threading.get_ident() == self.thread

    @property
    def running(self) -> bool:
        """Whether a forward of the model is running."""
        return bool(self._running)

    def owner(self, module: Any) -> int:
        """The innermost owner around a module."""
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

    def attach(self) -> list[Any]:
        """Hooks at the start and the end of every owner's forward, also of one that fails."""
        hooks = []
        for owner in self._owners:
            hooks.append(owner.register_forward_pre_hook(self._begin, with_kwargs=True))
            hooks.append(owner.register_forward_hook(self._end, always_call=True))
        for table in _token_tables(self._owners):
            hooks.append(table.register_forward_pre_hook(self._embed))
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
        if not self.on_thread or id(owner) not in self._inside:  # a copy of an owner
            return
        self.count += 1
        self._leave(id(owner))
        if not self._running:
            self._embedded = None
        self._running.append(Forward(id(owner), *self._token_ids(owner, arguments, keywords)))
        self.begun(self._inside[id(owner)])

    def _end(self, owner: Any, arguments: tuple[Any, ...], output: Any) -> None:
        if not self.on_thread or id(owner) not in self._inside:
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
    """The embedding of tokens of each model, as far as it names one."""
    from torch.nn import Embedding
    from transformers import PreTrainedModel

    tables = []
    for owner in owners:
        if isinstance(owner, PreTrainedModel):
            with contextlib.suppress(NotImplementedError, AttributeError):
                tables.append(owner.get_input_embeddings())
    return list({id(x): x for x in tables if isinstance(x, Embedding)}.values())


def in_backward() -> bool:
    """Whether this is a backward pass, in which checkpointed layers run once more."""
    import torch

    return bool(torch._C._current_graph_task_id() != -1)


def _owners(model: Any, holder: Any, parts: list[Any]) -> list[Any]:
    from transformers import PreTrainedModel

    inside = [module for module in modules_of(model) if isinstance(module, PreTrainedModel)]
    return list({id(module): module for module in [holder, model, *inside, *parts]}.values())

"""Paths of the modules that are running, by hooks on the call of every module."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from regard.watcher.module_walk import named_modules_of


@dataclass
class ModulePaths:
    """The running modules of one thread, the outermost first, and their names in the model.

    ``forwards`` counts the calls of outermost modules of the root. Names are those in ``root``;
    without one, those in the outermost module.
    """

    root: Any = None
    forwards: int = 0
    thread: int = field(default_factory=threading.get_ident)
    _running: list[Any] = field(default_factory=list, repr=False)
    _shapes: list[list[tuple[int, ...]]] = field(default_factory=list, repr=False)
    _names: dict[int, str] = field(default_factory=dict, repr=False)
    _roots: list[Any] = field(default_factory=list, repr=False)

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

    @property
    def module(self) -> Any:
        """The innermost running module; None outside of all."""
        return self._running[-1] if self._running else None

    @property
    def path(self) -> str:
        """The name of the innermost running module that has one in the model."""
        return next(
            (self._names[id(x)] for x in reversed(self._running) if id(x) in self._names), ""
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

    @property
    def _inputs(self) -> list[tuple[int, ...]]:
        return self._shapes[-1] if self._shapes else []

    @property
    def inside(self) -> bool:
        """Whether the root is running; without a root always."""
        return self.root is None or any(id(x) in self._names for x in self._running)

    def _enter(self, module: Any, arguments: Any) -> None:
        if threading.get_ident() != self.thread:
            return
        if self.root is None and not self._running and id(module) not in self._names:
            self._name_modules(module)
        if not self._running or not self.inside:
            self.forwards += id(module) in self._names
        self._running.append(module)
        self._shapes.append([tuple(getattr(x, "shape", ())) for x in arguments])

    def _leave(self, module: Any, arguments: Any, output: Any) -> None:
        if threading.get_ident() != self.thread:
            return
        # An error may have left modules inside it on the list.
        for index in range(len(self._running) - 1, -1, -1):
            if self._running[index] is module:
                del self._running[index:], self._shapes[index:]
                return

    def _name_modules(self, root: Any) -> None:
        self._roots.append(root)  # while it lives, no other module gets its id
        for name, module in named_modules_of(root):
            self._names.setdefault(id(module), name)

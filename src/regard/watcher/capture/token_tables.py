"""The tokens of a text, from the embeddings that a program looks up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.watcher.capture.module_paths import ModulePaths

if TYPE_CHECKING:
    import torch


class TokenTables:
    """Indices (b, t) of the embedding tables of tokens, in the forward that runs.

    A table of positions is asked for 0, 1, 2, ..., and one of segments for one number: they are
    told from tokens by that. In each module the first table that is neither counts.
    """

    def __init__(self, modules: ModulePaths) -> None:
        self.modules = modules
        self._forward = -1
        self._ids: list[Any] = []
        self._tables: dict[str, int] = {}  # by the path of the module that looks it up

    def embedded(self, table: torch.Tensor, indices: torch.Tensor) -> None:
        """Take note of an embedding."""
        if not self.modules.inside or indices.ndim != 2:
            return
        if self._forward != self.modules.forwards:
            self._forward, self._ids = self.modules.forwards, []
        owner, address = self.modules.path.rpartition(".")[0], table.data_ptr()
        ids = indices.detach().cpu().numpy()
        if owner not in self._tables and not _counts(ids):
            self._tables[owner] = address
        if self._tables.get(owner) == address:
            self._ids.append(ids)

    def ids(self, shape: tuple[int, int]) -> Any:
        """The tokens of that shape that were looked up last; None where there are none."""
        return next((ids for ids in reversed(self._ids) if ids.shape == shape), None)


def _counts(ids_bt: Any) -> bool:
    """Whether every row counts up by one, or all are one number."""
    steps = np.diff(ids_bt, axis=1)
    return bool(ids_bt.shape[1] > 1 and ((steps == 1).all() or (steps == 0).all()))

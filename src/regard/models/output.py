"""The output of one call for the model, put together from what its stretches mixed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.models.bridge import as_array, as_tensor
from regard.models.stretches import Stretch
from regard.self_attention.stream import attention

if TYPE_CHECKING:
    import torch

    from regard.models.call import Call


class Output:
    """A tensor (b, q, h, d), zeros where nothing was put."""

    def __init__(self, call: Call) -> None:
        self.call = call
        sentences, heads, queries, _ = call.query.shape
        self.shape = (sentences, queries, heads, call.value.shape[3])
        self._tensor: torch.Tensor | None = None

    @property
    def tensor(self) -> torch.Tensor:
        """As far as it is filled."""
        if self._tensor is None:
            self._tensor = self.call.value.detach().new_zeros(self.shape)
        return self._tensor

    def put(self, stretch: Stretch, mixed: Any) -> None:
        """What a stretch's queries mixed, (..., h, q, d)."""
        (some, _, rows), _ = stretch.place
        part = as_tensor(mixed, self.call.value).transpose(-3, -2)
        if self._tensor is None and part.numel() == self._size:  # the whole call, in one copy
            self._tensor = part.reshape(self.shape).contiguous()
        else:
            self.tensor[some, rows] = part

    def put_padding(self, stretch: Stretch) -> None:
        """Queries that are padding get what they would: nobody reads it, but it stays the same."""
        call, arguments = self.call, stretch.arguments
        queries = call.query.shape[2]
        for rows in (slice(0, stretch.rows.start), slice(stretch.rows.stop, queries)):
            if rows.stop <= rows.start or "mask" in arguments:
                continue
            (some, _, _), columns = stretch.place
            moved: dict[str, Any] = dict(arguments)
            if "offset" in moved:
                moved["offset"] += rows.start - stretch.rows.start
            query = as_array(call.query)[some, :, rows]
            key, value = as_array(call.key)[columns], as_array(call.value)[columns]
            mixed = attention(query, key, value, scale=call.scale, softcap=call.softcap, **moved)
            self.tensor[some, rows] = as_tensor(mixed, call.value).transpose(-3, -2)

    @property
    def _size(self) -> int:
        sentences, queries, heads, width = self.shape
        return int(sentences * queries * heads * width)

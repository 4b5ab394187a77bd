"""One call of a model's attention: what came in, and the model's own answer to it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from regard.errors import BackendError
from regard.models.bridge import places
from regard.models.masks import Described

if TYPE_CHECKING:
    import torch

UNKNOWN = ("s_aux", "sinks")  # arguments that change the weights in ways observe does not know


@dataclass(frozen=True)
class Call:
    """Query (b, h, q, d), key and value (b, h_kv, k, d), and what else the model passed.

    ``implementation`` is the attention the model uses when nobody watches. ``rows`` are the real
    queries of each sentence, where padding of the queries is known from elsewhere.
    """

    module: Any = field(repr=False)
    query: torch.Tensor = field(repr=False)
    key: torch.Tensor = field(repr=False)
    value: torch.Tensor = field(repr=False)
    mask: Any = field(repr=False)
    options: dict[str, Any] = field(repr=False)
    implementation: str = "sdpa"
    cross: bool = False
    rows: list[slice] | None = None

    @property
    def scale(self) -> float | None:
        """What scores are multiplied by; None for 1 / sqrt(d)."""
        return self.options.get("scaling")

    @property
    def softcap(self) -> float | None:
        """The bound of a tanh on scores."""
        return self.options.get("softcap")

    @property
    def bias(self) -> torch.Tensor | None:
        """What a model adds to the scores by position, (1, h, q, k)."""
        return self.options.get("position_bias")

    @property
    def causal(self) -> bool:
        """Whether the model asks for a causal mask where it gives none."""
        given = self.options.get("is_causal")
        return bool(getattr(self.module, "is_causal", True) if given is None else given)

    @property
    def must_be_own(self) -> bool:
        """Whether the output has to come from the model's own attention: gradients and dropout."""
        import torch

        tensors = (self.query, self.key, self.value)
        learning = torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
        return learning or bool(self.options.get("dropout"))

    def check(self) -> None:
        """Refuse what observe has no argument for."""
        for name in UNKNOWN:
            if self.options.get(name) is not None:
                raise BackendError(
                    f"{type(self.module).__name__} passes {name!r} to its attention, which regard "
                    "does not know: its weights would be wrong, so watch shows none."
                )

    def own(self) -> tuple[torch.Tensor, Any]:
        """The model's own attention: output (b, q, h, d), and its weights or None."""
        mask = self.mask
        if isinstance(mask, Described):
            mask = mask.own(self.implementation)
        attend = own_function(self.module, self.implementation)
        output, weights = attend(
            self.module, self.query, self.key, self.value, mask, **self.options
        )
        return output, weights

    def some_rows(self, rows: list[int]) -> Call:
        """The same call for a few queries, its mask drawn for them alone."""
        import torch

        at = places(rows, self.query)
        query, mask = self.query[:, :, at], self.mask
        options = self.options | {"dropout": 0.0}
        if self.bias is not None:
            options["position_bias"] = self.bias[:, :, at]
        if isinstance(mask, Described):
            mask = mask.own_rows(self.implementation, rows)
        elif mask is not None:
            mask = mask[:, :, at] if mask.shape[2] > 1 else mask
        elif self.causal and self.query.shape[2] > 1:
            at_k = torch.arange(self.key.shape[2], device=query.device)
            seen = at_k <= at[:, None]
            lowest = torch.finfo(query.dtype).min
            mask = torch.where(seen, 0.0, lowest)[None, None].to(query.dtype)
        return replace(self, query=query, mask=mask, options=options)


def own_function(module: Any, implementation: str) -> Callable[..., Any]:
    """The function a model attends with when nobody watches; eager is written beside the model."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

    if implementation != "eager":
        found: Callable[..., Any] = ALL_ATTENTION_FUNCTIONS[implementation]
        return found
    beside = sys.modules[type(module).__module__]
    eager = getattr(beside, "eager_attention_forward", None)
    if eager is None:
        raise BackendError(
            f"{type(module).__name__} has no eager attention of its own to compare with: load the "
            "model with attn_implementation='sdpa'."
        )
    return cast("Callable[..., Any]", eager)

"""PyTorch modules as functions: self-attention of x, and the attention inside a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from regard.checker.projections import first_layer, output_layer
from regard.typing import Array


def is_module(function: Callable[..., Any]) -> bool:
    """Whether this is a PyTorch module, without importing PyTorch."""
    return any(kind.__module__.startswith("torch.nn.modules") for kind in type(function).__mro__)


def is_multihead(function: Callable[..., Any]) -> bool:
    """Whether this is torch.nn.MultiheadAttention or made from it."""
    return any(kind.__name__ == "MultiheadAttention" for kind in type(function).__mro__)


def as_self_attention(module: Any) -> Callable[..., Any]:
    """nn.MultiheadAttention as a function of x; batch first, without dropout of its own."""

    def attention(x: Any, attn_mask: Any = None, key_padding_mask: Any = None) -> Any:
        x = x if module.batch_first else x.transpose(0, 1)
        output, weights = module(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=True
        )
        return (output if module.batch_first else output.transpose(0, 1)), weights

    return attention


def has_norms(module: Any) -> bool:
    """Whether there is a norm in the module: then x is not what its matrices are multiplied by."""
    return any("norm" in type(child).__name__.lower() for child in module.modules())


class BlockInside:
    """The attention inside a block: what its output layer gets, and what its first layer gets.

    Whatever stands around the attention, a norm, the input added, a feed-forward layer, takes no
    part in the comparison.
    """

    def __init__(self, module: Any, call: Callable[..., Any]) -> None:
        self.module, self.call = module, call
        self.first, self.last = first_layer(module), output_layer(module)

    @property
    def usable(self) -> bool:
        """Whether both layers can be hooked."""
        return self.first is not None and self.last is not None

    def attention(self, x: Any, **options: Any) -> Any:
        """The input of the output layer."""
        return self._captured(self.last, x, **options)

    def entry(self, x: Array) -> Array:
        """The input of the layer that gives the query, in float64."""
        import torch

        dtype = next(self.module.parameters()).dtype
        with torch.no_grad():
            captured = self._captured(self.first, torch.as_tensor(x).to(dtype))
        array: Array = captured.double().numpy()
        return array

    def _captured(self, layer: Any, x: Any, **options: Any) -> Any:
        inputs: list[Any] = []
        handle = layer.register_forward_pre_hook(lambda _, given: inputs.append(given[0]))
        try:
            self.call(x, **options)
        finally:
            handle.remove()
        return inputs[0].detach()

"""AttentionCall: one attention that happened in a program, whatever code computed it.

A source calls ``reader(call)`` once for each attention. The reader returns nothing, or an output
(b, h, q, v) that the program gets in place of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from regard.errors import ArgumentError

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Place:
    """Where an attention happened: the innermost module that runs, and what it was given.

    ``number`` counts the attentions of the module in one forward, ``forward`` those of the
    outermost module. ``part`` is 'encoder', 'decoder', 'cross' or another stack; ``layer`` counts
    within it, in the order in which layers first attended. ``given`` are the sentences and tokens
    of the module's input, ``real`` is the mask of padding (b, n) of the outermost forward, 0 for
    padding; both are None where they are not known.
    """

    path: str = ""
    number: int = 0
    part: str = "encoder"
    layer: int = 0
    forward: int = 0
    module: Any = field(default=None, repr=False)
    given: tuple[int, int] | None = None
    real: torch.Tensor | None = field(default=None, repr=False)

    @property
    def crossed(self) -> bool:
        """Whether queries and keys are of different texts."""
        return self.part.split(" ")[0] == "cross"


@dataclass(frozen=True)
class AttentionCall:
    """query (b, h, q, d), key (b, g, k, d) and value (b, g, k, v): g heads of keys serve h heads.

    ``weights`` (b, h, q, k), before dropout, are given where the program computed them; then query
    and key are None where they cannot be followed to the scores. ``mask`` is what was added to the
    scores or hid keys (True: visible), of numbers or bool, and broadcasts to (b, h, q, k);
    ``causal`` is torch's flag: query 0 has the position of key 0. ``scale`` is 1 / sqrt(d) if None.
    ``sinks`` are columns of the softmax without a value. ``logsumexp`` (b, h, q) is the natural one
    of a fused kernel. ``scores`` (b, h, q, k and the sinks) are what a program, or torch where no
    kernel serves, gave to its softmax.

    ``kernel`` is 'sdpa', 'hand', 'flash', 'flex', 'fast path', 'nested' or 'declared', and
    ``dtype`` what it computed in. Query, key, value and ``output`` (b, h, q, v) are the program's
    own, with their gradients; ``detached`` has none. They are None where a kernel keeps them to
    itself.
    ``mixed`` says that a linear layer mixed the heads between the softmax and the value: the
    weights are those before it.
    """

    place: Place = field(default_factory=Place)
    query: torch.Tensor | None = field(default=None, repr=False)
    key: torch.Tensor | None = field(default=None, repr=False)
    value: torch.Tensor | None = field(default=None, repr=False)
    output: torch.Tensor | None = field(default=None, repr=False)
    causal: bool = False
    mask: torch.Tensor | None = field(default=None, repr=False)
    scale: float | None = None
    softcap: float | None = None
    sinks: int = 0
    logsumexp: torch.Tensor | None = field(default=None, repr=False)
    weights: torch.Tensor | None = field(default=None, repr=False)
    scores: torch.Tensor | None = field(default=None, repr=False)
    dropout_p: float = 0.0
    kernel: str = "sdpa"
    dtype: torch.dtype | None = None
    mixed: bool = False

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """(b, h, q, k)."""
        if self.weights is not None:
            b, h, q, k = self.weights.shape
            return b, h, q, k
        assert self.query is not None
        assert self.key is not None
        return (*self.query.shape[:3], self.key.shape[2])

    @property
    def detached(self) -> AttentionCall:
        """This call without gradients: what a reader computes with and keeps."""
        names = ("query", "key", "value", "output", "mask", "logsumexp", "weights", "scores")
        tensors = {name: getattr(self, name) for name in names}
        return replace(self, **{name: x.detach() for name, x in tensors.items() if x is not None})

    @property
    def group(self) -> int:
        """How many heads share a head of keys; 1 where there is no key."""
        known = self.query is not None and self.key is not None
        return int(self.query.shape[1] // self.key.shape[1]) if known else 1  # type: ignore[union-attr]


Reader = Callable[[AttentionCall], Any]


def declare(
    query: Any,
    key: Any,
    value: Any = None,
    *,
    mask: Any = None,
    output: Any = None,
    causal: bool = False,
    scale: float | None = None,
    softcap: float | None = None,
    logsumexp: Any = None,
) -> Any:
    """Tell the blocks of regard around this line of an attention whose kernel they cannot see.

    Call it where your own kernel ran, and go on with what it returns: the output, or the one that
    an experiment puts in its place. Outside of such blocks it returns ``output`` at once. A kernel
    of torch, of flash-attn, or one written with a softmax is seen without it.

    Parameters
    ----------
    query, key, value : tensors (b, h, q, d), (b, g, k, d) and (b, g, k, v); g divides h.
    mask : what was added to the scores, or a mask of bool, True where a key is visible.
    output : (b, h, q, v), as the kernel returned it.
    causal : as in torch: query 0 has the position of key 0.
    scale, softcap : of the scores; 1 / sqrt(d) and none if not given.
    logsumexp : (b, h, q), natural, if the kernel returned one.

    Returns
    -------
    output : tensor or None

    Examples
    --------
    >>> torch = __import__("torch")
    >>> query = key = value = torch.eye(3)[None, None]
    >>> output = declare(query, key, value, scale=0.0, output=torch.full((1, 1, 3, 3), 1 / 3))
    """
    for name, tensor in (("query", query), ("key", key)):
        if getattr(tensor, "ndim", 0) != 4:
            found = f"shape {tuple(tensor.shape)}" if hasattr(tensor, "shape") else repr(tensor)
            raise ArgumentError(f"{name} must be a tensor (b, heads, tokens, d), got {found}.")
    from torch.overrides import handle_torch_function, has_torch_function

    if not has_torch_function((query, key)):
        return output
    options = {"causal": causal, "scale": scale, "softcap": softcap, "logsumexp": logsumexp}
    return handle_torch_function(
        declare, (query, key), query, key, value, mask=mask, output=output, **options
    )

"""The mask of a Hugging Face model as a description, so that nothing of size n x n is made.

transformers calls a registered function for the mask, once a forward. It returns the arguments of
the mask instead of a tensor; the attention function reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Band = tuple[int | None, int | None]


@dataclass(frozen=True, eq=False)
class MaskSpec:
    """The mask of one forward as its arguments, without the matrix.

    Queries have positions from ``query_start`` on, keys from ``key_start`` on; ``arguments`` are
    those of transformers, from which the model's own mask can be made.
    """

    arguments: dict[str, Any] = field(repr=False)
    made: dict[str, Any] = field(default_factory=dict, repr=False)

    ndim = 4  # some models read it before they pass a mask on

    @property
    def shape(self) -> tuple[int, int, int, int]:
        a = self.arguments
        return (int(a["batch_size"]), 1, int(a["q_length"]), int(a["kv_length"]))

    @property
    def needs_no_matrix(self) -> bool:
        """Whether torch's own attention needs no matrix: nothing is padding, and a plain band."""
        aligned = self.query_start == 0 or self.shape[2] == 1
        return self.real_bk is None and self.band in ((None, 0), (None, None)) and aligned

    @property
    def tensor(self) -> Any:
        """The model's own mask, for a model that computes with it; None where it has none."""
        return self.own(self.implementation)

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, arguments: Any = (), keywords: Any = None
    ) -> Any:
        """A function of torch on a mask is one on the model's own; adding none adds nothing."""
        import torch

        def made(argument: Any) -> Any:
            if isinstance(argument, list | tuple):  # torch.cat takes several
                return type(argument)(map(made, argument))
            if not isinstance(argument, MaskSpec):
                return argument
            return torch.zeros(()) if argument.tensor is None else argument.tensor

        named = {name: made(x) for name, x in (keywords or {}).items()}
        with torch._C.DisableTorchFunctionSubclass():
            return function(*map(made, arguments), **named)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.tensor, name)

    def __getitem__(self, index: Any) -> Any:
        return self.tensor[index]

    def __invert__(self) -> Any:
        return ~self.tensor

    def contiguous(self) -> MaskSpec:
        """The mask itself; ``generate`` calls this on a mask that it prepares."""
        return self

    @property
    def query_start(self) -> int:
        return int(self.arguments["q_offset"])

    @property
    def key_start(self) -> int:
        """The position of the first key; above 0 where a sliding cache dropped the oldest."""
        return int(self.arguments["kv_offset"])

    @cached_property
    def real_bk(self) -> NDArray[np.bool_] | None:
        """Unpadded positions (b, k) from position 0 on; None where nothing is padding."""
        padding = self.arguments.get("attention_mask")
        if padding is None:
            return None
        real_bk: NDArray[np.bool_] = padding.detach().cpu().numpy().astype(bool)
        return None if real_bk.all() else real_bk

    @cached_property
    def band(self) -> Band | None:
        """(left, right) as in ``window``; None where the rule is of another kind."""
        return mask_band(self.arguments["mask_function"])

    @property
    def implementation(self) -> str:
        name = getattr(self.arguments.get("config"), "_attn_implementation", None)
        return getattr(name, "before", None) or "sdpa"

    @property
    def is_left_to_kernel(self) -> bool:
        """Whether the model's own mask is None: nothing is padding, and a kernel hides the rest."""
        band, keys = self.band, self.shape[3]
        if band is None or self.real_bk is not None:
            return False
        reaches_all = band[0] is None or band[0] >= keys - 1
        rule = {0: "allow_is_causal_skip", None: "allow_is_bidirectional_skip"}.get(band[1])
        if not reaches_all or rule is None or not self.arguments.get(rule, band[1] == 0):
            return False
        return self.own(self.implementation) is None

    def as_kernel_computes(self, causal: bool) -> MaskSpec:
        """The description of what a kernel hides that is given no mask.

        The one query of a decode step sees every key, and none is after it.
        """
        from transformers import masking_utils

        ordered = self.band is not None and self.band[1] == 0
        rule = masking_utils.bidirectional_mask_function
        if causal if self.shape[2] > 1 else ordered:
            rule = masking_utils.causal_mask_function
        return MaskSpec(self.arguments | {"mask_function": rule}, {self.implementation: None})

    def rule(self, sentence: int) -> Callable[[NDArray[np.intp], NDArray[np.intp]], Any]:
        """The mask function of one sentence for positions of queries and keys, as regard's mask."""
        import torch

        function = self.arguments["mask_function"]
        if self.arguments.get("use_vmap"):
            for axes in ((None, None, None, 0), (None, None, 0, None)):
                function = torch.vmap(function, in_dims=axes)

        def visible(query: NDArray[np.intp], key: NDArray[np.intp]) -> Any:
            rows, columns = torch.from_numpy(query), torch.from_numpy(key)
            if self.arguments.get("use_vmap"):
                rows, columns = rows[:, 0], columns[0]
            visible_qk = function(torch.tensor(sentence), torch.tensor(0), rows, columns)
            return visible_qk.expand(query.shape[0], key.shape[1]).numpy()

        return visible

    def own(self, implementation: str) -> Any:
        """The mask as the model's own attention takes it, made once."""
        from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

        if implementation not in self.made:
            make = ALL_MASK_ATTENTION_FUNCTIONS[implementation]
            self.made[implementation] = make(**self.arguments)
        return self.made[implementation]

    def dense(self) -> torch.Tensor:
        """The mask as a matrix of bool, (b, 1, q, k), made once; True where a key is visible."""
        from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

        if "dense" not in self.made:
            skips = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
            self.made["dense"] = ALL_MASK_ATTENTION_FUNCTIONS["sdpa"](**self.arguments | skips)
        return cast("torch.Tensor", self.made["dense"])

    def own_rows(self, implementation: str, rows: list[int]) -> torch.Tensor:
        """The model's own mask for a few rows of queries alone, (b, 1, rows, k), made once."""
        import torch
        from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS

        name = f"{implementation} {rows}"
        if name not in self.made:
            make = ALL_MASK_ATTENTION_FUNCTIONS[implementation]
            skips = {"allow_is_causal_skip": False, "allow_is_bidirectional_skip": False}
            each = [
                make(**self.arguments | skips | {"q_length": 1, "q_offset": self.query_start + row})
                for row in rows
            ]
            self.made[name] = torch.cat(each, dim=2)
        return cast("torch.Tensor", self.made[name])


def describe_mask(**arguments: Any) -> MaskSpec:
    """The mask function that is registered with transformers."""
    mask = arguments.get("attention_mask")
    if isinstance(mask, MaskSpec):
        return mask
    # A cache of fixed size gives a tensor that it goes on counting with: its number is needed now.
    starts = {name: int(arguments.get(name, 0)) for name in ("q_offset", "kv_offset")}
    return MaskSpec(arguments | starts)


def mask_band(function: Callable[..., Any]) -> Band | None:
    """Read a mask function of transformers as a band around each query, where it is one.

    The functions are recognised by name and closure: they have no other description.
    """
    name = getattr(function, "__qualname__", "")
    if name == "causal_mask_function":
        return (None, 0)
    if name == "bidirectional_mask_function":
        return (None, None)
    if name == "sliding_window_overlay.<locals>.inner_mask":
        return (_closure_value(function, "sliding_window") - 1, None)
    if name == "sliding_window_bidirectional_overlay.<locals>.inner_mask":
        reach = _closure_value(function, "sliding_window")
        return (reach, reach)
    if name == "and_masks.<locals>.and_mask":
        bands = [mask_band(part) for part in _closure_value(function, "mask_functions")]
        simple = [band for band in bands if band is not None]
        if len(simple) == len(bands):
            return _least(left for left, _ in simple), _least(right for _, right in simple)
    return None


def _closure_value(function: Callable[..., Any], name: str) -> Any:
    code: Any = function.__code__
    closure: Any = function.__closure__
    return closure[code.co_freevars.index(name)].cell_contents


def _least(values: Any) -> int | None:
    return min((value for value in values if value is not None), default=None)

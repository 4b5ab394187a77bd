"""The attention and mask functions registered with transformers, and the active recorders.

Both are registered while a recorder is active: without a mask function of that name transformers
would silently pass no mask at all. A config may name 'regard' while its model is not watched (two
models may share one, another thread may use the model); it then gets the model's own attention.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from regard.watcher.capture.forwards import in_backward
from regard.watcher.capture.masks import MaskSpec, describe_mask
from regard.watcher.capture.model_call import ModelCall
from regard.watcher.capture.numbering import LayerCall, is_cross
from regard.watcher.capture.recorder import Recorder
from regard.watcher.changes.intervention_call import attend_changed
from regard.watcher.module_walk import config_of, modules_of

if TYPE_CHECKING:
    import torch

NAME = "regard"


@dataclass
class PatchedConfig:
    """A config whose attention is set to 'regard', with its former value."""

    config: Any
    before: str
    users: int = 0


class ReplacedName(str):
    """The name 'regard' in a config; a copy of the config gets the former name back."""

    before: str

    @classmethod
    def of(cls, before: str) -> ReplacedName:
        """The name, in the stead of another."""
        name = cls(NAME)
        name.before = before
        return name

    def __copy__(self) -> str:
        return self.before

    def __deepcopy__(self, memo: dict[int, Any]) -> str:
        return self.before

    def __reduce_ex__(self, protocol: Any) -> Any:
        return str, (self.before,)


LATEST = 8  # masks of a thread that are remembered: a model has a few kinds in a forward


class ThreadMasks(threading.local):
    """Descriptions of the latest masks that were left to a kernel, for each thread."""

    def __init__(self) -> None:
        self.of_thread: list[MaskSpec] = []


_left_to_kernel = ThreadMasks()
_lock = threading.RLock()
_recorders: list[Recorder] = []
_configs: dict[int, PatchedConfig] = {}


def install(recorder: Recorder, model: Any) -> None:
    """Register with transformers at the first recorder, and patch the model's configs."""
    from transformers import AttentionInterface, AttentionMaskInterface

    with _lock:
        if not _recorders:
            AttentionInterface.register(NAME, attend)
            AttentionMaskInterface.register(NAME, mask_of)
        _recorders.append(recorder)
        recorder.configs = list(configs_of(model))
        for config in recorder.configs:
            entry = _configs.setdefault(
                id(config), PatchedConfig(config, config._attn_implementation_internal)
            )
            entry.users += 1
            config._attn_implementation_internal = ReplacedName.of(entry.before)


def remove(recorder: Recorder) -> None:
    """Restore the configs that were patched; the last recorder removes the registration."""
    from transformers import AttentionInterface, AttentionMaskInterface

    with _lock:
        _recorders.remove(recorder)
        for config in recorder.configs:
            entry = _configs[id(config)]
            entry.users -= 1
            if entry.users == 0:
                config._attn_implementation_internal = entry.before
                del _configs[id(config)]
        if not _recorders:
            AttentionInterface._global_mapping.pop(NAME, None)
            AttentionMaskInterface._global_mapping.pop(NAME, None)
            _left_to_kernel.of_thread = []


def configs_of(model: Any) -> Iterator[Any]:
    """Every config that an attention of this model may read, each once."""
    from transformers import PreTrainedConfig

    configs: dict[int, Any] = {}
    queue = [config_of(module) for module in modules_of(model)]
    while queue:
        config = queue.pop()
        if isinstance(config, PreTrainedConfig) and id(config) not in configs:
            configs[id(config)] = config
            queue += [getattr(config, name, None) for name in config.sub_configs]
    yield from configs.values()


def attend(
    module: Any, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attention_mask: Any,
    **options: Any,
) -> tuple[torch.Tensor, Any]:  # fmt: skip
    """The attention function that is registered with transformers: output (b, q, h, d)."""
    before = _before(module)
    call = _described(ModelCall(module, query, key, value, attention_mask, options, before))
    if in_backward():
        return call.own()
    if any(recorder.intervention is not None for recorder in _recorders):
        return attend_changed(call, _recorders), None
    located = [(recorder, recorder.locate(call)) for recorder in _recorders]
    takers = [(recorder, layer_call) for recorder, layer_call in located if layer_call is not None]
    if not takers:
        return call.own()
    call.check()
    outputs = [
        recorder.take(_as_cross(call, recorder, layer_call), layer_call)
        for recorder, layer_call in takers
    ]
    output, weights = outputs[-1]
    if weights is None and options.get("output_attentions"):
        _warn_of_no_weights(before)
    return output, weights


def _warn_of_no_weights(implementation: str) -> None:
    """Warn that a model gives out no weights; Python shows one line of code a warning once."""
    warnings.warn(
        f"output_attentions=True gives out no weights with {implementation!r}, inside watch as "
        "outside: read them from watch, as in seen[0].map, or load the model with "
        "attn_implementation='eager'.",
        UserWarning,
        stacklevel=3,
    )


def mask_of(**arguments: Any) -> Any:
    """The mask function that is registered with transformers: a description, or the mask itself.

    Layers that gradient checkpointing computes again may do so after the block, when nothing can
    read a description any more.
    """
    mask = describe_mask(**arguments)
    if any(recorder.checkpoints for recorder in _recorders):
        return mask.tensor
    if mask.is_left_to_kernel:  # models ask whether a mask is None
        _left_to_kernel.of_thread = [*_left_to_kernel.of_thread[1 - LATEST :], mask]
        return None
    return mask


def _described(call: ModelCall) -> ModelCall:
    """The call with the description of a mask that was left to its kernel, if that is known."""
    if call.mask is not None:
        return call
    sentences, queries, keys = call.query.shape[0], call.query.shape[2], call.key.shape[2]
    masks = [x for x in _left_to_kernel.of_thread if x.shape[:3] == (sentences, 1, queries)]
    of_size = [mask for mask in masks if mask.shape[3] == keys]
    # A decoder that attends to more keys than it made a mask for is refused, by its sizes.
    cached = call.causal and queries < keys and not is_cross(call.module, "")
    for mask in (of_size or (masks if cached else []))[-1:]:
        causal = call.causal and call.implementation != "eager"
        return replace(call, mask=mask.as_kernel_computes(causal))
    return call


def _as_cross(call: ModelCall, recorder: Recorder, layer_call: LayerCall) -> ModelCall:
    """The call, marked as cross attention where its layer is one."""
    if layer_call.layer.part.split()[0] != "cross":
        return call
    return replace(call, cross=True, rows=recorder.query_rows(call.query.shape[0]))


def _before(module: Any) -> str:
    """The model's own attention implementation."""
    entry = _configs.get(id(getattr(module, "config", None)))
    if entry is None:
        entry = next(iter(_configs.values()), None)
    return (entry.before if entry is not None else None) or "sdpa"

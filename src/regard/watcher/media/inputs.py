"""Images and sound that a watched model was given: the arguments of its forwards, by reference."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from regard.watcher.capture.modules import all_modules, attach_hook, is_traced, module_config

if TYPE_CHECKING:
    from regard.watcher.capture.runs import ForwardRun


IMAGES = ("pixel_values", "pixels", "images")
SOUND = ("input_features", "input_values")
# Of diffusion models: the image as it is made, (b, channels, rows, columns), or where each of its
# patches stands; the prompt comes as vectors.
LATENTS, PATCH_POSITIONS, PROMPT = ("sample", "hidden_states"), "img_ids", "encoder_hidden_states"
ARGUMENTS_NOT_KEPT = ("past_key_values", "mm_encoder_outputs", "encoder_outputs")
ENCODED = "mm_encoder_outputs"  # of generate, which runs the encoder of images before the model


@dataclass(frozen=True)
class MediaCall:
    """One forward of a module that was given images or sound, with all its arguments by name."""

    module: Any = field(repr=False)
    arguments: Mapping[str, Any] = field(repr=False)

    @property
    def config(self) -> Any:
        return getattr(self.module, "config", None)

    def shape(self, names: tuple[str, ...]) -> tuple[int, ...] | None:
        """The shape of the first of these arguments that was given."""
        for name in names:
            if hasattr(self.arguments.get(name), "shape"):
                return tuple(self.arguments[name].shape)
        return None

    def has(self, *names: str) -> bool:
        return any(self.arguments.get(name) is not None for name in names)

    @property
    def diffuses(self) -> bool:
        """Whether the module makes an image from a prompt."""
        shape = self.shape(LATENTS)
        latents = shape is not None and len(shape) == 4
        return self.has(PROMPT) and (latents or self.has(PATCH_POSITIONS))

    def contains(self, module: Any) -> bool:
        return any(other is module for other in self.module.modules())


class MediaInputs:
    """Hooks on every model inside a model, which note the images and sound of each text."""

    def __init__(self, model: Any, runs: list[ForwardRun]) -> None:
        self.model, self._runs, self._thread = model, runs, threading.get_ident()

    @contextmanager
    def attached(self) -> Iterator[None]:
        with ExitStack() as cleanup:
            for module in [] if self.model is None else _models(self.model):
                cleanup.callback(attach_hook(module, "forward", self._ended, with_kwargs=True))
            yield

    def _ended(
        self, module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], output: Any
    ) -> None:
        if is_traced() or threading.get_ident() != self._thread or not self._runs:
            return
        call = MediaCall(module, _named(module, arguments, keywords))
        if call.has(*IMAGES, *SOUND, ENCODED) or (module is self.model and call.diffuses):
            # A cache, or what the encoder made, would stay in memory as long as the run.
            light = {
                name: x for name, x in call.arguments.items() if name not in ARGUMENTS_NOT_KEPT
            }
            encoded = {ENCODED: True} if call.has(ENCODED) else {}
            self._runs[-1].media.append(MediaCall(module, light | encoded))


def _models(model: Any) -> list[Any]:
    """The module itself, and every model of transformers inside it."""
    inside = [
        x
        for x in all_modules(model)
        if hasattr(type(x), "base_model") and module_config(x) is not None
    ]
    return list({id(x): x for x in [model, *inside]}.values())


def _named(module: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, Any]:
    """Arguments by the names of the forward's parameters.

    Those of Qwen's vision, which takes patches as hidden states, get the names of the model's.
    """
    names = _parameter_names(type(module).forward) if arguments else ()
    named = {**dict(zip(names, arguments, strict=False)), **keywords}
    if "grid_thw" in named and "hidden_states" in named:
        return {"pixel_values": named["hidden_states"], "image_grid_thw": named["grid_thw"]}
    return named


@functools.cache
def _parameter_names(forward: Callable[..., Any]) -> tuple[str, ...]:
    """The parameters of a class's forward, without the module itself."""
    try:
        return tuple(inspect.signature(forward).parameters)[1:]
    except (TypeError, ValueError):
        return ()

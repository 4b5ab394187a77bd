"""regard.watch and its options: exact facts about the attention of a model while it runs."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from regard.errors import ArgumentError, BackendError
from regard.watcher.module_walk import modules_of
from regard.watcher.watching import Watching

if TYPE_CHECKING:
    from regard.watcher.capture.forward_run import LayerKey, RunRecorder
    from regard.watcher.capture.recorder import Recorder
    from regard.watcher.seen import Seen


Layers = str | int | Iterable[int]
Notice = Callable[["LayerKey"], None]


Spans = Mapping[str, tuple[int, int]] | Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Options:
    """Layers to record, numbers of best keys and blocks, layers whose query and key to record.

    ``spans`` are (start, stop) in tokens of the text, by name.
    """

    layers: frozenset[int] | None
    top: int
    map: int
    keep: frozenset[int] | None
    spans: Mapping[str, tuple[int, int]]

    @classmethod
    def of(cls, layers: Layers, top: int, map: int, keep: Layers, spans: Spans | None) -> Options:
        """Validated options; None is every layer."""
        for name, number in (("top", top), ("map", map)):
            if not isinstance(number, int | np.integer) or number < 0:
                raise ArgumentError(f"{name} needs a whole number from 0 up, but it is {number!r}.")
        return cls(_layers("layers", layers), top, map, _layers("keep", keep), _spans(spans))

    def watches(self, layer: int) -> bool:
        """Whether facts of this layer are recorded."""
        return self.layers is None or layer in self.layers

    def keeps(self, layer: int) -> bool:
        """Whether query and key of this layer are recorded."""
        return self.keep is None or layer in self.keep

    @property
    def edges(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """The positions where a span begins or ends, sorted."""
        return np.unique([edge for span in self.spans.values() for edge in span]).astype(np.int64)


def _layers(name: str, requested: Layers) -> frozenset[int] | None:
    if isinstance(requested, str):
        if requested == "all":
            return None
    elif isinstance(requested, int | np.integer):
        return frozenset((int(requested),))
    else:
        numbers = list(requested)
        if all(isinstance(x, int | np.integer) for x in numbers):
            return frozenset(int(x) for x in numbers)
    raise ArgumentError(
        f"{name} needs 'all' or numbers of layers, counted from 0, but it is {requested!r}."
    )


def _spans(spans: Spans | None) -> Mapping[str, tuple[int, int]]:
    if spans is None:
        return {}
    pairs = dict(spans) if isinstance(spans, Mapping) else {str(i): s for i, s in enumerate(spans)}
    for name, span in pairs.items():
        integers = [isinstance(x, int | np.integer) for x in span]
        if integers != [True, True] or not 0 <= span[0] < span[1]:
            raise ArgumentError(
                f"spans needs (start, stop) in tokens, 0 <= start < stop, but {name!r} is {span!r}."
            )
    return {name: (int(a), int(b)) for name, (a, b) in pairs.items()}


OLDEST = (5, 4)  # of transformers: before it, masks are described in other words


NOTHING_SEEN = (
    "no attention was seen: no fused kernel of torch, and no softmax that a matrix product takes. "
    "A compiled model hides it: run it inside `with torch.compiler.set_stance('force_eager')`. For "
    "attention of another kind pass its query, key and value to regard.observe."
)


def watch(
    model: Any = None,
    *,
    tokenizer: Any = None,
    processor: Any = None,
    layers: Layers = "all",
    top: int = 16,
    map: int = 512,
    keep: Layers = (),
    spans: Spans | None = None,
    notice: Notice | None = None,
) -> Watching:
    """Record the attention of a model, or of any program, inside the block.

    Parameters
    ----------
    model : a model of transformers, any torch.nn.Module, or None for whatever runs in the block.
    tokenizer : the model's tokenizer, for the names of tokens and words.
    processor : the model's processor of images or sound, for ``seen.image`` and times in seconds;
        its tokenizer serves where none is given.
    layers : 'all', or the numbers of layers to watch, counted from 0 as in the model.
    top, map : how many best keys of each query, and the largest number of blocks a side, all of the
        same size, a power of two of tokens; the last may be smaller.
    keep : layers whose query and key are kept, 'all' for every one; then ``tile`` and ``row`` work.
    spans : {name: (start, stop)} in tokens; ``seen[4].span(a, b)`` is then exact attention from any
        to any.
    notice : called with each layer when it is done, for a progress bar.

    Only calls on the thread that entered the block are recorded; other threads get the model's own
    attention meanwhile. Blocks may be nested, on one model or several. Where gradients are needed
    the model's own attention computes the output, and regard observes beside it; weights are those
    before dropout. On a GPU facts stay until they are read, up to 1 GiB of them or a thirty-second
    of its memory; best keys and distances are computed then, and what is wrong with the numbers is
    said then, or on leaving the block.

    ``watch(model).ablate(4, 7)``, ``.knock_out("dog")`` and ``.redirect("it", "dog", 4, 7)`` are
    blocks in which the model runs with that change; ``seen.outcome`` is before and after.
    """

    def block() -> contextlib.AbstractContextManager[Seen]:
        options = Options.of(layers, top, map, keep, spans)
        return _watched(model, (tokenizer, processor), options, notice)

    if tokenizer is None:
        tokenizer = getattr(processor, "tokenizer", None)
    return Watching(model, tokenizer, block)


@contextlib.contextmanager
def _watched(
    model: Any, names: tuple[Any, Any], options: Options, notice: Notice | None
) -> Iterator[Seen]:
    """The block; ``names`` are the tokenizer and the processor."""
    from regard.watcher.seen import Seen

    block = _watch_model if _has_interface(model) else _watch_program
    with _uncompiled(), block(model, options, notice) as recorder, recorder.media.attached():
        yield Seen.of(recorder, *names)
        recorder.synchronize()


def _uncompiled() -> contextlib.AbstractContextManager[Any]:
    """Compiled functions run as they were written, so that their operators can be seen."""
    if "torch._dynamo" not in sys.modules:
        return contextlib.nullcontext()
    import torch

    stance: contextlib.AbstractContextManager[Any] = torch.compiler.set_stance("force_eager")
    return stance


@contextlib.contextmanager
def _watch_model(model: Any, options: Options, notice: Notice | None) -> Iterator[Recorder]:
    """A recorder of a model that attends through the attention interface of transformers."""
    from regard.watcher.capture.generation import followed
    from regard.watcher.capture.recorder import Recorder
    from regard.watcher.capture.registry import install, remove

    check_transformers()
    recorder = Recorder(_outermost(model), options, notice, model)
    with contextlib.ExitStack() as cleanup:
        cleanup.callback(recorder.detach)
        for hook in recorder.forwards.attach():
            cleanup.callback(hook.remove)
        install(recorder, model)
        cleanup.callback(remove, recorder)
        cleanup.enter_context(followed(recorder.generation))
        yield recorder
        if recorder.forwards.count:
            _check_recorded(recorder, type(model).__name__)


@contextlib.contextmanager
def _watch_program(model: Any, options: Options, notice: Notice | None) -> Iterator[RunRecorder]:
    """A recorder of the operators that a program runs."""
    from regard.watcher.capture.attention_events import attention_events
    from regard.watcher.capture.generation import followed
    from regard.watcher.capture.program import ProgramRecorder

    recorder = ProgramRecorder(model, options, notice)
    events = attention_events(recorder.take, recorder.tokens.embedded)
    with followed(recorder.generation), recorder.modules.attached(), events:
        yield recorder
    if recorder.modules.forwards:
        name = "the program" if model is None else type(model).__name__
        _check_recorded(recorder, name)


def check_transformers() -> None:
    """Raise where the transformers that is installed is older than what watch understands."""
    from transformers import __version__

    installed = tuple(int(x) for x in re.findall(r"\d+", __version__)[:2])
    if installed < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        raise BackendError(
            f"watching a model of transformers needs transformers {oldest} or later, but "
            f"{__version__} is installed: pip install -U 'transformers>={oldest}'."
        )


def _outermost(model: Any) -> Any:
    """The model of transformers itself, or the first one inside."""
    from transformers import PreTrainedModel

    return next(module for module in modules_of(model) if isinstance(module, PreTrainedModel))


def need_extra(
    what: str = "watching a model", packages: tuple[str, ...] = ("torch", "transformers")
) -> None:
    """Raise a BackendError that names the missing packages and their installation."""
    missing = [x for x in packages if importlib.util.find_spec(x) is None]
    if missing:
        raise BackendError(
            f"{what} needs {' and '.join(missing)}, not installed here: pip install '.[models]'."
        )


def _check_recorded(recorder: RunRecorder, name: str) -> None:
    """Raise where a model ran but a requested layer was not recorded."""
    layers = sorted({key.layer for key in recorder.layer_keys})
    if not layers:
        raise BackendError(f"{name} ran, but {NOTHING_SEEN}")
    missing = sorted((recorder.options.layers or set()) - set(layers))
    if missing:
        raise ArgumentError(
            f"layers needs layers of {name}, which are {', '.join(map(str, layers))}, but "
            f"{', '.join(map(str, missing))} is asked for."
        )


def _has_interface(model: Any) -> bool:
    """Whether every model of transformers inside attends through the attention interface."""
    if model is None:
        need_extra("watching a program", ("torch",))
        return False
    need_extra("watching a model", ("torch",))
    import torch

    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(
            f"watch needs a torch.nn.Module, or nothing for whatever runs in the block, but it got "
            f"{type(model).__name__}."
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise BackendError(
            "watch needs a module whose forward is Python, but this is a ScriptModule: watch the "
            "module that it was scripted or traced from."
        )
    if "transformers" not in sys.modules:
        return False
    from transformers import PreTrainedModel

    modules = modules_of(model)  # once: a model of thirty layers has hundreds
    models = [module for module in modules if isinstance(module, PreTrainedModel)]
    classes: set[Any] = {type(module) for module in modules}
    if not models or any(_outside_interface(cls) for cls in classes):
        return False
    # A sink is a column of the softmax without a key, which only the weights themselves show.
    if any(map(_has_sinks, modules)) or any(hasattr(cls, "sinks") for cls in classes):
        return False
    inside = set(modules_of(models[0])) if len(models) > 1 else {*models}
    # Two models side by side share names of layers.
    owners: set[Any] = {type(module) for module in models}
    return all(module in inside for module in models) and all(map(_can_be_set, owners))


def _has_sinks(module: Any) -> bool:
    """Whether a module has a parameter, buffer, module or other attribute ``sinks`` of its own."""
    own: dict[str, Any] = module.__dict__
    if "sinks" in own["_parameters"] or "sinks" in own["_buffers"]:
        return True
    return "sinks" in own or "sinks" in own["_modules"]


@functools.cache
def _can_be_set(cls: Any) -> bool:
    """Whether the attention of a class can be chosen, for which transformers reads its source."""
    return bool(cls._can_set_attn_implementation())


@functools.cache
def _outside_interface(cls: Any) -> bool:
    """Whether a class of transformers attends by code of its own, as its source says."""
    if "attention" not in cls.__name__.lower() or not cls.__module__.startswith("transformers."):
        return False
    owner = next(x for x in cls.__mro__ if "forward" in vars(x))
    try:
        source = inspect.getsource(owner)
    except (OSError, TypeError):
        return False
    own = "softmax(" in source or "scaled_dot_product_attention(" in source
    return own and "ALL_ATTENTION_FUNCTIONS" not in source

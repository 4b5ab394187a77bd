"""regard.watch and its block: exact facts about the attention of a model while it runs."""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    ContextDecorator,
    ExitStack,
    contextmanager,
    nullcontext,
)
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from regard.arguments import named_arguments, suggest_keywords
from regard.errors import ArgumentError, BackendError
from regard.experiments.changes import Change, Changeable
from regard.experiments.selection import HeadSelection, Numbers
from regard.text.link_file import LinkedSentence, read_links
from regard.watcher.capture.generation import followed
from regard.watcher.capture.interface import InterfaceSource
from regard.watcher.capture.modules import all_modules, uncompiled
from regard.watcher.capture.operators import OperatorSource
from regard.watcher.capture.recorder import Progress, Recorder
from regard.watcher.experiments.experiment import (
    RecordedOutputs,
    head_outputs,
    mean_outputs,
    select_heads,
)
from regard.watcher.experiments.intervention_call import ModelIntervention
from regard.watcher.experiments.rerun import RunCapture
from regard.watcher.measures.links import LinkAgreement, measure_agreement
from regard.watcher.measures.needle import (
    DEFAULT_ANSWER,
    DEFAULT_DEPTHS,
    DEFAULT_NEEDLE,
    DEFAULT_QUESTION,
    NeedleReport,
    NeedleTask,
    find_retrieval_heads,
)
from regard.watcher.on_step import Step, SteppedBlock, check_on_step
from regard.watcher.options import Layers, Options, Spans
from regard.watcher.other_layers import LayerLists
from regard.watcher.seen import Seen

if TYPE_CHECKING:
    from types import TracebackType

MIN_TRANSFORMERS_VERSION = (5, 4)  # earlier versions describe masks by other arguments
NOTHING_SEEN = (
    "no attention was seen: no fused kernel of torch, and no softmax over the keys (b, q, k) of "
    "some queries that a matrix product takes; linear attention has keys that are features. A "
    "compiled model hides it: run it inside `with torch.compiler.set_stance('force_eager')`. For "
    "attention of another kind pass its query, key and value to regard.observe."
)


@suggest_keywords
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
    progress: Progress | None = None,
    on_step: Callable[[Step], Any] | None = None,
    mixers: bool = False,
) -> Watching:
    """Record the attention of a model, or of any program, inside the block.

    Parameters
    ----------
    model : a model of transformers, a pipeline around one, any torch.nn.Module, or None for
        whatever runs in the block.
    tokenizer : the model's tokenizer, for the names of tokens and words.
    processor : the model's processor of images or sound, for ``seen.image`` and times in seconds;
        its tokenizer serves where none is given.
    layers : 'all', or the numbers of layers to watch, counted from 0 as in the model.
    top : how many best keys of each query to keep.
    map : up to so many tokens the map holds every weight; of longer texts it has at most half as
        many blocks per side, all a power of two of tokens but the last.
    keep : layers whose query and key are kept, 'all' for every one; then ``tile`` and ``row`` work.
        'auto' is every layer while they take at most 1 GiB together.
    spans : {name: (start, stop)} in tokens or {name: text}, the messages of a chat (their roles are
        the names), or 'lines'; ``seen[4].span(a, b)`` is then exact attention from any to any.
    progress : called with each layer when it is done, for a progress bar.
    on_step : called with a ``Step`` after each forward, as of each generated token, with the facts
        of its queries in every layer; nothing is recorded then, and the block has no ``seen``.
    mixers : also keep what each layer was given that mixes positions without a softmax, for
        ``seen.mixers``: up to 1 GiB together, without a limit where ``keep`` is 'all'.

    Notes
    -----
    Only calls on the thread that entered the block are recorded; other threads get the model's own
    attention meanwhile. Blocks may be nested, on one model or several. Where gradients are needed
    the model's own attention computes the output, and regard observes it as well; weights are those
    before dropout. On a GPU facts stay until they are read, up to 1 GiB of them or a thirty-second
    of its memory; best keys and distances are computed then, and what is wrong with the numbers is
    said then, or on leaving the block.

    ``watch(model).ablate(4, 7)``, ``.knock_out("dog")`` and ``.redirect("it", "dog", 4, 7)`` are
    blocks in which the model runs with that change; ``seen.outcome`` is before and after.
    """
    if not hasattr(model, "_modules") and hasattr(getattr(model, "model", None), "_modules"):
        tokenizer = tokenizer or getattr(model, "tokenizer", None)  # a pipeline of transformers
        processor = processor or getattr(model, "processor", None)
        model = model.model
    if tokenizer is None:
        tokenizer = getattr(processor, "tokenizer", None)
    if tokenizer is not None and not hasattr(tokenizer, "convert_ids_to_tokens"):
        raise ArgumentError(f"tokenizer must be one of transformers, got {tokenizer!r:.200}.")
    options = Options.from_arguments(layers, top, map, keep, spans, tokenizer)
    if progress is not None and not callable(progress):
        raise ArgumentError(f"progress must be a function of a layer, got {progress!r:.200}.")
    if on_step is not None:
        check_on_step(model, on_step)
        if mixers:
            raise ArgumentError("mixers must be False with on_step: they are read after the block.")
        block = SteppedBlock(model, replace(options, map=0, keep=None), on_step)
        return cast("Watching", block)
    if mixers and model is None:
        raise ArgumentError("mixers needs a model: regard.watch(model, mixers=True).")
    return Watching(model, tokenizer, processor, options, progress, mixers=mixers)


@named_arguments
@dataclass(frozen=True)
class Watching(Changeable["Watching"], AbstractContextManager["Seen"], ContextDecorator):
    """The block of ``with regard.watch(model) as seen:``; ``seen`` has what the model attended to.

    ``ablate``, ``knock_out``, ``redirect`` and ``patch`` give another block, inside which the model
    runs with that change; they add up. Nothing of the model is altered: after the block it is as
    it was.
    """

    model: Any = field(repr=False)
    tokenizer: Any = field(repr=False)
    processor: Any = field(repr=False)
    options: Options = field(repr=False)
    progress: Progress | None = field(default=None, repr=False)
    changes: tuple[Change, ...] = ()
    mixers: bool = False
    _entered: list[ExitStack] = field(default_factory=list, repr=False, compare=False)

    def __enter__(self) -> Seen:
        with ExitStack() as stack:
            seen = stack.enter_context(_watched(self))
            if self.changes:
                stack.enter_context(intervened(seen, self))
            self._entered.append(stack.pop_all())
        return seen

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        return self._entered.pop().__exit__(kind, error, trace)

    def needle(
        self,
        haystack: str = "",
        *,
        needle: str = DEFAULT_NEEDLE,
        question: str = DEFAULT_QUESTION,
        answer: str = DEFAULT_ANSWER,
        depths: Sequence[float] = DEFAULT_DEPTHS,
    ) -> NeedleReport:
        """Retrieval heads: a needle at several depths of a long text, and who looks at it.

        Parameters
        ----------
        haystack : the long text; without one regard's own sentences, as many as the model can read.
        needle, question, answer : a sentence, what is asked at the end of the text, and its answer
            as it stands in the needle.
        depths : where the needle stands, from 0 (first) to 1 (last).
        """
        task = NeedleTask(haystack, needle, question, answer, tuple(depths))
        return find_retrieval_heads(self, task)

    def link_agreement(self, source: str | Path | Sequence[LinkedSentence]) -> LinkAgreement:
        """Agreement of every head with links between words: dependencies, coreference.

        Parameters
        ----------
        source : a file in CoNLL-U, or with '# text = ...' and two words a line; or its sentences.
        """
        sentences = read_links(source) if isinstance(source, str | Path) else source
        return measure_agreement(self, sentences)

    def with_options(
        self, *, top: int = 16, map: int = 512, spans: Spans | None = None
    ) -> Watching:
        """The same block with all layers and other options, without progress."""
        options = Options.from_arguments(top=top, map=map, spans=spans)
        return replace(self, options=options, progress=None, _entered=[])

    def changed(self, *changes: Change) -> Watching:
        """The same block with further changes."""
        return replace(self, changes=(*self.changes, *changes), _entered=[])

    def _add(self, change: Change) -> Watching:
        return self.changed(change)

    def _select(
        self, part: str | None, layer: Numbers, head: Numbers, *, hides_keys: bool = False
    ) -> HeadSelection:
        return select_heads(self.model, part, layer, head, hides_keys=hides_keys)

    def _mean_outputs(self, texts: Sequence[str]) -> Mapping[tuple[str, int], Any]:
        return mean_outputs(self, texts)

    def _head_outputs(self, other: Seen) -> RecordedOutputs:
        return head_outputs(other)


@contextmanager
def intervened(seen: Seen, watching: Watching) -> Iterator[None]:
    """Let the changes act in the block, and record what went in and came out of the model."""
    source = seen._recorder.source
    source.intervention = ModelIntervention(watching.changes, watching.tokenizer)
    if watching.model is None:  # a program has no single run to repeat
        yield
        source.intervention.check_acted()
        return
    capture = RunCapture(watching.model)
    with capture.attached():
        yield
    source.capture = capture
    if source.ran:
        source.intervention.check_acted()


@contextmanager
def _watched(watching: Watching) -> Iterator[Seen]:
    """The block of a recorder, which is fed by the attention interface or by operators."""
    model, options = watching.model, watching.options
    source: InterfaceSource | OperatorSource
    if _uses_interface(model):
        check_transformers()
        source = InterfaceSource(_outermost(model), model, options)
    else:
        source = OperatorSource(model, options)
    source.block = replace(watching, _entered=[])
    recorder = Recorder(source, options, watching.progress)
    lists = LayerLists(model)
    recorder.mixers = _mixer_inputs(watching, source) if watching.mixers else None
    with (
        uncompiled(), followed(recorder.generation), source.attached(), recorder.media.attached(),
        lists.attached(), nullcontext() if recorder.mixers is None else recorder.mixers.attached(),
    ):  # fmt: skip
        yield Seen.from_recorder(recorder, watching.tokenizer, watching.processor, lists)
        recorder.synchronize()
    if source.error is not None:
        raise source.error
    if source.ran:
        name = "the program" if model is None else type(model).__name__
        _check_recorded(recorder, name, lists)


def _mixer_inputs(watching: Watching, source: InterfaceSource | OperatorSource) -> Any:
    """What keeps the inputs of the layers without a softmax."""
    from regard.watcher.mixers.inputs import MixerInputs  # needs torch

    return MixerInputs(watching.model, watching.options, lambda: source.paths)


def check_transformers() -> None:
    """Raise where the transformers that is installed is older than what watch understands."""
    from transformers import __version__

    installed = tuple(int(x) for x in re.findall(r"\d+", __version__)[:2])
    if installed < MIN_TRANSFORMERS_VERSION:
        oldest = ".".join(map(str, MIN_TRANSFORMERS_VERSION))
        raise BackendError(
            f"watching a model of transformers needs transformers {oldest} or later, and "
            f"{__version__} is installed: pip install -U 'transformers>={oldest}'."
        )


def _outermost(model: Any) -> Any:
    """The model of transformers itself, or the first one inside."""
    from transformers import PreTrainedModel

    return next(module for module in all_modules(model) if isinstance(module, PreTrainedModel))


def need_extra(
    what: str = "watching a model", packages: tuple[str, ...] = ("torch", "transformers")
) -> None:
    """Raise a BackendError that names the missing packages and their installation."""
    missing = [x for x in packages if importlib.util.find_spec(x) is None]
    if missing:
        raise BackendError(
            f"{what} needs {' and '.join(missing)}, not installed here: "
            "pip install 'regard[models]'."
        )


def _check_recorded(recorder: Recorder, name: str, lists: LayerLists) -> None:
    """Raise where a model ran but a requested layer was not recorded.

    A model whose layers all mix without a softmax ends as it ran, with a warning.
    """
    mixers = {} if recorder.mixers is None else recorder.mixers.mixers
    layers = sorted(
        {key.layer for key in recorder.source.layer_keys} | {x.layer for x in mixers.values()}
    )
    others = [] if layers else lists.others([])
    if others and not recorder.source.unrecorded and recorder.options.layers is None:
        what = " ".join(map(str, others))
        warnings.warn(f"{name} has nothing to show: {what}", UserWarning, stacklevel=5)
        return
    if not layers:
        softmaxes = ", ".join(recorder.source.unrecorded[:8])
        ran = f" A softmax that is none of it ran in {softmaxes}." if softmaxes else ""
        raise BackendError(f"{name} ran, but {NOTHING_SEEN}{ran}")
    missing = sorted((recorder.options.layers or set()) - set(layers))
    if missing:
        raise ArgumentError(
            f"layers must be layers of {name}, which are {', '.join(map(str, layers))}, got "
            f"{', '.join(map(str, missing))}."
        )


def _uses_interface(model: Any) -> bool:
    """Whether every model of transformers inside attends through the attention interface."""
    if model is None:
        need_extra("watching a program", ("torch",))
        return False
    need_extra("watching a model", ("torch",))
    import torch

    if not isinstance(model, torch.nn.Module):
        raise ArgumentError(
            "model must be a torch.nn.Module, or None to watch whatever runs in the block, got "
            f"{type(model).__name__}."
        )
    if isinstance(model, torch.jit.ScriptModule):
        raise BackendError(
            "the forward of a watched module must be Python, got a ScriptModule: watch the module "
            "that it was scripted or traced from."
        )
    if "transformers" not in sys.modules:
        return False
    from transformers import PreTrainedModel

    modules = all_modules(model)  # once: a model of thirty layers has hundreds
    models = [module for module in modules if isinstance(module, PreTrainedModel)]
    classes: set[Any] = {type(module) for module in modules}
    if not models or any(_outside_interface(cls) for cls in classes):
        return False
    if any(cls.__name__.startswith("TimmWrapper") for cls in classes):
        return False  # the model inside is timm's
    inside = set(all_modules(models[0])) if len(models) > 1 else {*models}
    # Two models side by side share names of layers.
    owners: set[Any] = {type(module) for module in models}
    return all(module in inside for module in models) and all(map(_can_be_set, owners))


@functools.cache
def _can_be_set(cls: Any) -> bool:
    """Whether the attention of a class can be chosen, for which transformers reads its source."""
    return bool(cls._can_set_attn_implementation())


@functools.cache
def _outside_interface(cls: Any) -> bool:
    """Whether a class attends by code of its own, as its source says."""
    from torch.nn import MultiheadAttention

    library = cls.__module__.partition(".")[0]
    if issubclass(cls, MultiheadAttention):
        return True
    if library == "torch" or (
        library == "transformers" and "attention" not in cls.__name__.lower()
    ):
        return False
    owner = next(x for x in cls.__mro__ if "forward" in vars(x))
    try:
        source = inspect.getsource(owner)
    except (OSError, TypeError):
        return False
    own = "softmax(" in source or "scaled_dot_product_attention(" in source
    return own and "ALL_ATTENTION_FUNCTIONS" not in source

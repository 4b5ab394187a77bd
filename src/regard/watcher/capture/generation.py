"""Beam search and assisted generation of transformers, followed while a model is watched.

Beam search puts the sentences of a batch into another order after every token: records follow
their beam, and in the end those of the returned sequences are left. Assisted generation runs a
draft of several tokens and cuts the cache where the draft was wrong: so are the records.
"""

from __future__ import annotations

import functools
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

from regard.errors import BackendError
from regard.watcher.capture.records import LayerRecord, SteppedRecord
from regard.watcher.capture.runs import ForwardRun, LayerKey

if TYPE_CHECKING:
    from regard.watcher.capture.recorder import Recorder
    from regard.watcher.capture.segments import Segment

Records = dict[LayerKey, list[LayerRecord]]
BeamLevel = tuple[Records, dict[str, list[Any]]]  # records and tokens of every beam


@dataclass
class FollowedGeneration:
    """The beam search or assisted generation that runs on a recorder's thread, if one does.

    ``draft_start`` is the position from which tokens may be a draft; None without a draft.
    """

    reference: weakref.ref[Any]  # to the recorder, which holds this: facts are freed with it
    root: Any
    thread: int = field(default_factory=threading.get_ident)
    beams: int = 0
    levels: list[BeamLevel] = field(default_factory=list, repr=False)
    first_run: int = 0  # of the search
    draft_start: int | None = None
    reordering: bool = False

    @property
    def recorder(self) -> Recorder:
        recorder: Any = self.reference()
        return cast("Recorder", recorder)

    @property
    def searches(self) -> bool:
        return self.beams > 0 and threading.get_ident() == self.thread

    def follows(self, model: Any) -> bool:
        if threading.get_ident() != self.thread:
            return False
        pairs = ((model, self.root), (self.root, model))
        return self.root is None or any(
            module is part for outer, part in pairs for module in outer.modules()
        )

    def reorder(self, rows: list[int]) -> None:
        """Put the records of the running text into another order of its beams."""
        run = self._flushed_run()
        if run is None:
            return
        chosen = {x: some for x, some in run.records.items() if len(some) == len(rows)}
        tokens = {x: some for x, some in run.tokens.items() if len(some) == len(rows)}
        for records in chosen.values():
            for record in records:
                record.resolve()
        self.levels.append((chosen, tokens))
        run.records |= {
            layer: [SteppedRecord.after(records[row]) for row in rows]
            for layer, records in chosen.items()
        }
        run.tokens |= {part: [some[row] for row in rows] for part, some in tokens.items()}
        for layer, (end, keys) in run.last_keys.items():
            if keys.shape[0] == len(rows):
                run.last_keys[layer] = (end, keys[rows])

    def finish_beams(self, paths: list[list[int]]) -> None:
        """Leave the records of the sequences that a search returns, by their beam of each step."""
        run = self._flushed_run()
        if run is None:
            return
        if not self.levels:
            self._take_leaves(run, paths)
            return
        leaves = [(*self.levels[len(x) - 1], x[-1]) for x in paths]
        first_records, first_tokens = self.levels[0]
        for layer in first_records:
            run.records[layer] = [records[layer][row].complete() for records, _, row in leaves]
        for part in first_tokens:
            run.tokens[part] = [tokens[part][row] for _, tokens, row in leaves]
            if part in run.prompts:  # a beam stays among the rows of its own prompt
                run.prompts[part] = [run.prompts[part][row] for _, _, row in leaves]
        prompts = {len(records) // self.beams for records in first_records.values()}
        for layer, of_layer in run.records.items():
            if layer not in first_records and len(of_layer) in prompts:
                run.records[layer] = _repeated(of_layer, len(leaves))
        for part, of_part in run.tokens.items():
            if part not in first_tokens and len(of_part) in prompts:
                run.tokens[part] = _repeated(of_part, len(leaves))
        run.closed = True

    def _take_leaves(self, run: ForwardRun, paths: list[list[int]]) -> None:
        """As above without a cache: every step read all tokens, and is a text of its own."""
        runs = self.recorder.runs
        leaves = [(runs[self.first_run + len(x) - 1], x[-1]) for x in paths]
        if any(len(some) <= row for leaf, row in leaves for some in leaf.records.values()):
            return  # layers that saw something else than the beams
        for layer in run.records:
            run.records[layer] = [leaf.records[layer][row].complete() for leaf, row in leaves]
        for part in run.tokens:
            run.tokens[part] = [leaf.tokens[part][row] for leaf, row in leaves]
        first = runs[self.first_run]
        for layer, of_layer in first.records.items():  # an encoder ran once
            if layer not in run.records:
                run.records[layer] = _repeated(of_layer, len(leaves))
        for part, of_part in first.tokens.items():
            if part not in run.tokens:
                run.tokens[part] = _repeated(of_part, len(leaves))
        run.prompts = {x: _repeated(given, len(leaves)) for x, given in first.prompts.items()}
        run.closed = True

    def begin_beams(self, beams: int) -> None:
        """Follow a beam search; its first step may be in the text that an encoder began."""
        runs = self.recorder.runs
        begun = bool(runs) and all(
            x.part.split()[0] in ("encoder", "vision") for x in runs[-1].records
        )
        self.beams, self.levels, self.first_run = beams, [], len(runs) - begun

    def records(self, run: ForwardRun, layer: LayerKey, number: int) -> list[LayerRecord]:
        """The records of a layer, made where there are none; stepped ones where it is a draft."""
        most = self.recorder.options.map
        records = run.records.setdefault(layer, [LayerRecord(most) for _ in range(number)])
        if self._is_draft(layer) and not isinstance(records[0], SteppedRecord):
            run.records[layer] = records = [SteppedRecord.after(record) for record in records]
        return records

    def steps(self, layer: LayerKey, segment: Segment, row: int) -> Iterator[Segment]:
        """A segment whose first query has position ``row``; the rows of a draft one by one."""
        size = segment.queries
        known = size if self.draft_start is None else min(max(self.draft_start - row, 0), size)
        if not self._is_draft(layer) or known == size:
            yield segment
            return
        edges = [0] * (known > 0) + list(range(known, size + 1))
        for start, stop in pairwise(edges):
            # A token's own key is the last that it sees; cross-attention sees all of them.
            later = 0 if layer.part.startswith("cross") else size - stop
            yield segment.some(start, stop).without_last_keys(later)

    def cut(self, run: ForwardRun, row: int) -> bool:
        """Drop what a wrong draft has put behind a row; False where nothing is a draft."""
        if self.draft_start is None:
            return False
        for layer, records in run.records.items():
            for record in records:
                if isinstance(record, SteppedRecord):
                    record.cut(row)
            if self._is_draft(layer) and layer.part in run.tokens:
                some = run.tokens[layer.part]
                run.tokens[layer.part] = [None if ids is None else ids[:row] for ids in some]
        run.last_keys.clear()
        return True

    def finish_draft(self, tokens: int) -> None:
        """Leave the records of the tokens that were accepted."""
        run = self._flushed_run()
        if run is not None:
            self.cut(run, tokens)
            if self.draft_start is not None:  # the first draft was read together with the prompt
                for part, given in run.prompts.items():
                    run.prompts[part] = [min(x, self.draft_start) for x in given]
            for layer, records in run.records.items():
                run.records[layer] = [record.complete() for record in records]

    def _is_draft(self, layer: LayerKey) -> bool:
        return self.draft_start is not None and layer.part.split()[0] not in ("encoder", "vision")

    def _flushed_run(self) -> ForwardRun | None:
        if not self.recorder.runs:
            return None
        run = self.recorder.runs[-1]
        self.recorder.flush(run)
        return run


def _repeated(of_prompts: list[Any], number: int) -> list[Any]:
    """What an encoder recorded of every prompt, for each of the sequences that follow it."""
    each = number // len(of_prompts)
    return [x for x in of_prompts for _ in range(each)]


_lock = threading.RLock()
_active: list[FollowedGeneration] = []
_replaced = ExitStack()


@contextmanager
def followed(generation: FollowedGeneration) -> Iterator[None]:
    """Follow the generation of a recorder's model inside the block, where there can be any."""
    if "transformers" not in sys.modules:
        yield
        return
    with _lock:
        if not _active:
            _replace_methods()
        _active.append(generation)
    try:
        yield
    finally:
        with _lock:
            _active.remove(generation)
            if not _active:
                _replaced.close()


def _replace_methods() -> None:
    """Methods of transformers that tell of beams and drafts, for the time of a block."""
    from transformers import GenerationMixin
    from transformers.cache_utils import Cache, EncoderDecoderCache

    for owner, name, method in (
        (GenerationMixin, "_beam_search", _beam_search),
        (GenerationMixin, "_assisted_decoding", _assisted_decoding),
        (Cache, "reorder_cache", _reorder_cache),
        (EncoderDecoderCache, "reorder_cache", _reorder_cache),
    ):
        before = owner.__dict__[name]
        setattr(owner, name, functools.partialmethod(method, before))
        _replaced.callback(setattr, owner, name, before)


def _beam_search(model: Any, original: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """Beam search, whose output says which beams each sequence went through."""
    followers = [x for x in _active if x.follows(model)]
    if not followers:
        return original(model, *arguments, **options)
    config = options["generation_config"]
    if hasattr(model, "_reorder_cache"):
        raise BackendError(
            f"{type(model).__name__} puts its cache into the order of the beams by a method of "
            "its own, which watch does not follow: generate with num_beams=1 while watching."
        )
    as_dict, config.return_dict_in_generate = config.return_dict_in_generate, True
    for follower in followers:
        follower.begin_beams(config.num_beams)
    try:
        output = original(model, *arguments, **options)
        paths = [[x for x in path if x >= 0] for path in output.beam_indices.tolist()]
        for follower in followers:
            follower.finish_beams(paths)
    finally:
        config.return_dict_in_generate = as_dict
        for follower in followers:
            follower.beams, follower.levels = 0, []
    return output if as_dict else output.sequences


def _reorder_cache(cache: Any, original: Callable[..., Any], beam_idx: Any) -> Any:
    """The reordering of a cache; inside that of another cache it is part of it."""
    followers = [x for x in _active if x.searches and not x.reordering]
    rows = beam_idx.tolist() if followers else []
    for follower in followers:
        follower.reorder(rows)
        follower.reordering = True
    try:
        return original(cache, beam_idx)
    finally:
        for follower in followers:
            follower.reordering = False


def _assisted_decoding(
    model: Any, original: Callable[..., Any], input_ids: Any, *arguments: Any, **options: Any
) -> Any:
    """Generation with drafts, whose last one may be longer than what is returned."""
    followers = [x for x in _active if x.follows(model)]
    mask = options.get("attention_mask")
    padding = 0 if mask is None else int((mask == 0).sum())
    for follower in followers:
        follower.draft_start = input_ids.shape[1] - padding * follower.recorder.source.drops_padding
    try:
        output = original(model, input_ids, *arguments, **options)
        sequences = getattr(output, "sequences", output)
        for follower in followers:  # the last token was not read any more
            known = sequences.shape[1] - 1 - padding * follower.recorder.source.drops_padding
            follower.finish_draft(known)
    finally:
        for follower in followers:
            follower.draft_start = None
    return output

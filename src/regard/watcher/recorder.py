"""Who watches: takes the calls of one model's attention, and keeps what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from regard.errors import BackendError
from regard.watcher.attention_call import Call, prove
from regard.watcher.deferred import TOGETHER, Doubts, Shelf, Waiting
from regard.watcher.forward_run import Memory, Place, Run, warn_if_large
from regard.watcher.forwards import Forwards
from regard.watcher.numbering import LayerCall, LayerNumbering, Turn
from regard.watcher.observe_call import Output, observed, pieces
from regard.watcher.record import Track
from regard.watcher.segments import Stretch, stretches
from regard.watcher.watch import Options

if TYPE_CHECKING:
    import torch


class Watcher:
    """Records the calls made on its own thread while it is entered; see ``watch``."""

    def __init__(
        self, model: Any, options: Options, notice: Callable[[Place], None] | None, holder: Any
    ) -> None:
        self.options, self.notice = options, notice
        self.forwards = Forwards(model, holder)
        self.numbering = LayerNumbering(model, self.forwards, options.watches)
        self.runs: list[Run] = []
        self.memory = Memory()
        self.shelf, self.doubts = Shelf(), Doubts()
        self.layers = _count_layers(model)
        self._proven: set[Place] = set()

    def locate(self, call: Call) -> LayerCall | None:
        """The layer of a call; None where it is not recorded."""
        if not self.numbering.knows(call.module):
            return None
        layer_call = self.numbering.locate(call)
        # Where only the values are others the weights were seen already.
        if layer_call.turn is Turn.SAME or not self.options.watches(layer_call.layer.layer):
            return None
        self.numbering.check(layer_call, call.module)
        return layer_call

    @property
    def places(self) -> list[Place]:
        """Every attention that was called, watched or not."""
        return self.numbering.layers

    def take(self, call: Call, layer_call: LayerCall) -> torch.Tensor:
        """Observe a call; gives the output (b, q, h, d) for the model."""
        place, cut = layer_call.layer, stretches(call)
        if layer_call.turn is Turn.NEXT:
            cut = self._packed(place, cut)
        run = self._run(place, cut, call)
        own, proven = call.must_be_own, place in self._proven
        if proven and self._can_wait(run, place, call, cut):
            self._wait(run, place, call, cut)
            return call.own()[0]
        self.settle(run, place)
        output = None if own and proven else Output(call)
        for stretch in cut:
            self._watch_stretch(run, place, call, stretch, output)
            if output is not None and not own:
                output.put_padding(stretch)
        if output is not None and not proven:
            self._prove(call, output, cut, place)
        if self.notice is not None:
            self.notice(place)
        return call.own()[0] if output is None or own else output.tensor

    def read(self) -> None:
        """Observe what waits, and hear what the device has to say of it all."""
        self.settle()
        self.doubts.settle()

    def settle(self, run: Run | None = None, place: Place | None = None) -> None:
        """Observe what waits: of one layer, of one run, or everything."""
        for one in self.runs if run is None else [run]:
            for where in list(one.waiting) if place is None else [place]:
                if where in one.waiting:
                    call, cut = one.waiting.pop(where).joined()
                    for stretch in cut:
                        self._observe(one, where, call, stretch, None)

    def _prove(self, call: Call, output: Output, cut: list[Stretch], place: Place) -> None:
        try:
            prove(call, output.tensor, real_rows(cut, output.shape[0]), str(place))
        except BackendError:
            self.doubts.settle()  # numbers that are none have words of their own
            raise
        self._proven.add(place)

    def _can_wait(self, run: Run, place: Place, call: Call, cut: list[Stretch]) -> bool:
        """Only tokens after a first call, whose blocks the map already has."""
        tracks = run.tracks.get(place)
        if tracks is None or any(tracks[x.sentences[0]].queries == 0 for x in cut):
            return False
        return run.waiting.get(place, Waiting()).fits(call, cut)

    def _wait(self, run: Run, place: Place, call: Call, cut: list[Stretch]) -> None:
        waiting = run.waiting.setdefault(place, Waiting())
        for stretch in cut:
            self._follow(run, place, call, stretch, len(waiting.queries))
        waiting.add(call, cut)
        if len(waiting.queries) == TOGETHER:
            self.settle(run, place)
        if self.notice is not None:
            self.notice(place)

    def _watch_stretch(
        self, run: Run, place: Place, call: Call, stretch: Stretch, output: Output | None
    ) -> None:
        sentences = call.query.shape[0]
        tracks = run.tracks.setdefault(place, [Track(self.options.map) for _ in range(sentences)])
        if tracks[stretch.sentences[0]].queries == 0:
            self._estimate(call, stretch, self.options.keeps(place.layer))
        self._follow(run, place, call, stretch)
        self._observe(run, place, call, stretch, output)

    def _follow(
        self, run: Run, place: Place, call: Call, stretch: Stretch, waiting: int = 0
    ) -> None:
        """Take down the tokens, and see that they follow those before."""
        if call.cross:
            return
        ids = self._ids_for(call)
        run.take_tokens(place.part, stretch, ids, call.query.shape[0])
        if place == min(x for x in run.tracks if x.part == place.part):
            run.check_order(place, stretch, call.key, self.doubts)
        run.check_follows(place, run.tracks[place][stretch.sentences[0]], stretch, waiting)

    def _observe(
        self, run: Run, place: Place, call: Call, stretch: Stretch, output: Output | None
    ) -> None:
        tracks, keep = run.tracks[place], self.options.keeps(place.layer)
        before = tracks[stretch.sentences[0]].queries
        first = before == 0
        if call.cross:  # nobody says where its queries stand: after those before
            arguments = stretch.arguments | {"offset": before}
            stretch = replace(stretch, row_start=before, arguments=arguments)
        tokens = [None] * len(tracks) if call.cross else run.tokens[place.part]
        for part, seen in observed(call, stretch, self.options, first, output is not None):
            if output is not None:
                output.put(part, seen.output)
            for sentence, later in pieces(seen, part, self.options, keep, tokens):
                tracks[sentence].expect(later)
                self.shelf.add(tracks[sentence], later)
                if later.doubt is not None:
                    self.doubts.add(later.doubt)

    def _packed(self, place: Place, cut: list[Stretch]) -> list[Stretch]:
        """Stretches of a packed sequence, moved behind the tokens that their layer has seen."""
        moved = []
        for stretch in cut:
            track = self.runs[-1].tracks[place][stretch.sentences[0]]
            rows, columns = track.first_row + track.queries, track.keys
            moved.append(replace(stretch, row_start=rows, column_start=columns))
        return moved

    def _run(self, place: Place, cut: list[Stretch], call: Call) -> Run:
        """The text this call belongs to: a new one where a layer begins again."""
        begins = any(stretch.row_start == 0 for stretch in cut) and not call.cross
        known = bool(self.runs) and place in self.runs[-1].tracks
        if not self.runs or (begins and known):
            self.settle()
            self.runs.append(Run())
        run = self.runs[-1]
        if not call.cross:
            run.rows[place.part] = real_rows(cut, call.query.shape[0])
        return run

    def query_rows(self, sentences: int) -> list[slice] | None:
        """The real queries of the decoder's sentences, for its cross attention."""
        rows = self.runs[-1].rows.get("decoder") if self.runs else None
        return rows if rows is not None and len(rows) == sentences else None

    def _ids_for(self, call: Call) -> Any:
        ids = self.forwards.ids(call.module)
        shape = (call.query.shape[0], call.query.shape[2])
        return ids if ids is not None and ids.shape == shape else None

    def _estimate(self, call: Call, stretch: Stretch, keep: bool) -> None:
        before = self.memory
        self.memory = before.larger(Memory.of(call, stretch, self.options, keep))
        if self.memory != before:
            warn_if_large(before, self.memory, self.watched_layers)

    @property
    def watched_layers(self) -> int:
        """How many layers of a part are recorded."""
        return self.layers if self.options.layers is None else len(self.options.layers)


def real_rows(cut: list[Stretch], sentences: int) -> list[slice]:
    """The real queries of each sentence; none where a sentence is all padding."""
    rows = [slice(0, 0)] * sentences
    for stretch in cut:
        for sentence in stretch.sentences:
            rows[sentence] = stretch.rows
    return rows


def _count_layers(model: Any) -> int:
    config = getattr(model, "config", None)
    found = [
        getattr(config, x, None) for x in ("num_hidden_layers", "decoder_layers", "num_layers")
    ]
    return max([number for number in found if isinstance(number, int)] or [1])

"""Experiments on readings of the shipped model: changes in NumPy, probabilities, effects, scores.

``ReadingAdapter`` is what ``regard.experiments`` asks of this kind of model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from regard.blas import one_blas_thread
from regard.engine.threads import run_in_order
from regard.errors import ArgumentError
from regard.experiments.because import (
    NORM_BIAS,
    Component,
    ScoreDecomposition,
    ScoreFactor,
    ScoreTerm,
    TokenComponent,
    pair_terms,
    sorted_terms,
)
from regard.experiments.changes import (
    Change,
    HeadOutputs,
    KnockOut,
    Patch,
    Progress,
    Redirect,
    Replace,
    acting,
    redirected,
)
from regard.experiments.effects import Choice, Effects
from regard.experiments.experiment import Experiment, Parting, WordProbability
from regard.experiments.selection import (
    PARTS,
    HeadSelection,
    Numbers,
    Positions,
    Word,
    check_number,
    check_part,
    word_tokens,
)
from regard.heads.links import single_word
from regard.text.words import TokenizedText
from regard.transformer.config import END, PAD, START
from regard.transformer.intervention import AttentionResult, Intervention, in_turn
from regard.transformer.layers import times
from regard.transformer.model import Encoded
from regard.transformer.residual import ResidualRun
from regard.transformer.translation import readable
from regard.typing import Array

if TYPE_CHECKING:
    from regard.transformer.reading import Reading

MAX_CANDIDATES = 6
MIN_CANDIDATE_PROBABILITY = 0.005  # half a percent: what rounds to 0 % is not listed


@dataclass
class ReadingAttention:
    """One attention of a run of the shipped model, as changes see it.

    ``result`` is replaced by every change. Its queries are a whole text, or one step of decoding.
    """

    result: AttentionResult
    query_text: TokenizedText
    key_text: TokenizedText
    row: int = 0

    @property
    def part(self) -> str:
        return self.result.part

    @property
    def layer(self) -> int:
        return self.result.layer

    def index(self, heads: HeadSelection) -> Positions:
        return heads.index(self.result.output_bhqd.shape[1])

    def hide(self, heads: Positions, keys: Positions) -> None:
        """Mask keys for every query; in decoding those that were written already."""
        _, total, length, _ = self.result.key_bhkd.shape
        present = keys[keys < length]
        if not len(present):
            return
        hidden_hqk = np.zeros((total, 1, length), bool)
        hidden_hqk[heads[:, None], 0, present] = True
        self.result = self.result.without_keys(hidden_hqk)

    def redirect(
        self,
        heads: Positions,
        query: tuple[str, Positions],
        key: tuple[str, Positions],
        weight: float,
    ) -> None:
        """Write the weights of the rows; a row that has them already keeps its bits."""
        rows = np.flatnonzero(np.isin(self.result.positions_q, query[1]))
        if not len(rows):
            return
        weights_bhqk = self.result.weights_bhqk.copy()
        chosen = np.ix_(np.arange(len(weights_bhqk)), heads, rows)
        weights_bhqk[chosen] = redirected(weights_bhqk[chosen], key[1], weight)
        self.result = self.result.with_weights(weights_bhqk)

    def write(self, heads: Positions, queries: Positions | None, output: Any) -> None:
        output_bhqd = self.result.output_bhqd.copy()
        if queries is None:
            output_bhqd[:, heads] = output
        else:
            at = queries - self.result.first
            output_bhqd[np.ix_(np.arange(len(output_bhqd)), heads, at)] = output
        self.result = self.result.with_output(output_bhqd)

    def matching_positions(
        self, other: HeadOutputs, word: Word | None
    ) -> tuple[Positions, Positions]:
        rows, sources = matching_positions(
            self.part, self.query_text, other.query_text(self.part), word
        )
        present = np.isin(rows, self.result.positions_q)
        return rows[present], sources[present]


def matching_positions(
    part: str, text: TokenizedText, other: TokenizedText, word: Word | None
) -> tuple[Positions, Positions]:
    """Positions that a patch overwrites, and those of the other text that it takes."""
    if word is not None:
        rows, sources = word_tokens(text, word)[1], word_tokens(other, word)[1]
    else:
        rows, sources = np.arange(len(text.tokens)), np.arange(len(other.tokens))
        if part != "encoder":  # the translations differ: as far as both go
            rows = sources = rows[: min(len(rows), len(sources))]
    if len(rows) != len(sources):
        raise ArgumentError(
            f"patch needs the same number of tokens in both texts, got {len(rows)} and "
            f"{len(sources)}: give word=, or a sentence that differs in one short word."
        )
    return rows, sources


@dataclass(frozen=True)
class ReadingOutputs:
    """Head outputs of another reading, for a patch."""

    reading: Reading

    @property
    def described(self) -> str:
        return f'"{self.reading.sentence}"'

    def query_text(self, part: str) -> TokenizedText:
        return self.reading.texts(part)[0]

    def outputs(self, part: str, layer: int) -> Array:
        call = self.reading.attention_call(part, layer)
        output_hqd: Array = np.matmul(call.weights()[0], call.value_bhkd[0])
        return output_hqd


@dataclass(frozen=True)
class ActingChanges:
    """The intervention of some changes, whose words are those of two texts."""

    changes: tuple[Change, ...]
    source: TokenizedText
    target: TokenizedText

    def __call__(self, result: AttentionResult) -> AttentionResult:
        queries = self.source if result.part == "encoder" else self.target
        keys = self.target if result.part == "decoder" else self.source
        attention = ReadingAttention(result, queries, keys)
        for change in acting(self.changes, result.part, result.layer):
            change.act(attention)
        return attention.result


class ReadingAdapter:
    """Experiments on readings: see ``experiments.experiment.ModelAdapter``."""

    hides_own_rows = True
    runs_at_once = False  # words are checked before, and changes are often added one by one

    def select(
        self, run: Reading, part: str | None, layer: Numbers, head: Numbers, *, hides_keys: bool
    ) -> HeadSelection:
        """The encoder by default; for hidden keys cross-attention too, unless heads are named."""
        if part is not None:
            check_part(part)
        both = hides_keys and part is None and layer is None and head is None
        parts = ("encoder", "cross") if both else (part or "encoder",)
        sizes = run.model.config
        return HeadSelection.from_numbers(parts, layer, head, (sizes.layers, sizes.heads))

    def mean_outputs(self, run: Reading, texts: Sequence[str]) -> Mapping[tuple[str, int], Array]:
        return _mean_outputs(_ModelOf(run), tuple(texts))

    def head_outputs(self, run: Reading, other: Reading | str) -> ReadingOutputs:
        """Head outputs of another sentence, or of another reading of the same model."""
        if isinstance(other, str):
            return ReadingOutputs(run.reread(other)[0])
        if not isinstance(other, type(run)):
            raise ArgumentError(f"other must be a reading or a sentence, got {other!r}.")
        if other.model is not run.model:
            raise ArgumentError("the other reading must be of the same model, got another model's.")
        return ReadingOutputs(other)

    def word_name(self, run: Reading, part: str | None, word: Word, *, is_query: bool) -> str:
        queries, keys = run.texts(part or "encoder")
        return word_tokens(queries if is_query else keys, word)[0]

    def weight(
        self, run: Reading, part: str, layer: int, head: int, word: Word, to: Word
    ) -> float | None:
        """Weight from one word to another; None for spans of tokens."""
        if isinstance(word, tuple) or isinstance(to, tuple):
            return None
        queries, keys = run.texts(part)
        weights_qk = run.weights(layer, head, part=part)
        return float(weights_qk[single_word(queries.words, word), single_word(keys.words, to)])

    def check(self, run: Reading, changes: Sequence[Change]) -> None:
        for change in changes:
            for part in change.heads.parts or PARTS:
                _check_words(run, change, part)
        _check_visible(run, [x for x in changes if isinstance(x, KnockOut)])

    def rerun(self, run: Reading, changes: Sequence[Change], changed: Sequence[str]) -> Reading:
        intervention = ActingChanges(tuple(changes), run.source, run.target)
        parts = {part for change in changes for part in change.heads.parts or PARTS}
        note = f"Changed by hand: {'; '.join(changed)}. Steps show what a head would do itself."
        return run.rerun(intervention, encoder_only=parts == {"encoder"}, notes=(note,))

    def replaced(self, run: Reading, word: str | int | None, by: str) -> tuple[Reading, Replace]:
        words = run.words
        if word is None:
            if readable(by) == readable(run.sentence):
                raise ArgumentError("replace_sentence needs another sentence, got the same one.")
            return run.reread(by)[0], Replace(by)
        number = single_word(words, word)
        if number == len(words) - 1:
            raise ArgumentError("(end) cannot be replaced: replace a word of the sentence.")
        # In the text as the model reads it: where NFKC changed it, the original has other words.
        tokens = run.translated.source[:-1]
        first, last = np.searchsorted(run.source.word_of_token, (number, number + 1)).tolist()
        decode = run.model.tokenizer.decode
        whole, before, through = decode(tokens), decode(tokens[:first]), decode(tokens[:last])
        space = " " if through[len(before) :].startswith(" ") else ""
        sentence = before + space + by + whole[len(through) :]
        return run.reread(sentence)[0], Replace(by, words[number])

    def weights(
        self,
        run: Reading,
        layer: int | None,
        head: int | None,
        *,
        part: str | None,
        by: str,
        weighted: str | None,
    ) -> Array:
        return run.weights(
            layer, head, part="encoder" if part is None else part, by=by, weighted=weighted
        )

    def same(self, before: Reading, after: Reading) -> bool:
        return before.translated.tokens == after.translated.tokens

    def parting(self, before: Reading, after: Reading) -> Parting:
        readings = (before, after)
        words = [(*x.translation_words, "(end)") for x in readings]
        if before.translated.tokens == after.translated.tokens:
            rows = self.probabilities(before, after)
            changes = [abs(row.after - row.before) for row in rows]
            first = int(np.argmax(changes))
            candidates = [rows[first]]
        else:
            pairs = zip(*words, strict=False)
            first = next((i for i, (a, b) in enumerate(pairs) if a != b), min(map(len, words)) - 1)
            candidates = []
            for n, forced in enumerate(readings):
                one, other = (
                    float(np.exp(word_log_probabilities(x, forced)[first])) for x in readings
                )
                candidates.append(WordProbability(words[n][first], one, other))
        prefix = words[0][:first]
        return Parting(prefix, tuple(_with_likely_tokens(candidates, before, after, first)))

    def probabilities(self, before: Reading, after: Reading) -> tuple[WordProbability, ...]:
        words = (*before.translation_words, "(end)")
        one, other = (np.exp(word_log_probabilities(x, before)).tolist() for x in (before, after))
        return tuple(map(WordProbability, words, one, other))

    def output_words(self, run: Reading) -> tuple[str, ...]:
        return run.translation_words

    def output_texts(self, run: Reading) -> tuple[str, ...]:
        return (run.translation,)

    def logits(self, run: Reading) -> Array:
        return times(run.decoded.x_bte, run.model.embedding_ve.T)

    def default_position(self, before: Reading, after: Reading, sentence: int) -> int | None:
        """None: the last of either."""
        return None

    def next_probabilities(
        self, run: Reading, sentence: int, position: int | None
    ) -> NDArray[np.float64]:
        """probability_v of what follows (start) and the first ``position`` tokens."""
        check_number("sentence", sentence, 1)
        logp_tv = log_probabilities(run, run.translated.tokens)
        at = len(logp_tv) - 1 if position is None else position
        at = check_number("position", at, len(logp_tv))
        probability_v: NDArray[np.float64] = np.exp(logp_tv[at])
        return probability_v

    def token_name(self, run: Reading, token: int) -> str:
        return "(end)" if token == END else run.model.tokenizer.decode([token]).strip()

    def to_dict(self, experiment: Experiment, by: str) -> dict[str, Any]:
        before, after = experiment.before, experiment.after
        weights = {part: after.weights(part=part, by=by).tolist() for part in PARTS}
        return {
            "sentence": before.sentence,
            "sentence_after": after.sentence,
            "translation": before.translation,
            "translation_after": after.translation,
            "words": list(after.words),
            "translation_words": list(before.translation_words),
            "translation_words_after": list(after.translation_words),
            "differing": list(experiment.differing[0]),
            "differing_after": list(experiment.differing[1]),
            "prefix": list(experiment.parting.prefix),
            "candidates": [x.to_dict() for x in experiment.parting.candidates],
            "probabilities": [x.to_dict() for x in experiment.probabilities],
            "by": by,
            "weights": weights,
        }


READING_ADAPTER = ReadingAdapter()


def _check_words(reading: Reading, change: Change, part: str) -> None:
    queries, keys = reading.texts(part)
    if isinstance(change, KnockOut):
        change.tokens(keys)
    elif isinstance(change, Patch):
        matching_positions(part, queries, change.other.query_text(part), change.word)
    elif isinstance(change, Redirect):
        (name, rows), (target, columns) = (
            word_tokens(queries, change.word),
            word_tokens(keys, change.to),
        )
        if part == "decoder" and columns.max() > rows.min():
            raise ArgumentError(_later(name, target))


def _later(word: str, other: str) -> str:
    return (
        f"{word} can only look at words before it, but {other} comes later: the decoder cannot see "
        "what it has not written yet."
    )


def _check_visible(reading: Reading, knock_outs: Sequence[KnockOut]) -> None:
    """Raise where the knock-outs together leave some head without any key to look at."""
    sizes = reading.model.config
    for part in PARTS:
        text = reading.texts(part)[1]
        hidden_lhk = np.zeros((sizes.layers, sizes.heads, len(text.tokens)), bool)
        for change in knock_outs:
            heads = change.heads.index(sizes.heads)
            for layer in range(sizes.layers):
                if change.heads.covers(part, layer):
                    hidden_lhk[layer, heads[:, None], change.tokens(text)] = True
        # The first position of the decoder sees (start) alone.
        seen_lhk = hidden_lhk[:, :, :1] if part == "decoder" else hidden_lhk
        if seen_lhk.all(axis=-1).any():
            first = f"{text.words[0]}, all that its first position sees,"
            raise ArgumentError(
                "knock_out must leave a word to look at, but it hides "
                f"{first if part == 'decoder' else 'every word'} from a head of the {part}: knock "
                "out fewer words, or name layers and heads."
            )


@dataclass(frozen=True)
class _ModelOf:
    """A reading as the key of a cache by its model, whose arrays cannot be compared."""

    reading: Reading

    def __hash__(self) -> int:
        return id(self.reading.model)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ModelOf) and other.reading.model is self.reading.model


@lru_cache(maxsize=4)
def _mean_outputs(key: _ModelOf, sentences: tuple[str, ...]) -> dict[tuple[str, int], Array]:
    readings = key.reading.reread(*sentences)
    means = {}
    for part in PARTS:
        for layer in range(key.reading.model.config.layers):
            outputs = []
            for reading in readings:
                call = reading.attention_call(part, layer)
                arrays = call.weights()[0], call.value_bhkd[0]
                outputs.append(np.matmul(*arrays, dtype=np.float64))
            means[part, layer] = np.concatenate(outputs, axis=1).mean(axis=1)
    return means


@one_blas_thread()
def log_probabilities(reading: Reading, tokens: Sequence[int]) -> Array:
    """logp_tv of what follows each beginning of a target, in the run of a reading.

    Row t is given (start) and the first t tokens; there is one row more than tokens.
    """
    if tuple(tokens) == reading.translated.tokens:
        x_te = reading.decoded.x_bte[0]
    else:
        given_bt = np.array([(START, *tokens)])
        decoded = reading.model.decode(reading.encoded, given_bt, intervention=reading.intervention)
        x_te = decoded.x_bte[0]
    logits_tv = times(x_te, reading.model.embedding_ve.T).astype(np.float64)
    logits_tv -= logits_tv.max(axis=1, keepdims=True)
    logp_tv: Array = logits_tv - np.log(np.exp(logits_tv).sum(axis=1, keepdims=True))
    return logp_tv


def word_log_probabilities(reading: Reading, forced: Reading) -> NDArray[np.float64]:
    """The log-probability of each word of another reading's translation, and of its end, here."""
    tokens = forced.translated.tokens
    logp_tv = log_probabilities(reading, tokens)
    targets = (*tokens, END)
    logp_t = logp_tv[np.arange(len(targets)), targets]
    word_of_token = [x - 1 for x in forced.target.word_of_token[1:]]  # (start) is no word of it
    logp_w = np.zeros(len(forced.translation_words) + 1)
    np.add.at(logp_w, [*word_of_token, len(logp_w) - 1], logp_t)
    return logp_w


def _with_likely_tokens(
    candidates: list[WordProbability], before: Reading, after: Reading, first: int
) -> list[WordProbability]:
    """The candidates, and further words of one token that either run finds likely."""
    length = sum(x <= first for x in before.target.word_of_token[1:])
    tokens = before.translated.tokens[:length]
    both_v = [np.exp(log_probabilities(x, tokens)[-1]) for x in (before, after)]
    best = np.argsort(-np.maximum(*both_v), kind="stable")[: 3 * MAX_CANDIDATES]
    listed = {candidate.word for candidate in candidates}
    found = list(candidates)
    for token in best.tolist():
        word = READING_ADAPTER.token_name(before, token)
        likely = max(x[token] for x in both_v) >= MIN_CANDIDATE_PROBABILITY
        starts = any(candidate.word.startswith(word) for candidate in found)
        if likely and word and word not in listed and not starts:
            one, other = (float(x[token]) for x in both_v)
            found.append(WordProbability(word, one, other, token))
            listed.add(word)
    return found[:MAX_CANDIDATES]


def effects(
    reading: Reading, of: str | int, against: str | None = None, progress: Progress | None = None
) -> Effects:
    """Run a reading again without each head in turn, and compare with the formula.

    ``progress`` is called with the number of heads done and of all.
    """
    choice = find_choice(reading, of, against)
    sizes = reading.model.config
    units = [(part, layer) for part in PARTS for layer in range(sizes.layers)]
    by_layer = {unit: np.zeros(sizes.heads) for unit in units}
    full = logit_difference(reading, choice)
    done = [0]

    def work(unit: tuple[str, int], scratch: object) -> Array:
        return full - without_each_head(reading, choice, *unit)

    def commit(unit: tuple[str, int], effect_h: Array) -> None:
        by_layer[unit] = effect_h
        done[0] += sizes.heads
        if progress is not None:
            progress(done[0], sizes.heads * len(units))

    run_in_order(units, work, commit)
    direct_mlh = direct_effects(reading, choice)
    direct = {(part, layer): direct_mlh[PARTS.index(part), layer] for part, layer in units}
    return Effects(choice, full, by_layer, direct, run=reading)


def logit_difference(reading: Reading, choice: Choice) -> float:
    """The logit of one word minus that of the other, in the run with all heads."""
    return float(_difference(reading, choice, reading.encoded, reading.intervention)[0])


def without_each_head(reading: Reading, choice: Choice, part: str, layer: int) -> Array:
    """The logit difference without each head of one layer, a row of the batch for each."""
    check_part(part)
    check_number("layer", layer, reading.model.config.layers)
    model, heads = reading.model, reading.model.config.heads

    def ablate(result: AttentionResult) -> AttentionResult:
        if (result.part, result.layer) != (part, layer):
            return result
        output_bhqd = result.output_bhqd.copy()
        output_bhqd[np.arange(heads), np.arange(heads)] = 0
        return result.with_output(output_bhqd)

    changes = [x for x in (reading.intervention, ablate) if x is not None]
    intervention = in_turn(changes)
    if part == "encoder":
        source_bt = np.tile(reading.translated.source, (heads, 1))
        encoded = model.encode(source_bt, intervention=intervention)
    else:
        memory_bke = np.repeat(reading.encoded.memory_bke, heads, axis=0)
        encoded = Encoded(memory_bke, np.repeat(reading.encoded.lengths_b, heads), ())
    return _difference(reading, choice, encoded, intervention)


@one_blas_thread()
def _difference(
    reading: Reading, choice: Choice, encoded: Encoded, intervention: Intervention | None
) -> Array:
    """difference_b: the logit of one token minus that of the other, for each row of the batch."""
    model = reading.model
    given_bt = np.tile((START, *choice.prefix), (len(encoded.memory_bke), 1))
    x_be = model.decode(encoded, given_bt, intervention=intervention).x_bte[:, -1]
    difference: Array = times(x_be.astype(np.float64), _direction(reading, choice)[:, None])[:, 0]
    return difference


def _direction(reading: Reading, choice: Choice) -> Array:
    """direction_e: its product with the last normed vector is the logit difference."""
    vectors_ne = np.asarray(reading.model.embedding_ve[np.array(choice.tokens)], np.float64)
    direction_e: Array = vectors_ne[0] - vectors_ne[1]
    return direction_e


@one_blas_thread()
def direct_effects(reading: Reading, choice: Choice) -> NDArray[np.float64]:
    """direct_mlh: every head's own contribution to the logit difference, all else frozen.

    A head of the decoder or of cross-attention writes into the last vector itself. A head of the
    encoder reaches it through the values that cross-attention reads, weights frozen.
    """
    run = ResidualRun.from_reading(reading, choice.prefix)
    last_e = run.output_norm.pull_back(_direction(reading, choice))[-1]
    sizes = reading.model.config
    direct_mlh = np.zeros((len(PARTS), sizes.layers, sizes.heads))
    target, source = run.target, run.source
    memory_te = _memory_directions(run, last_e)
    for m, layer, head in np.ndindex(*direct_mlh.shape):
        component = Component("head", PARTS[m], layer, head)
        if PARTS[m] == "encoder":
            written_te = source.written_nte[source.index(component)]
            direct_mlh[m, layer, head] = np.vdot(written_te, memory_te)
        else:
            direct_mlh[m, layer, head] = target.written_nte[target.index(component), -1] @ last_e
    return direct_mlh


def _memory_directions(run: ResidualRun, last_e: Array) -> Array:
    """Directions in the encoder's last stream whose products are its share of the difference."""
    directions_te = np.zeros(run.source.written_nte.shape[1:])
    for layer in range(run.reading.model.config.layers):
        w_value, w_output = (run.matrix("cross", layer, x) for x in ("w_value", "w_output"))
        weights_hqk = run.attention("cross", layer).weights_bhqk[0]
        width = run.reading.model.config.head_width
        for head, weights_qk in enumerate(weights_hqk):
            at = slice(head * width, (head + 1) * width)
            value_e = w_value[:, at] @ (w_output[at] @ last_e)
            directions_te += weights_qk[-1][:, None] * value_e
    return run.key_norm("cross", 0).pull_back(directions_te)


def find_choice(reading: Reading, of: str | int, against: str | None = None) -> Choice:
    """Position of a word of the translation, and the token that another word would begin with."""
    number = single_word(reading.translation_words, of)
    word = reading.translation_words[number]
    tokens = reading.translated.tokens
    start = sum(x - 1 < number for x in reading.target.word_of_token[1:])
    if against is None:
        against, other = _runner_up(reading, start, word)
        rivals: Sequence[int] = (other,)
    else:
        if not isinstance(against, str):
            raise ArgumentError(f"against must be a word, got {against!r}.")
        rivals = _tokens_in_context(reading, number, against)
    own = tokens[start:]
    same = next((i for i, (a, b) in enumerate(zip(own, rivals, strict=False)) if a != b), None)
    if same is None:
        raise ArgumentError(
            f"{word!r} and {against!r} must begin with different tokens, but one is the beginning "
            "of the other: compare it with another word."
        )
    prefix = tokens[: start + same]
    words = reading.translation_words[:number]
    return Choice(word, against, (own[same], rivals[same]), prefix, words)


def _tokens_in_context(reading: Reading, number: int, word: str) -> list[int]:
    """The tokens of a word in place of a word of the translation, written as it would be there."""
    tokenizer, tokens = reading.model.tokenizer, reading.translated.tokens
    start = sum(x - 1 < number for x in reading.target.word_of_token[1:])
    before = list(tokens[:start])
    glued = not tokenizer.piece(tokens[start]).startswith("\u2581")
    text = tokenizer.decode(before) + ("" if glued else " ") + word
    ids = tokenizer.encode(text)
    rest = ids[start:]
    if ids[:start] != before or not rest or word.strip() == "":
        raise ArgumentError(
            f"{word!r} must be a word that can follow "
            f"{' '.join(reading.translation_words[:number])!r}, but it cannot be spelled there: "
            "take another word."
        )
    return rest


def _runner_up(reading: Reading, start: int, word: str) -> tuple[str, int]:
    """The likeliest other token at one position that does not begin the same word."""
    tokens = reading.translated.tokens
    order = np.argsort(-log_probabilities(reading, tokens)[start], kind="stable").tolist()
    for token in order:
        name = READING_ADAPTER.token_name(reading, token)
        if token not in (PAD, tokens[start]) and name and not word.startswith(name):
            return name, token
    raise ArgumentError(f"{word!r} has no other word to be compared with: give against=.")


@one_blas_thread()
def because(
    reading: Reading,
    word: str | int,
    other: str | int,
    layer: int,
    head: int,
    *,
    part: str,
    against: str | int | None,
) -> ScoreDecomposition:
    """The score of one word on another in one head, as a sum over pairs of components."""
    run = ResidualRun.from_reading(reading)
    at = (part, layer, head)
    query, key = _token_pair(run, at, word, other)
    terms = list(_score_terms(run, at, query, key))
    texts, rival = reading.texts(part), None
    if against is not None:
        _, rival = _token_pair(run, at, word, against, query)
        terms += _score_terms(run, at, query, rival, sign=-1)
    largest_first = sorted_terms(terms)
    return ScoreDecomposition(
        part=part,
        layer=layer,
        head=head,
        query=_piece_name(texts[0], query),
        key=_piece_name(texts[1], key),
        positions=(query, key),
        score=_score(run, at, query, key),
        weight=float(run.attention(part, layer).weights_bhqk[0, head, query, key]),
        total=float(sum(term.value for term in largest_first)),
        terms=largest_first,
        against="" if rival is None else _piece_name(texts[1], rival),
        score_against=0.0 if rival is None else _score(run, at, query, rival),
        sentence=reading.sentence,
        open_component=run.shares,
    )


def _score(run: ResidualRun, at: tuple[str, int, int], query: int, key: int) -> float:
    result, head = run.attention(*at[:2]), at[2]
    scale = run.reading.model.config.head_width**-0.5
    return float(result.query_bhqd[0, head, query] @ result.key_bhkd[0, head, key] * scale)


def _piece_name(text: TokenizedText, position: int) -> str:
    """A word, with the piece of it that is meant where it has several."""
    word = text.word_of_token[position]
    if text.word_of_token.count(word) == 1:
        return text.words[word]
    return f"{text.words[word]} ({text.tokens[position]})"


def _token_pair(
    run: ResidualRun,
    at: tuple[str, int, int],
    word: str | int,
    other: str | int,
    query: int | None = None,
) -> tuple[int, int]:
    """The tokens of two words between which the head's weight is the largest.

    The first is ``query`` where it is chosen already.
    """
    part, layer, head = at
    queries, keys = run.reading.texts(part)
    (_, rows), (name, columns) = word_tokens(queries, word), word_tokens(keys, other)
    rows = rows if query is None else np.array([query])
    weights_qk = run.attention(part, layer).weights_bhqk[0, head][np.ix_(rows, columns)]
    row, column = np.unravel_index(int(weights_qk.argmax()), weights_qk.shape)
    query, key = int(rows[row]), int(columns[column])
    if part == "decoder" and key > query:
        raise ArgumentError(_later(queries.tokens[query], name))
    return query, key


def _factor(
    run: ResidualRun, at: tuple[str, int, int], position: int, *, is_query: bool
) -> ScoreFactor:
    """Query or key of one token as a sum of components, the norm's bias last."""
    part, layer, head = at
    stream = run.stream(part) if is_query else run.keys_stream(part)
    number = stream.before(part, layer) if is_query else run.keys_before(part, layer)
    norms = run.query_norm(part, layer) if is_query else run.key_norm(part, layer)
    norm = norms.at(position)
    matrix_ed = run.matrix(part, layer, "w_query" if is_query else "w_key", head)
    text = "source" if stream is run.source else "target"
    word = run.token_name(text, position)
    components = (*stream.components[:number], NORM_BIAS)
    sources = tuple(TokenComponent(text, position, word, x) for x in components)
    normed_ne = np.vstack([norm.apply(stream.written_nte[:number, position]), norm.bias_e])
    return ScoreFactor(sources, normed_ne @ matrix_ed, matrix_ed, norm)


def _score_terms(
    run: ResidualRun, at: tuple[str, int, int], query: int, key: int, sign: int = 1
) -> tuple[ScoreTerm, ...]:
    scale = sign * run.reading.model.config.head_width**-0.5
    factors = (_factor(run, at, query, is_query=True), _factor(run, at, key, is_query=False))
    return tuple(pair_terms(*factors, scale))

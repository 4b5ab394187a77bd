"""The contrast judge: one head of one model, as it is and with its row of the pronoun changed.

The row of the pronoun is turned to the right noun, to the wrong one or to (end), or the head is
switched off, in a real second run. If the French pronoun follows, the head is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from anaphora.generator import cells
from anaphora.nouns import NOUNS
from judge.frames import ContrastPair, ContrastSentence, all_sentences, forms
from judge.french_gender import Forms, gender, gender_shares, may_differ
from judge.sentences import (
    MarkedNouns,
    hand_written,
    hand_written_forms,
    no_antecedent,
)
from regard.text.words import TokenizedText, to_words, tokenized_text
from regard.transformer.accuracy import SURE
from regard.transformer.intervention import AttentionResult, Intervention
from regard.transformer.model import Encoded, Transformer
from regard.transformer.search import Search
from regard.transformer.translation import Translation, run_batches, source_tokens
from regard.typing import Array

Head = tuple[int, int]
TURNS = ("right", "wrong", "end", "off")
CELLS_SEED = 20261116
CELL_FIGURES = ("pairs", "right", "pairs_right", "largest_of_the_row", "mean_weight",
                "french_pronoun", "kinds")  # fmt: skip


@dataclass(frozen=True)
class PronounRow:
    """The row of a pronoun in one head, by words, and the translation of its sentence."""

    words: tuple[str, ...]
    weights_k: Array
    translation: str

    def weight(self, *words: str) -> float:
        """The weight on these words together."""
        return float(sum(self.weights_k[self.words.index(word)] for word in words))


@dataclass(frozen=True)
class RowTurn:
    """Tokens of a row to change, and the tokens that its weight is put on; none: all set to 0."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]


def pronoun_rows(
    model: Transformer,
    items: Sequence[ContrastSentence],
    head: Head,
    turn: str = "",
    *,
    beams: int = 4,
) -> list[PronounRow]:
    """Translate every sentence and keep the pronoun's row of one head.

    ``turn`` changes that head while the model runs: 'right', 'wrong' or 'end' puts the pronoun's
    row there, 'off' sets all its rows to 0.
    """
    texts = [tokenized_text(model.tokenizer, source_tokens(model, item.sentence)) for item in items]
    turns = [_row_turn(text, item, turn) for text, item in zip(texts, items, strict=True)]
    pronouns = {item.sentence: item.pronoun for item in items}
    return run_batches(
        model,
        [item.sentence for item in items],
        Search(beams),
        partial(_row, model, head, pronouns),
        intervene=(lambda rows: turned([turns[row] for row in rows], head)) if turn else None,
    )


def turned(turns: Sequence[RowTurn], head: Head) -> Intervention:
    """The intervention that puts rows of an encoder head where each sentence's turn says."""
    layer, number = head

    def intervention(result: AttentionResult) -> AttentionResult:
        if (result.part, result.layer) != ("encoder", layer):
            return result
        weights_bhqk = result.weights_bhqk.copy()
        for row, turn in enumerate(turns):
            weights_bhqk[row, number, list(turn.queries)] = 0
            for key in turn.keys:
                weights_bhqk[row, number, list(turn.queries), key] = 1 / len(turn.keys)
        return result.with_weights(weights_bhqk)

    return intervention


def judge_model(
    model: Transformer,
    pairs: Sequence[ContrastPair],
    head: Head,
    rows: Sequence[PronounRow] | None = None,
    cell_pairs: int = 150,
) -> dict[str, Any]:
    """The judge's figures of one head on all its texts, each with the name of the text."""
    by_hand = hand_written()
    items = all_sentences(by_hand)
    rows_by_hand = pronoun_rows(model, items, head)
    return {
        "head": {"layer": head[0], "head": head[1]},
        "contrast_pairs": {
            "text": f"{len(pairs):,} contrast pairs of model/judge/tables/frames.txt, none "
            "of whose verbs and frames is in the generated training text",
            **judge(model, pairs, head, rows=rows),
        },
        "no_antecedent": {
            "text": "sentences of model/judge/tables/sentences.txt whose it stands for nothing",
            **without_antecedent(model, no_antecedent(), head),
        },
        "no_antecedent_harder": {
            "text": "more such sentences as people say them, also of time, way, turn and judgement",
            **without_antecedent(model, no_antecedent(harder=True), head),
        },
        "by_hand": {
            "text": "pairs written by hand, model/judge/tables/sentences.txt, unlike any frame",
            **judge(model, by_hand, head, forms=hand_written_forms, rows=rows_by_hand),
            "sentences": [_verdict(x, row) for x, row in zip(items, rows_by_hand, strict=True)],
        },
        "generator_cells": {
            "text": "contrast pairs of the generator of training text; the model was trained on "
            "other sentences, with frames and words of the first cell alone",
            **judge_cells(model, head, cell_pairs),
        },
    }


def judge_cells(model: Transformer, head: Head, number: int) -> dict[str, Any]:
    """The judge on the generator's own pairs: frame met in training or not, words met or not."""
    chosen = cells(number, CELLS_SEED) if number else {}
    figures = {}
    for cell, pairs in chosen.items():
        judged = judge(model, pairs, head, forms=generated_forms, most_turned=0)
        figures[cell] = {name: value for name, value in judged.items() if name in CELL_FIGURES}
    return figures


def generated_forms(noun: str) -> dict[str, str]:
    """The French noun of a noun of the generator, singular or plural, with its gender."""
    singular = {x.french: x.gender for x in NOUNS.values() if x.english == noun}
    return singular or {
        x.french_plural: x.gender for x in NOUNS.values() if x.english_plural == noun
    }


def judge(
    model: Transformer,
    pairs: Sequence[ContrastPair],
    head: Head,
    *,
    forms: Forms = forms,
    most_turned: int = 600,
    beams: int = 4,
    rows: Sequence[PronounRow] | None = None,
) -> dict[str, Any]:
    """Every measure of one head on contrast pairs.

    Parameters
    ----------
    model : Transformer
        The model whose encoder head is judged.
    pairs : sequence of ContrastPair
        The pairs; figures by frame are given under the name of each sentence's frame.
    head : (int, int)
        Layer and head, from 0.
    forms : function
        The French nouns of an English one, with their genders.
    most_turned : int
        The head is changed in this many sentences at most, of those whose nouns differ in gender.
    beams : int
        Beams of the search.
    rows : sequence of PronounRow, optional
        The rows of the unchanged head where they are known already.

    Returns
    -------
    dict
        Shares from 0 to 1 and counts, as JSON values.
    """
    items = all_sentences(pairs)
    if rows is None:
        rows = pronoun_rows(model, items, head, beams=beams)
    verdicts = [gender(row.translation, x, forms) for row, x in zip(rows, items, strict=True)]
    everything = (items, rows, verdicts)
    frames = _groups([item.frame for item in items], *everything)
    kinds = _groups([sentence_kind(item.pronoun, item.of_object) for item in items], *everything)
    figures: dict[str, Any] = {"pairs": len(pairs)}
    figures |= _shares(items, rows, verdicts)
    figures["french_pronoun"] = gender_shares(verdicts)
    figures["changed"] = changed(model, items, head, forms, most_turned, beams)
    figures["kinds"] = kinds
    return figures | ({"frames": frames} if len(frames) > 1 else {})


def sentence_kind(pronoun: str, of_object: bool) -> str:
    """The kind of a sentence by its pronoun, as in heads.json.

    >>> sentence_kind("it", of_object=True), sentence_kind("they", of_object=False)
    ('it, object', 'they')
    """
    return f"{pronoun}, object" if of_object else pronoun


def changed(
    model: Transformer,
    items: Sequence[ContrastSentence],
    head: Head,
    forms: Forms,
    most: int,
    beams: int,
) -> dict[str, Any]:
    """The French pronoun with the head's row turned, and with the head switched off.

    Counted are sentences whose French nouns differ in gender and whose pronoun shows one.
    """
    chosen = [item for item in items if item.pronoun in ("it", "they") and may_differ(item, forms)]
    chosen = chosen[:most]
    figures: dict[str, Any] = {"sentences": len(chosen)}
    for turn in TURNS if chosen else ():
        rows = pronoun_rows(model, chosen, head, turn, beams=beams)
        verdicts = [gender(row.translation, x, forms) for row, x in zip(rows, chosen, strict=True)]
        shares = gender_shares(verdicts)
        right = shares["right_where_genders_differ"]
        name = "head switched off" if turn == "off" else f"row turned to {turn}"
        follows = turn == "wrong" and right is not None
        followed = {"gender_follows": round(1 - right, 4)} if follows else {}
        counted = shares["sentences_where_genders_differ"]
        figures[name] = {"gender_right": right, **followed, "counted": counted}
    return figures


def without_antecedent(
    model: Transformer, sentences: Sequence[MarkedNouns], head: Head
) -> dict[str, Any]:
    """The weight of *it* on nouns and on (end) where it stands for nothing, and false certainty."""
    items = [ContrastSentence(x.sentence, "", "") for x in sentences]
    rows = pronoun_rows(model, items, head, beams=1)
    on_nouns = [row.weight(*set(x.nouns)) for row, x in zip(rows, sentences, strict=True)]
    return {
        "sentences": len(sentences),
        "weight_on_nouns": round(float(np.mean(on_nouns)), 4),
        "median_on_nouns": round(float(np.median(on_nouns)), 4),
        "sentences_over_one_half": round(float(np.mean(np.array(on_nouns) > 0.5)), 4),
        "weight_on_end": round(float(np.mean([row.weights_k[-1] for row in rows])), 4),
        "largest_on_end": sum(int(row.weights_k.argmax()) == len(row.words) - 1 for row in rows),
        "sure_of_a_word": sum(float(row.weights_k[:-1].max()) >= SURE for row in rows),
    }


def _verdict(item: ContrastSentence, row: PronounRow) -> dict[str, Any]:
    """A sentence written by hand with its translation, and whether head and French are right."""
    weights = {noun: row.weight(noun) for noun in (item.right, item.wrong)}
    return {
        "sentence": item.sentence,
        "translation": row.translation,
        "pronoun": item.pronoun,
        "stands_for": item.right,
        "weights": {noun: round(weight, 4) for noun, weight in weights.items()},
        "right": weights[item.right] > weights[item.wrong],
        "french_pronoun": gender(row.translation, item, hand_written_forms),
    }


def _shares(
    items: Sequence[ContrastSentence], rows: Sequence[PronounRow], verdicts: Sequence[str]
) -> dict[str, Any]:
    """Shares of sentences and pairs right, mean weights, and the French gender."""
    weights_pn = np.array(
        [[x.weight(item.right), x.weight(item.wrong), x.weights_k[-1]] for x, item in
         zip(rows, items, strict=True)]
    )  # fmt: skip
    right_p = weights_pn[:, 0] > weights_pn[:, 1]
    largest_p = [
        x.words[int(x.weights_k.argmax())] == item.right
        for x, item in zip(rows, items, strict=True)
    ]
    mean_n = weights_pn.mean(axis=0)
    genders = gender_shares(verdicts)
    return {
        "right": round(float(right_p.mean()), 4),
        "pairs_right": round(float((right_p[::2] & right_p[1::2]).mean()), 4),
        "largest_of_the_row": round(float(np.mean(largest_p)), 4),
        "mean_weight": dict(
            zip(("right noun", "wrong noun", "(end)"), mean_n.round(4).tolist(), strict=True)
        ),
        "gender_right_where_they_differ": genders["right_where_genders_differ"],
        "gender_counted": genders["sentences_where_genders_differ"],
    }


def _groups(
    names: Sequence[str],
    items: Sequence[ContrastSentence],
    rows: Sequence[PronounRow],
    verdicts: Sequence[str],
) -> dict[str, Any]:
    """The shares of each group of sentences, by its name."""
    groups: dict[str, Any] = {}
    for name in dict.fromkeys(names):
        chosen = [i for i, x in enumerate(names) if x == name]
        shares = _shares(
            [items[i] for i in chosen], [rows[i] for i in chosen], [verdicts[i] for i in chosen]
        )
        groups[name] = {"sentences": len(chosen), **shares}
    return groups


def _row_turn(text: TokenizedText, item: ContrastSentence, turn: str) -> RowTurn:
    if turn == "off":
        return RowTurn(tuple(range(len(text.tokens))), ())
    words = [word.lower() for word in text.words]
    queries = _tokens(text, words.index(item.pronoun))
    if turn in ("right", "wrong"):
        return RowTurn(queries, _tokens(text, words.index(getattr(item, turn))))
    return RowTurn(queries, (len(text.tokens) - 1,))


def _tokens(text: TokenizedText, word: int) -> tuple[int, ...]:
    return tuple(np.flatnonzero(text.membership_wt[word]).tolist())


def _row(
    model: Transformer,
    head: Head,
    pronouns: dict[str, str],
    translated: Translation,
    encoded: Encoded,
) -> PronounRow:
    text = tokenized_text(model.tokenizer, translated.source)
    layer, number = head
    weights_qk = to_words(encoded.calls[layer].weights()[0, number], text, text)
    words = tuple(word.lower() for word in text.words)
    row = words.index(pronouns[translated.sentence])
    return PronounRow(words, weights_qk[row].astype(np.float64), translated.text)

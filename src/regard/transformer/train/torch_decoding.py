"""Batched translation with the torch model.

Beam search on the device, sentences of like length together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import sentencepiece
import torch
import torch.nn.functional as F
from torch import Tensor

from regard.transformer.config import END, PAD, START, Config
from regard.transformer.train.data import Ragged, encode, tagged
from regard.transformer.train.torch_model import (
    Running,
    Tensors,
    embed,
    feed_forward,
    heads_apart,
    norm,
    part,
    run_encoder,
    source_mask,
    times,
)

NEVER = -1e9


@dataclass(frozen=True)
class Memory:
    """What a decoder layer needs of the source: its parameters, and keys and values, made once."""

    layer: Tensors
    key_bhkd: Tensor
    value_bhkd: Tensor


@dataclass
class Past:
    """Keys and values of one layer's self-attention for the tokens so far; n = b x beams."""

    key_nhkd: Tensor
    value_nhkd: Tensor


class Decoding:
    """One model at work on one batch: the memory of the source and the past of the target."""

    def __init__(self, parameters: Tensors, config: Config, source_bt: Tensor, beams: int) -> None:
        self.parameters, self.config, self.beams = parameters, config, beams
        self.how = Running(dtype=parameters["embedding"].dtype)
        self.mask = source_mask(source_bt)
        memory_bke = run_encoder(parameters, config, source_bt, self.how, self.mask)
        self.memory = [self._remember(number, memory_bke) for number in range(config.layers)]
        empty = memory_bke.new_zeros(len(source_bt) * beams, config.heads, 0, config.head_width)
        self.past = [Past(empty, empty) for _ in range(config.layers)]

    def _remember(self, number: int, memory_bke: Tensor) -> Memory:
        layer = part(self.parameters, f"decoder.{number}.")
        key_bhkd = heads_apart(times(memory_bke, layer["cross_attention.w_key"]), self.config.heads)
        value_bke = times(memory_bke, layer["cross_attention.w_value"])
        return Memory(layer, key_bhkd, heads_apart(value_bke, self.config.heads))

    def next_scores(self, token_n: Tensor, position: int) -> Tensor:
        """scores_nv: log-probabilities of what follows `token_n`, which stands at `position`."""
        x_n1e = embed(self.parameters, token_n[:, None], self.how, first=position)
        for memory, past in zip(self.memory, self.past, strict=True):
            x_n1e = self._layer(x_n1e, memory, past)
        x_ne = norm(x_n1e, self.parameters, "decoder.norm")[:, 0]
        logits_nv = x_ne @ self.parameters["embedding"].t()
        return F.log_softmax(logits_nv.float(), dim=-1)

    def _layer(self, x_n1e: Tensor, memory: Memory, past: Past) -> Tensor:
        normed_n1e = norm(x_n1e, memory.layer, "self_attention_norm")
        x_n1e = x_n1e + self._look_back(normed_n1e, memory.layer, past)
        normed_n1e = norm(x_n1e, memory.layer, "cross_attention_norm")
        x_n1e = x_n1e + self._look_cross(normed_n1e, memory)
        normed_n1e = norm(x_n1e, memory.layer, "feed_forward_norm")
        return x_n1e + feed_forward(normed_n1e, memory.layer, 0.0)

    def _look_back(self, x_n1e: Tensor, layer: Tensors, past: Past) -> Tensor:
        query, key, value = (
            heads_apart(times(x_n1e, layer[f"self_attention.{name}"]), self.config.heads)
            for name in ("w_query", "w_key", "w_value")
        )
        past.key_nhkd = torch.cat([past.key_nhkd, key], dim=2)
        past.value_nhkd = torch.cat([past.value_nhkd, value], dim=2)
        output_nh1d = F.scaled_dot_product_attention(query, past.key_nhkd, past.value_nhkd)
        return times(output_nh1d.transpose(1, 2).flatten(2), layer["self_attention.w_output"])

    def _look_cross(self, x_n1e: Tensor, memory: Memory) -> Tensor:
        """Cross-attention, the beams of a sentence side by side as queries on one memory."""
        query_n1e = times(x_n1e, memory.layer["cross_attention.w_query"])
        query_bhqd = heads_apart(query_n1e.view(-1, self.beams, x_n1e.shape[-1]), self.config.heads)
        output_bhqd = F.scaled_dot_product_attention(
            query_bhqd, memory.key_bhkd, memory.value_bhkd, attn_mask=self.mask
        )
        output_n1e = output_bhqd.transpose(1, 2).reshape(x_n1e.shape)
        return times(output_n1e, memory.layer["cross_attention.w_output"])

    def reorder(self, rows_n: Tensor) -> None:
        """Let row i continue from what was row rows_n[i]."""
        for past in self.past:
            past.key_nhkd, past.value_nhkd = past.key_nhkd[rows_n], past.value_nhkd[rows_n]


@dataclass(frozen=True)
class Search:
    """How to choose: beams kept, and the power of the length that scores are divided by."""

    beams: int = 4
    length_power: float = 1.0


BEAM = Search()


@dataclass
class Beams:
    """Beginnings of translations, the best of each sentence first, and how good they are."""

    said_nt: Tensor
    score_n: Tensor
    length_n: Tensor
    over_n: Tensor


def beam_search(
    models: Sequence[Tensors], config: Config, source_bt: Tensor, search: Search = BEAM
) -> tuple[Tensor, Tensor]:
    """The best translation of each source: tokens_bt, END and PAD after it, and score_b.

    A finished translation keeps its place among the beams until all of them are finished.
    """
    batch = len(source_bt)
    running = [Decoding(model, config, source_bt, search.beams) for model in models]
    beams = first_beams(batch, search.beams, source_bt.device)
    for position in range(longest_target(source_bt.shape[1], config)):
        rows_n = advance(beams, _together(running, beams.said_nt[:, -1], position), search)
        for one in running:
            one.reorder(rows_n)
        # Asking makes a GPU wait, so it is not asked at every step.
        if position % 4 == 3 and bool(beams.over_n.all()):
            break
    best_n = torch.arange(batch, device=source_bt.device) * search.beams
    return beams.said_nt[best_n, 1:], (beams.score_n / beams.length_n)[best_n]


def first_beams(batch: int, beams: int, device: torch.device) -> Beams:
    """START alone; all beams but the first begin at NEVER, or they would repeat it."""
    said_nt = torch.full((batch * beams, 1), START, device=device)
    score_bk = torch.full((batch, beams), NEVER, device=device)
    score_bk[:, 0] = 0.0
    score_n = score_bk.flatten()
    return Beams(said_nt, score_n, torch.zeros_like(score_n), torch.zeros_like(score_n).bool())


def advance(beams: Beams, next_nv: Tensor, search: Search) -> Tensor:
    """Add the best next token to the best beams; rows_n says which row each one continues."""
    next_nv.masked_fill_(beams.over_n[:, None], NEVER)
    next_nv[:, PAD] = torch.where(beams.over_n, 0.0, NEVER)
    best_nk, token_nk = next_nv.topk(search.beams)
    total_nk = beams.score_n[:, None] + best_nk
    length_n = beams.length_n + (~beams.over_n).float()
    ranked_bc = (total_nk / length_n[:, None] ** search.length_power).view(-1, search.beams**2)
    first_b1 = torch.arange(len(ranked_bc), device=next_nv.device)[:, None] * search.beams**2
    chosen_n = (ranked_bc.topk(search.beams).indices + first_b1).flatten()
    rows_n = chosen_n // search.beams
    token_n = token_nk.flatten()[chosen_n]
    beams.said_nt = torch.cat([beams.said_nt[rows_n], token_n[:, None]], dim=1)
    beams.score_n, beams.length_n = total_nk.flatten()[chosen_n], length_n[rows_n]
    beams.over_n = beams.over_n[rows_n] | (token_n == END)
    return rows_n


def sample(
    models: Sequence[Tensors], config: Config, source_bt: Tensor, among: int, seed: int
) -> tuple[Tensor, Tensor]:
    """A translation drawn token by token among the `among` likeliest: tokens_bt and score_b."""
    running = [Decoding(model, config, source_bt, 1) for model in models]
    generator = torch.Generator(source_bt.device).manual_seed(seed)
    said_bt = torch.full((len(source_bt), 1), START, device=source_bt.device)
    over_b = torch.zeros(len(source_bt), dtype=torch.bool, device=source_bt.device)
    total_b, length_b = torch.zeros(2, len(source_bt), device=source_bt.device)
    for position in range(longest_target(source_bt.shape[1], config)):
        best_bk, token_bk = _together(running, said_bt[:, -1], position).topk(among)
        pick_b1 = torch.multinomial(best_bk.softmax(-1), 1, generator=generator)
        token_b = torch.where(over_b, PAD, token_bk.gather(1, pick_b1)[:, 0])
        total_b = total_b + torch.where(over_b, 0.0, best_bk.gather(1, pick_b1)[:, 0])
        length_b = length_b + (~over_b).float()
        said_bt, over_b = torch.cat([said_bt, token_b[:, None]], dim=1), over_b | (token_b == END)
        if position % 4 == 3 and bool(over_b.all()):
            break
    return said_bt[:, 1:], total_b / length_b


def longest_target(source_length: int, config: Config) -> int:
    """How many tokens a translation may have: half as many again as the source, and 12 more."""
    return min(config.max_length, source_length * 3 // 2 + 12)


def _together(running: Sequence[Decoding], token_n: Tensor, position: int) -> Tensor:
    scores_nv = running[0].next_scores(token_n, position)
    for other in running[1:]:
        scores_nv = scores_nv + other.next_scores(token_n, position)
    return scores_nv / len(running)


Choose = Callable[[Sequence[Tensors], Config, Tensor], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class Translator:
    """Models that decode together, with their tokens; `choose` is how a translation is picked."""

    models: tuple[Tensors, ...]
    config: Config
    tokens: sentencepiece.SentencePieceProcessor
    choose: Choose = beam_search
    tokens_per_batch: int = 4_096

    def __call__(self, sentences: Sequence[str], tag: str = "") -> list[tuple[str, float]]:
        """Each sentence's translation and the mean log-probability of its tokens."""
        sources = encode(self.tokens, sentences)
        if tag:
            sources = tagged(sources, self.tokens.piece_to_id(tag))
        found: list[tuple[str, float]] = [("", 0.0)] * len(sources)
        for rows in _by_length(sources, self.tokens_per_batch, self.config.max_length):
            for row, answer in zip(rows, self._batch(sources.take(rows)), strict=True):
                found[row] = answer
        return found

    def _batch(self, sources: Ragged) -> Iterator[tuple[str, float]]:
        device = self.models[0]["embedding"].device
        source_bt = torch.from_numpy(sources.padded(PAD)).to(device)
        with torch.no_grad():
            said_bt, score_b = self.choose(self.models, self.config, source_bt)
        rows = [_until_end(row) for row in said_bt.tolist()]
        return zip(self.tokens.decode(rows), score_b.tolist(), strict=True)


def fast_copy(parameters: Tensors) -> Tensors:
    """The same parameters in the precision a device decodes fastest in."""
    if not parameters["embedding"].is_cuda:
        return parameters
    return {name: parameter.to(torch.bfloat16) for name, parameter in parameters.items()}


def _by_length(sources: Ragged, tokens_per_batch: int, longest: int) -> Iterator[np.ndarray]:
    order = np.argsort(sources.lengths, kind="stable")
    order = order[sources.lengths[order] <= longest]
    start = 0
    while start < len(order):
        window = sources.lengths[order[start : start + tokens_per_batch]]
        sizes = np.arange(1, len(window) + 1) * window
        count = max(1, int(np.searchsorted(sizes, tokens_per_batch, side="right")))
        yield order[start : start + count]
        start += count


def _until_end(row: list[int]) -> list[int]:
    return [token for token in row[: row.index(END) if END in row else None] if token != PAD]

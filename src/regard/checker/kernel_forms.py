"""Adapters that make a function of padded arrays, or of x, from one of another form.

A packed function takes sequences of different lengths end to end, (tokens, head, feature), and
where each of them begins; a paged one takes keys and values in pages of a pool, and a table of the
pages of each sequence. As functions of (batch, head, token, feature) they are checked like others.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from regard.checker.signatures import ROLE_BY_NAME, ROLE_NAMES, main_role
from regard.errors import ArgumentError

PACKED_NAMES = {
    "query starts": "cu_seqlens_q cu_seqlens cu_seq_q cu_seqlens_query cu_seqlens_qo q_cu_seqlens "
    "cu_seq_lens_q cu_q qo_indptr",
    "key starts": "cu_seqlens_k cu_seqlens_kv cu_seq_k cu_seqlens_key kv_cu_seqlens cu_seq_lens_k "
    "cu_k kv_indptr",
    "most queries": "max_seqlen_q max_seqlen max_q max_length_q max_seqlen_qo max_s_q",
    "most keys": "max_seqlen_k max_seqlen_kv max_k max_length_k max_s_k",
}
PAGED_NAMES = {
    "pages": "block_table block_tables page_table page_tables",
    "keys used": "cache_seqlens context_lens seqused_k seqlens_k cache_lens "
    + ROLE_NAMES["lengths"],
    "page size": "page_size block_size page_block_size",
}
PACKED_ROLES = {name: role for role, names in PACKED_NAMES.items() for name in names.split()}
PAGED_ROLES = {name: role for role, names in PAGED_NAMES.items() for name in names.split()}
PAGE_TOKENS = 16


def padded_form(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of padded arrays, from one of packed sequences or of pages; others as they are."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return function
    for kind, role_by_name, first in (
        (PackedAttention, PACKED_ROLES, "query starts"),
        (PagedAttention, PAGED_ROLES, "pages"),
    ):
        names = {
            role_by_name[p.name.lower()]: p.name
            for p in parameters
            if p.name.lower() in role_by_name
        }
        names |= {role: p.name for p in reversed(parameters) if (role := kind.array_role(p.name))}
        if first in names and all(role in names for role in ("query", "key", "value")):
            return kind(function, names, parameters)
    return function


@dataclass(frozen=True, eq=False)
class ReshapedAttention:
    """A function whose arguments are made from padded arrays (b, h, t, d)."""

    func: Callable[..., Any]
    names: dict[str, str]
    parameters: list[inspect.Parameter]

    @staticmethod
    def array_role(name: str) -> str:
        """query, key or value where a parameter is one of them."""
        role = main_role(name)
        return role if role in ("query", "key", "value") else ""

    @property
    def __name__(self) -> str:
        return str(getattr(self.func, "__name__", type(self.func).__name__))

    @cached_property
    def __signature__(self) -> inspect.Signature:
        """query, key, value, the options of the function itself, and lengths."""
        arrays = [
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD)
            for name in ("query", "key", "value")
        ]
        omitted = {*self.names.values(), "lengths", "k", "v", "key", "value"}
        options = [
            p.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for p in self.parameters
            if p.name not in omitted and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        lengths = inspect.Parameter("lengths", inspect.Parameter.KEYWORD_ONLY, default=None)
        return inspect.Signature([*arrays, *options, *([lengths] if self.takes_lengths else [])])

    @property
    def takes_lengths(self) -> bool:
        """Whether the number of real keys can be passed, apart from the number of queries."""
        return "key starts" in self.names or "keys used" in self.names

    def call(self, arguments: dict[str, Any], options: dict[str, Any]) -> Any:
        """The first returned array of a call with these arguments, by role."""
        by_name = {
            self.names[role]: value for role, value in arguments.items() if role in self.names
        }
        leading = []
        for parameter in self.parameters:
            if parameter.kind != parameter.POSITIONAL_ONLY:
                break
            leading.append(by_name.pop(parameter.name))
        returned = self.func(*leading, **by_name, **options)
        return returned[0] if isinstance(returned, tuple | list) else returned


class PackedAttention(ReshapedAttention):
    """A function of packed sequences as one of padded arrays."""

    def __call__(
        self, query: Any, key: Any, value: Any, *, lengths: Any = None, **options: Any
    ) -> Any:
        """The output (b, h, q, v), the keys of each sentence cut to its length."""
        ends = [key.shape[2]] * len(key) if lengths is None else [int(n) for n in lengths]
        sequences = [(query[b], key[b][:, :end], value[b][:, :end]) for b, end in enumerate(ends)]
        output = self.sequences(sequences, options)
        return array_module(query).stack(output)

    def sequences(self, sequences: list[Any], options: dict[str, Any]) -> list[Any]:
        """The output (h, q, v) of each of these sequences of query, key and value (h, t, d)."""
        xp = array_module(sequences[0][0])
        arrays = zip(("query", "key", "value"), zip(*sequences, strict=True), strict=True)
        arguments = {x: xp.concatenate([a.swapaxes(0, 1) for a in some]) for x, some in arrays}
        counts = {
            "queries": [q.shape[1] for q, _, _ in sequences],
            "keys": [k.shape[1] for _, k, _ in sequences],
        }
        if counts["queries"] != counts["keys"] and not self.takes_lengths:
            raise ArgumentError(
                f"{self.names['query starts']} serves queries and keys: there must be as many "
                "queries as keys."
            )
        starts = {x: [0, *np.cumsum(some).tolist()] for x, some in counts.items()}
        arguments["query starts"] = xp.asarray(starts["queries"], dtype=xp.int32)
        arguments["key starts"] = xp.asarray(starts["keys"], dtype=xp.int32)
        arguments |= {"most queries": max(counts["queries"]), "most keys": max(counts["keys"])}
        output = self.call(arguments, options)
        bounds = zip(starts["queries"], starts["queries"][1:], strict=False)
        return [output[start:end].swapaxes(0, 1) for start, end in bounds]


class PagedAttention(ReshapedAttention):
    """A function of keys and values in pages as one of padded arrays."""

    @staticmethod
    def array_role(name: str) -> str:
        """query, or the pool of keys or values."""
        pools = {"past key": "key", "past value": "value"}
        return "query" if main_role(name) == "query" else pools.get(ROLE_BY_NAME.get(name, ""), "")

    def __call__(
        self, query: Any, key: Any, value: Any, *, lengths: Any = None, **options: Any
    ) -> Any:
        """The output (b, h, q, v), from keys and values put into pages that are out of order."""
        xp = array_module(query)
        pages = -(-key.shape[2] // PAGE_TOKENS)
        order = np.random.default_rng(51).permutation(pages * len(key)).reshape(len(key), pages)
        ends = [key.shape[2]] * len(key) if lengths is None else [int(n) for n in lengths]
        arguments = {
            "query": query.swapaxes(1, 2),
            "key": _pool(key, order),
            "value": _pool(value, order),
            "pages": xp.asarray(order.astype(np.int32)),
            "keys used": xp.asarray(ends, dtype=xp.int32),
            "page size": PAGE_TOKENS,
        }
        return self.call(arguments, options).swapaxes(1, 2)


def _pool(array_bhkd: Any, order: Any) -> Any:
    """Pages (page, token, head, feature) in the order of a table, large numbers past the end."""
    xp = array_module(array_bhkd)
    b, h, k, d = array_bhkd.shape
    rest = xp.full((b, order.shape[1] * PAGE_TOKENS - k, h, d), 1e4, dtype=array_bhkd.dtype)
    filled = xp.concatenate([array_bhkd.swapaxes(1, 2), rest], axis=1)
    by_sequence = filled.reshape(order.size, PAGE_TOKENS, h, d)
    return by_sequence[np.argsort(order.ravel())]


def array_module(array: Any) -> Any:
    """The module of an array's functions: numpy, torch or jax.numpy."""
    name = type(array).__module__.split(".")[0]
    return importlib.import_module({"torch": "torch", "numpy": "numpy"}.get(name, "jax.numpy"))

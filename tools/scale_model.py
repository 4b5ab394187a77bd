"""Formulas of docs/scale.md: time, bytes and memory of a ring and of a survey."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Chunks = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Rank:
    """Speed of one rank of a ring, and the sizes it works on."""

    pass_one_seconds_a_pair: float  # one query, one key, one head: output, entropy, log-sum-exp
    pass_two_seconds_a_pair: float  # the same for received and map
    bytes_a_second: float  # to its neighbour
    seconds_a_step: float  # latency of a step with nothing to compute
    heads: int = 8
    key_heads: int = 8
    width: int = 64  # of a query and a key
    value_width: int = 64
    number_bytes: int = 4
    row_bytes: int = 8  # of a query's sums: two numbers on the CPU, one float64 on a GPU
    map_blocks: int = 256
    memory_bytes: float = 4e9  # per core: 64 cores with 256 GB


@dataclass(frozen=True)
class Cost:
    """Cost of a run on each rank."""

    compute_seconds: float
    send_seconds: float
    step_seconds: float
    sent_bytes: float
    held_bytes: float

    @property
    def seconds(self) -> float:
        """Sending overlaps computing: the longer of the two, plus the latency of the steps."""
        return max(self.compute_seconds, self.send_seconds) + self.step_seconds


def ring(tokens: float, ranks: int, rank: Rank, passes: int = 2) -> Cost:
    """Cost of one causal sequence, zigzag, in equal slices over ``ranks`` ranks."""
    pairs = rank.heads * tokens * (tokens + 1) / 2 / ranks
    pace = rank.pass_one_seconds_a_pair + (passes - 1) * rank.pass_two_seconds_a_pair
    slices = [tokens / ranks] * ranks
    sent = sum(sent_around(0, slices, slices, rank)[:passes])
    small = sent_sums(0, ranks, map_numbers(rank)) if passes > 1 else 0
    slice_bytes = tokens / ranks * rank.width * rank.number_bytes
    held = slice_bytes * (2 * rank.heads + 2 * rank.key_heads)  # query, output; key, value
    held += slice_bytes * 4 * rank.key_heads  # a visiting slice of keys and values, and the next
    return Cost(
        compute_seconds=pairs * pace,
        send_seconds=(sent + small) / rank.bytes_a_second,
        step_seconds=passes * ranks * rank.seconds_a_step,
        sent_bytes=sent + small,
        held_bytes=held + small,
    )


# What a rank sends. It passes on every slice but its neighbour's own.


def sent_around(
    me: int, queries: Sequence[float], keys: Sequence[float], rank: Rank
) -> tuple[float, float]:
    """Bytes of pass one (key and value) and of pass two (query and its sums).

    ``queries`` and ``keys`` are the numbers that each rank holds.
    """
    neighbour = (me + 1) % len(keys)
    passed_keys = sum(keys) - keys[neighbour]
    passed_queries = sum(queries) - queries[neighbour]
    one = passed_keys * rank.key_heads * (rank.width + rank.value_width) * rank.number_bytes
    two = passed_queries * rank.heads * (rank.width * rank.number_bytes + rank.row_bytes)
    return (one, two) if len(keys) > 1 else (0, 0)


def sent_at_once(me: int, keys: Sequence[float], rank: Rank) -> float:
    """Bytes where keys and values are gathered: slice to every rank, received to its owner."""
    others = len(keys) - 1
    slices = (
        others * keys[me] * rank.key_heads * (rank.width + rank.value_width) * rank.number_bytes
    )
    return slices + (sum(keys) - keys[me]) * rank.heads * 8


def sent_distances(
    me: int, queries: Sequence[Chunks], keys: Sequence[Chunks], rank: Rank, sees: Any = None
) -> float:
    """Bytes of the profile: what this rank computes for distances kept by other ranks.

    ``queries`` and ``keys`` are each rank's chunks as (start, stop). ``sees(rows, columns)`` is
    whether any of these queries may look at any of these keys; by default all may.
    """
    in_all = 0
    asked = max(stop for chunks in queries for _, stop in chunks)
    distances = asked + max(stop for chunks in keys for _, stop in chunks) - 1
    own = me * distances // len(keys), (me + 1) * distances // len(keys)
    for rows in (chunk for chunks in queries for chunk in chunks):
        for columns in keys[me]:
            if min(rows[1] - rows[0], columns[1] - columns[0]) < 1 or (
                sees is not None and not sees(rows, columns)
            ):
                continue
            start, stop = columns[0] + asked - rows[1], columns[1] + asked - rows[0] - 1
            in_all += stop - start - max(0, min(stop, own[1]) - max(start, own[0]))
    return 8 * rank.heads * in_all


def sent_sums(me: int, ranks: int, numbers: float) -> float:
    """Bytes of an all-reduce on the ring: once around to add up, once to distribute."""
    letters = (me < ranks - 1) + (ranks > 1 and me != ranks - 2)
    return 8 * numbers * letters


def map_numbers(rank: Rank) -> int:
    """Size of those sums: the map, and the number of queries behind each of its rows."""
    return rank.heads * (rank.map_blocks * (rank.map_blocks + 1) + 1)


def fewest_tokens(rank: Rank) -> float:
    """Tokens per rank at which a step of pass one computes as long as it sends.

    A step computes heads * m^2 / 2 pairs (causal) and sends m tokens' keys and values.
    """
    token_bytes = rank.key_heads * (rank.width + rank.value_width) * rank.number_bytes
    return 2 * token_bytes / rank.bytes_a_second / (rank.heads * rank.pass_one_seconds_a_pair)


@dataclass(frozen=True)
class Survey:
    """Speed of one worker of a survey and of its driver."""

    documents_a_second: float  # one worker on one core, including its Parquet files
    driver_documents_a_second: float  # read, received and written to disk while others work
    merged_documents_a_second: float  # read again for the report, by one core, at the end
    document_bytes: float = 250
    result_bytes: float = 5_000
    disk_bytes_a_second: float = 2e8  # per machine, reading the corpus

    def seconds(self, documents: float, machines: int, cores: int) -> float:
        """Time of the slowest of workers, disks and driver, then of the report."""
        rates = (
            machines * cores * self.documents_a_second,
            machines * self.disk_bytes_a_second / self.document_bytes,
            self.driver_documents_a_second,
        )
        return documents / min(rates) + documents / self.merged_documents_a_second

    def most_machines(self, cores: int) -> float:
        """Number of machines beyond which the driver is the bottleneck."""
        return self.driver_documents_a_second / (cores * self.documents_a_second)

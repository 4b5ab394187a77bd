"""The formulas of docs/scale.md: time, bytes and memory of a ring and of a survey."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Chunks = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Rank:
    """What one rank of a ring can do, and what it works on."""

    pass_one_seconds_a_pair: float  # one query, one key, one head: output, entropy, log-sum-exp
    pass_two_seconds_a_pair: float  # the same for received and map
    bytes_a_second: float  # to its neighbour
    seconds_a_step: float  # what a step takes when there is nothing to compute
    heads: int = 8
    key_heads: int = 8
    width: int = 64  # of a query and a key
    value_width: int = 64
    number_bytes: int = 4
    map_blocks: int = 256
    memory_bytes: float = 4e9  # of a core: a machine of 64 with 256 GB


@dataclass(frozen=True)
class Cost:
    """What a run comes to on each rank."""

    compute_seconds: float
    send_seconds: float
    step_seconds: float
    sent_bytes: float
    held_bytes: float

    @property
    def seconds(self) -> float:
        """Sending goes on while computing: the longer of the two counts, and the steps."""
        return max(self.compute_seconds, self.send_seconds) + self.step_seconds


def ring(tokens: float, ranks: int, rank: Rank, passes: int = 2) -> Cost:
    """One causal sequence, cut zigzag, over so many ranks; equal slices."""
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


# What a rank sends. Its neighbour's own slice is the one that it never passes on.


def sent_around(
    me: int, queries: Sequence[float], keys: Sequence[float], rank: Rank
) -> tuple[float, float]:
    """Bytes of pass one (key and value) and of pass two (query and log-sum-exp).

    ``queries`` and ``keys`` say how many each rank holds.
    """
    neighbour = (me + 1) % len(keys)
    passed_keys = sum(keys) - keys[neighbour]
    passed_queries = sum(queries) - queries[neighbour]
    one = passed_keys * rank.key_heads * (rank.width + rank.value_width) * rank.number_bytes
    two = passed_queries * rank.heads * (rank.width * rank.number_bytes + 8)
    return (one, two) if len(keys) > 1 else (0, 0)


def sent_at_once(me: int, keys: Sequence[float], rank: Rank) -> float:
    """Bytes where keys and values are gathered: the slice to every other, received to its owner."""
    others = len(keys) - 1
    slices = (
        others * keys[me] * rank.key_heads * (rank.width + rank.value_width) * rank.number_bytes
    )
    return slices + (sum(keys) - keys[me]) * rank.heads * 8


def sent_distances(
    me: int, queries: Sequence[Chunks], keys: Sequence[Chunks], rank: Rank, sees: Any = None
) -> float:
    """Bytes of the profile: what this rank finds at distances that others keep.

    ``queries`` and ``keys`` hold each rank's chunks as (start, stop); ``sees(rows, columns)`` says
    whether any of these queries may look at any of these keys, and unless given all may.
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
    """Bytes of the sums that every rank gets: once up the ring to be made, once to be told."""
    letters = (me < ranks - 1) + (ranks > 1 and me != ranks - 2)
    return 8 * numbers * letters


def map_numbers(rank: Rank) -> int:
    """How many numbers those sums are: the map, and how many queries stand behind each row."""
    return rank.heads * (rank.map_blocks * (rank.map_blocks + 1) + 1)


def fewest_tokens(rank: Rank) -> float:
    """Tokens a rank must hold so that a step of pass one computes no shorter than it sends.

    A step computes heads * m^2 / 2 pairs (causal) and sends m tokens' keys and values.
    """
    token_bytes = rank.key_heads * (rank.width + rank.value_width) * rank.number_bytes
    return 2 * token_bytes / rank.bytes_a_second / (rank.heads * rank.pass_one_seconds_a_pair)


@dataclass(frozen=True)
class Survey:
    """What one worker of a survey does, and what its driver can take in."""

    documents_a_second: float  # one worker, one core, with the writing of its Parquet files
    driver_documents_a_second: float  # read, taken in and brought to the disk while others work
    merged_documents_a_second: float  # read once more for the report, by one core, at the end
    document_bytes: float = 250
    result_bytes: float = 5_000
    disk_bytes_a_second: float = 2e8  # of one machine, reading the corpus

    def seconds(self, documents: float, machines: int, cores: int) -> float:
        """The slowest of three, the workers, the disks and the one driver; then the report."""
        rates = (
            machines * cores * self.documents_a_second,
            machines * self.disk_bytes_a_second / self.document_bytes,
            self.driver_documents_a_second,
        )
        return documents / min(rates) + documents / self.merged_documents_a_second

    def most_machines(self, cores: int) -> float:
        """From here on the driver is the slowest."""
        return self.driver_documents_a_second / (cores * self.documents_a_second)

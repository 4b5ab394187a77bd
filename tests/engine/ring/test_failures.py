"""What goes wrong on one rank is said on every other, by name and in time."""

import json
import re
import signal

import pytest
from tests.helpers.ring_start import Job, finish, start, stop

RANKS = 4
WRONG_CALLS = ("different_arguments", "different_shapes", "different_functions", "bad_numbers",
               "bad_slices", "bad_mask", "raises", "absent", "sleeps", "dies")  # fmt: skip
SHAPES = "is (2, tokens, 4) on ranks 0, 1, 3 and (2, tokens, 3) on rank 2"
DIFFERENT = "ArgumentError: the ranks were called with different arguments: "
NAN = (
    "key must be finite numbers, got nan at [0, 0, 1]. "
    "If it stands for padding, use lengths or mask instead."
)
STORE = (
    "RankError: rank 0 is gone or stopped, or torchrun is: one of them keeps the store of the "
    "process group, and it"
)
LONG = 45  # seconds; every group would itself have waited for 60


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """What each rank of three groups was told, one after the other: by group, then by rank."""
    folders = [tmp_path_factory.mktemp(name) for name in ("failures", "dies", "stops")]
    of_ranks, dies, stops = map(str, folders)
    process = start(
        Job("fail_worker", RANKS, of_ranks, list(WRONG_CALLS), codes={"2": 9}),
        Job("fail_worker", 2, dies, ["keeper_dies"], codes={"0": 9}),
        Job("fail_worker", 2, stops, ["keeper_stops"], codes={"0": -signal.SIGKILL}, last=1),
    )
    try:
        finish(process)
    finally:
        stop(process)
    return [
        {int(path.stem): json.loads(path.read_text()) for path in folder.glob("*.json")}
        for folder in folders
    ]


@pytest.fixture(scope="module")
def reported(reports):
    """By rank and by what went wrong: the error and after how many seconds it came."""
    return reports[0]


def errors(reported, name, ranks=range(RANKS)):
    """What these ranks were told, none of it late."""
    assert all(reported[rank][name][1] < LONG for rank in ranks)
    return {reported[rank][name][0] for rank in ranks}


BY_NAME = "; ".join(f"{name} shape {SHAPES}" for name in ("query", "key", "value"))
OWN_MISTAKE = "ValueError: the mask's own mistake"
TOLD = [
    ("different_arguments", range(RANKS), f"{DIFFERENT}top is 16 on ranks 0, 2, 3 and 8 on rank 1; "
     "causal is True on ranks 0, 1 and False on ranks 2, 3. Give every rank the same."),
    ("different_shapes", range(RANKS), f"{DIFFERENT}{BY_NAME}. Give every rank the same."),
    ("bad_numbers", [1], f"NotFiniteError: {NAN}"),
    ("bad_numbers", [0, 2, 3], f"RankError: rank 1 stopped: NotFiniteError: {NAN}"),
    ("bad_slices", range(RANKS), "ArgumentError: rank 0 must have 5 of 18 queries in layout "
     "'zigzag', got 3: cut the arrays with regard.distributed.cut(array, layout='zigzag')."),
    ("bad_mask", [3], OWN_MISTAKE),  # it breaks when it is first asked
    ("bad_mask", [0, 1, 2], f"RankError: rank 3 stopped: {OWN_MISTAKE}"),
    ("raises", [1], OWN_MISTAKE),
    ("raises", [0, 2, 3], f"RankError: rank 1 stopped: {OWN_MISTAKE}"),
    *(("absent", [rank], "RankError: rank 2 did not call regard.distributed.observe within 3 s of "
       f"rank {rank}. Every rank of the group must; look at what it does instead, or give a longer "
       "timeout.") for rank in (0, 1, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "ranks", "words"), TOLD)
def test_what_goes_wrong_on_one_rank_is_said_on_every_other(reported, name, ranks, words):
    """The rank's own mistake to itself; to the others which rank it was, and why."""
    assert errors(reported, name, ranks) == {words}


def test_mask_functions_that_say_different_things_are_noticed(reported):
    (error,) = errors(reported, "different_functions")
    pattern = (
        r"mask is a function \(\w{8}\) on ranks 0, 2, 3 and a function \(\w{8}\) on "
        r"rank 1\. Give every rank the same\."
    )
    assert re.fullmatch(re.escape(DIFFERENT) + pattern, error)


def test_a_rank_that_stalls_is_named_on_every_rank_when_the_timeout_is_over(reported):
    (error,) = errors(reported, "sleeps")
    assert re.fullmatch(
        r"RankError: rank 1 is late: rank [023] waited for 3 s at step \d of the ring, and rank 1 "
        r"is what it waited for in the end\. Look at what it does, or give a longer timeout; then "
        r"start all ranks again\.",
        error,
    )


def test_a_rank_that_dies_is_named_on_every_rank_at_once(reported):
    (error,) = errors(reported, "dies", [0, 1, 3])
    assert re.fullmatch(
        r"RankError: rank 2 is gone: its connection to rank [013] broke at step \d+ of the ring\. "
        r"See its own output for the reason, then start all ranks again\.",
        error,
    )


def test_the_rank_that_keeps_the_store_may_die_too(reports):
    error, seconds = reports[1][1]["keeper_dies"]
    assert error.startswith(f"{STORE} failed (")
    assert seconds < LONG


def test_the_rank_that_keeps_the_store_may_be_stopped(reports):
    error, seconds = reports[2][1]["keeper_stops"]
    assert error == f"{STORE} did not answer within 3 s. Start all ranks again."
    assert seconds < LONG

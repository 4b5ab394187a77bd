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


def test_arguments_that_differ_are_named_with_their_ranks(reported):
    assert errors(reported, "different_arguments") == {
        f"{DIFFERENT}top is 16 on ranks 0, 2, 3 and 8 on rank 1; causal is True on ranks 0, 1 and "
        "False on ranks 2, 3. Give every rank the same."
    }


def test_shapes_that_differ_are_named_with_their_ranks(reported):
    shapes = "; ".join(f"{name} shape {SHAPES}" for name in ("query", "key", "value"))
    assert errors(reported, "different_shapes") == {
        f"{DIFFERENT}{shapes}. Give every rank the same."
    }


def test_mask_functions_that_say_different_things_are_noticed(reported):
    (error,) = errors(reported, "different_functions")
    pattern = (
        r"mask is a function \(\w{8}\) on ranks 0, 2, 3 and a function \(\w{8}\) on "
        r"rank 1\. Give every rank the same\."
    )
    assert re.fullmatch(re.escape(DIFFERENT) + pattern, error)


def test_a_rank_with_bad_numbers_says_so_itself_and_is_named_by_the_others(reported):
    assert errors(reported, "bad_numbers", [1]) == {f"NotFiniteError: {NAN}"}
    assert errors(reported, "bad_numbers", [0, 2, 3]) == {
        f"RankError: rank 1 stopped: NotFiniteError: {NAN}"
    }


def test_slices_that_are_no_zigzag(reported):
    assert errors(reported, "bad_slices") == {
        "ArgumentError: rank 0 must have 5 of 18 queries in layout 'zigzag', got 3: cut the "
        "arrays with regard.distributed.cut(array, layout='zigzag')."
    }


def test_a_mask_that_breaks_when_it_is_first_asked(reported):
    assert errors(reported, "bad_mask", [3]) == {"ValueError: the mask's own mistake"}
    assert errors(reported, "bad_mask", [0, 1, 2]) == {
        "RankError: rank 3 stopped: ValueError: the mask's own mistake"
    }


def test_an_error_on_one_rank_reaches_the_others(reported):
    assert errors(reported, "raises", [1]) == {"ValueError: the mask's own mistake"}
    assert errors(reported, "raises", [0, 2, 3]) == {
        "RankError: rank 1 stopped: ValueError: the mask's own mistake"
    }


def test_a_rank_that_does_not_come_is_named(reported):
    for rank in (0, 1, 3):
        assert errors(reported, "absent", [rank]) == {
            "RankError: rank 2 did not call regard.distributed.observe within 3 s of rank "
            f"{rank}. Every rank of the group must; look at what it does instead, or give a longer "
            "timeout."
        }


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

"""What one rank can say of its slice, what it cannot, and how it says so."""

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

import regard
from regard import distributed
from regard.engine.native.library import using_level
from regard.engine.ring import passes
from regard.engine.ring.facts import RankProfile
from regard.engine.ring.failures import FailureMonitor
from regard.errors import ArgumentError, BackendError, NotAskedError, RankError


@pytest.fixture(scope="module")
def group(tmp_path_factory):
    """A process group of this process alone."""
    store = tmp_path_factory.mktemp("group") / "store"
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=0, world_size=1)
    yield dist.group.WORLD
    dist.destroy_process_group()


def arrays(dtype=np.float32, tokens=40):
    random = np.random.default_rng(0)
    return [random.standard_normal((2, tokens, 8)).astype(dtype) for _ in range(3)]


def message(error) -> str:
    return str(error.value)


def test_without_a_process_group_it_says_how_to_make_one():
    with pytest.raises(BackendError) as error:
        distributed.observe(*arrays())
    assert message(error) == (
        "regard.distributed must run in a process group: start with torchrun, and call "
        "torch.distributed.init_process_group('gloo') first."
    )


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_dtypes_are_those_of_one_process(group, dtype):
    with using_level("off"):  # a rank runs tile by tile, which is NumPy's
        seen, alone = (
            f(*arrays(dtype), causal=True) for f in (distributed.observe, regard.observe)
        )
    assert {x: a.dtype for x, a in seen.facts.items()} == {
        x: a.dtype for x, a in alone.facts.items()
    }
    for name, fact in seen.facts.items():
        np.testing.assert_array_equal(fact, alone.facts[name])  # one rank, gathered: the same run


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gathered", [True, False])
def test_a_row_of_the_lowest_number_is_spread_evenly(group, monkeypatch, gathered, dtype):
    monkeypatch.setattr(passes, "MAX_GATHERED_BYTES", 2**28 if gathered else -1)
    mask = np.zeros((40, 40), np.float32)
    mask[[3, 4, 20]] = np.finfo(np.float32).min
    seen, alone = (
        f(*arrays(dtype), mask=mask, map=8) for f in (distributed.observe, regard.observe)
    )
    for name in ("output", "logsumexp", "entropy", "received", "map", "top_weights"):
        expected = alone.facts[name]
        np.testing.assert_allclose(seen.facts[name], expected, rtol=1e-5, atol=1e-6, err_msg=name)
    np.testing.assert_allclose(seen.received.sum(axis=-1), 40, rtol=1e-6)
    assert seen.logsumexp[0, 3] == mask[3, 0]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_tensors_in_a_tensor_out(group, dtype):
    tensors = [torch.from_numpy(x).to(dtype) for x in arrays()]
    seen = distributed.observe(*tensors, mask=torch.ones(40, 40, dtype=torch.bool))
    assert seen.output.dtype == dtype
    with using_level("off"):
        torch.testing.assert_close(seen.output, regard.observe(*tensors).output, rtol=0, atol=0)
    assert isinstance(seen.entropy, np.ndarray)


def test_leaving_facts_out(group):
    seen = distributed.observe(
        *arrays(), top=0, map=0, entropy=False, received=False, profile=False
    )
    assert sorted(seen.facts) == ["logsumexp", "output"]
    with pytest.raises(NotAskedError) as error:
        _ = seen.map
    assert message(error) == "map was not asked for: observe again with map=256."


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"layout": "striped"}, "layout must be 'contiguous' or 'zigzag', got 'striped'."),
        ({"timeout": 0}, "timeout must be a number of seconds above 0, got 0."),
        ({"top": -1}, "top must be a whole number from 0 up, got -1."),
        ({"softcap": -2.0}, "softcap must be a finite number above 0, got -2.0."),
        ({"group": dist.GroupMember.NON_GROUP_MEMBER},
         "group must include this rank, got one without rank 0."),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be(group, arguments, words):
    with pytest.raises(ArgumentError) as error:
        distributed.observe(*arrays(), **arguments)
    assert message(error) == words


def test_a_group_that_cannot_send_from_the_cpu(group, monkeypatch):
    monkeypatch.setattr(dist, "get_backend_config", lambda _: "cuda:nccl")
    with pytest.raises(BackendError) as error:
        distributed.observe(*arrays())
    assert message(error) == (
        "the process group must also send from the CPU, got cuda:nccl: "
        "init_process_group('cpu:gloo,cuda:nccl')."
    )


def test_ranks_of_a_group_are_named_as_the_program_counts_them():
    monitor = FailureMonitor(dist.HashStore(), rank=0, names=[4, 7], timeout=0.1, prefix="call")
    with pytest.raises(RankError) as error:
        monitor.all_gather("header", b"")
    assert message(error) == (
        "rank 7 did not call regard.distributed.observe within 0.1 s of rank 4. Every rank of the "
        "group must; look at what it does instead, or give a longer timeout."
    )


def test_messages_of_the_previous_call_are_deleted(group):
    store = distributed_c10d._get_process_group_store(group)
    before = store.num_keys()
    for _ in range(5):
        distributed.observe(*arrays())
    assert store.num_keys() <= before + 2  # of the last call alone


@pytest.mark.parametrize(
    ("kind", "ask", "words"),
    [
        (NotAskedError, lambda seen: seen.tile(0, 0),
         "tile needs all keys, but a rank has a slice of them: gather the rows and columns you "
         "want, and give them to regard.observe_from_logsumexp or regard.self_attention."),
        (NotAskedError, lambda seen: seen.save("seen.regard"),
         "save needs a whole observation, and this is one rank's slice: gather the arrays in "
         "facts, or write them with numpy.savez, one file a rank."),
        (ArgumentError, lambda seen: regard.merge(seen, seen),
         "merge must get two observations of the same queries over different keys, got a rank's, "
         "which is of all keys already: concatenate the ranks' rows."),
    ],
    ids=["tile", "save", "merge"],
)  # fmt: skip
def test_what_needs_other_ranks_is_an_error(group, kind, ask, words):
    with pytest.raises(kind) as error:
        ask(distributed.observe(*arrays()))
    assert message(error) == words


def test_its_picture_is_the_map_of_the_whole(group):
    seen = distributed.observe(*arrays(), map=8)
    assert str(seen.picture(head=1)).startswith("Picture of 5 x 5 ")
    assert seen._repr_html_().startswith("<pre>One rank&#x27;s slice of an observation: 2 heads, ")


def test_a_distance_of_another_rank_is_an_error():
    profile = RankProfile(np.ones(2), np.arange(5, 9), np.ones((2, 4)), {0: np.zeros(2)}, [])
    assert profile.at(0).tolist() == [0, 0]
    assert profile.at(7).tolist() == [1, 1]
    with pytest.raises(NotAskedError) as error:
        profile.at(9)
    assert message(error) == "the weight at distance 9 is on another rank."


def test_its_text_names_its_tokens(group):
    seen = distributed.observe(*arrays(), layout="zigzag", causal=True)
    first, cost, traffic = str(seen).splitlines()
    assert first == (
        "One rank's slice of an observation: 2 heads, 40 queries (0 to 39), 40 keys (0 to 39)."
    )
    assert cost.startswith("  cost: gathered over 1, ")
    assert traffic.startswith("  traffic: 0 MB sent, ")


def test_cut_gives_this_rank_its_tokens(group):
    sequence = np.arange(24).reshape(2, 4, 3)
    np.testing.assert_array_equal(distributed.cut(sequence, layout="zigzag"), sequence)
    np.testing.assert_array_equal(distributed.cut(sequence, axis=0), sequence)


@pytest.mark.parametrize("layout", ["contiguous", "zigzag"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("tokens", [0, 1, 5, 37, 64])
def test_every_token_belongs_to_one_rank(layout, ranks, tokens):
    positions = [distributed.positions(tokens, rank, ranks, layout=layout) for rank in range(ranks)]
    assert sorted(np.concatenate(positions)) == list(range(tokens))
    sizes = [len(one) for one in positions]
    assert max(sizes) - min(sizes) <= 2


def test_zigzag_balances_causal_work():
    seen = [distributed.positions(4096, rank, 4, layout="zigzag").sum() for rank in range(4)]
    assert max(seen) == min(seen)


def test_a_rank_outside_the_group_is_an_error():
    with pytest.raises(ArgumentError) as error:
        distributed.positions(10, rank=3, ranks=3)
    assert message(error) == "rank must be from 0 to 2, got 3."

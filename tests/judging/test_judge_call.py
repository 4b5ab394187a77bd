"""One call judged: sound kernels pass whatever the data, planted faults are found and named."""

import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judging import kernels
from tests.judging.kernels import DTYPES, SOUND, asked, causal, made

import regard
from regard.judging import rounding
from regard.judging.naming import name_heads
from regard.judging.one_call import judge_call
from regard.watcher.verdict import ROUNDED, SKIPPED, Verdict

nightly = pytest.mark.nightly
SOME = (torch.bfloat16, *(pytest.param(x, marks=nightly) for x in (torch.float32, torch.float16)))


def judged(call, rows=32):
    result = judge_call(call, rows)
    if not result.ok:
        name_heads(call, result, most=2)
    return result


def verdict_of(call, rows=32):
    verdict = Verdict()
    verdict.add(judged(call, rows), 0)
    return verdict


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    kernel=st.sampled_from(sorted(SOUND)),
    dtype=st.sampled_from((*DTYPES, torch.float64)),
    kind=st.sampled_from(("plain", "sink", "outlier", "even")),
    width=st.sampled_from((4, 32, 64, 80, 256)),
    queries=st.integers(1, 200),
    cached=st.sampled_from((0, 0, 60)),
    seed=st.integers(0, 10**6),
)
def test_sound_kernels_are_right(kernel, dtype, kind, width, queries, cached, seed):
    if dtype == torch.float64 and kernel in ("tiles", "tiles backwards", "split"):
        dtype = torch.float32  # they keep their sums in float32
    query, key, value = made(
        dtype, kind, queries=queries, keys=queries + cached, width=width, seed=seed
    )
    output = SOUND[kernel](query, key, value, width**-0.5, causal(query, key))
    result = judge_call(asked(query, key, value, output, kernel=kernel), rows=16, seed=seed)
    assert result.reason in ("", *COARSE)
    assert result.ok, (result.z, result.rows_off)


COARSE = ("its scores are written too coarsely to say what is rounding",)


@pytest.mark.parametrize("tokens", [24, 513])
@pytest.mark.parametrize("weights", [False, True])
def test_numbers_that_are_all_alike_are_rounded_alike(tokens, weights):
    """Every product of a feature is the same, and so is every rounding of its sum."""
    torch.manual_seed(0)
    attend = torch.nn.MultiheadAttention(8, 4, batch_first=True)
    x_bte = torch.ones(1, tokens, 8) * (0.1 + torch.rand(8))
    with regard.judge(attend) as verdict:
        attend(x_bte, x_bte, x_bte, need_weights=weights)
    assert verdict.ok, str(verdict)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_unit_is_the_size_of_real_errors(dtype):
    """Not only a limit: over many rows errors are as large as the unit says, to a factor of 3."""
    query, key, value = made(dtype, "plain", queries=256)
    output = kernels.tiled(query, key, value, 0.125, causal(query, key))
    result = judge_call(asked(query, key, value, output), rows=256)
    assert bool((result.z > 0.33).all())
    assert bool((result.z < 1.1).all())


def test_rounding_to_nearest_has_the_size_that_is_derived():
    x = torch.exp(torch.rand(10**6, dtype=torch.float64) * math.log(2.0**20))
    relative = (x.bfloat16().double() - x) / x / rounding.step(torch.bfloat16)
    assert float(relative.square().mean().sqrt()) == pytest.approx(rounding.RELATIVE, rel=0.01)


def test_ulp_is_the_distance_of_neighbours():
    x = torch.tensor([1.0, 1.5, 0.75, 3e-39, 100.0], dtype=torch.float64)
    for dtype in DTYPES:
        near = x.to(dtype)
        up = torch.nextafter(near, torch.full_like(near, math.inf))
        gap = up.double() - near.double()
        assert torch.equal(rounding.ulp(near.double(), dtype), gap)


@pytest.mark.parametrize("dtype", SOME, ids=str)
def test_planted_faults_are_found_and_named(dtype):
    query, key, value = made(dtype, "sink")
    missed = {}
    for fault, (output, name) in kernels.faults(SOUND["flash"], query, key, value).items():
        verdict = verdict_of(asked(query, key, value, output))
        if name not in str(verdict):
            missed[fault] = str(verdict).splitlines()[0]
        assert not verdict.ok, fault
    assert not missed, "\n".join(f"{fault}: {text}" for fault, text in missed.items())


@pytest.mark.parametrize("dtype", SOME, ids=str)
def test_other_causes_are_found_and_get_no_wrong_name(dtype):
    query, key, value = made(dtype, "plain")
    for fault, output in kernels.unlisted(SOUND["flash"], query, key, value).items():
        verdict = verdict_of(asked(query, key, value, output))
        assert not verdict.ok, fault
        assert {x.name for x in verdict.faults} == {""}, (fault, str(verdict))


def test_eager_scores_are_rounded_and_said_to_be():
    query, key, value = made(torch.bfloat16, "plain")
    output = kernels.eager(query, key, value, 0.125, causal(query, key))
    result = judge_call(asked(query, key, value, output, kernel="eager"))
    assert bool((result.state == ROUNDED).all())
    verdict = Verdict()
    verdict.add(result, 0)
    assert verdict.ok
    assert "scores rounded in 6 heads" in str(verdict)
    # The same output of a kernel that was to keep its scores is wrong, and the name says so.
    assert "scores rounded to bfloat16" in str(verdict_of(asked(query, key, value, output)))


def written_out(query, key, value, mask):
    scores = (query @ key.mT) * 0.125
    scores = scores.masked_fill(~mask, torch.finfo(query.dtype).min)
    weights = torch.softmax(scores, -1, dtype=torch.float32).to(query.dtype)
    return scores, weights, weights @ value


def test_what_a_program_wrote_is_judged_by_its_own_scores():
    """Scores of a thousand: one step of bfloat16 is 4, yet nothing has to be guessed."""
    query, key, value = made(torch.bfloat16, "plain", groups=6)
    query = query * 40
    scores, weights, output = written_out(query, key, value, causal(query, key))
    call = asked(query, key, value, output, kernel="eager")
    assert judge_call(call).reason == COARSE[0]
    known = asked(query, key, value, output, kernel="eager", scores=scores, weights=weights)
    assert judge_call(known).ok
    changed = weights.clone()
    changed[:, 2, :, 0] *= 1.02
    output = changed @ value
    wrong = asked(query, key, value, output, kernel="eager", scores=scores, weights=changed)
    result = judge_call(wrong)
    assert {head for _, head in result.wrong_rows} == {2}


def test_weights_next_to_nothing_are_rounded_twice():
    """exp(-100) has few digits in float32, and fewer after the division."""
    query, key, value = made(torch.float32, "plain", groups=6)
    scores = -90 - 13 * torch.rand(1, 6, 200, 200, generator=torch.Generator().manual_seed(0))
    scores[..., :2] = 0  # so that the sum is 2
    weights = scores.softmax(-1)
    assert bool(((weights > 0) & (weights < 2.0**-126)).any())
    output = weights @ value
    call = asked(query, key, value, output, kernel="eager", scores=scores, weights=weights)
    result = judge_call(replace(call, query=None, key=None))
    assert not result.reason
    assert result.ok


def test_what_cannot_be_judged_says_why():
    query, key, value = made(torch.float32, "plain", queries=20)
    output = SOUND["math"](query, key, value, 0.125, causal(query, key))
    call = asked(query, key, value, output)
    assert "dropout 0.1 is on" in judge_call(asked(query, key, value, output, dropout=0.1)).reason
    broken = asked(query * math.nan, key, value, output)
    assert "not finite" in judge_call(broken).reason
    nothing = asked(query, key, value, output, mask=torch.zeros(20, 20, dtype=torch.bool))
    assert bool((judge_call(nothing).state == SKIPPED).all())
    lost = asked(query, key, value, output * math.inf)
    assert "not finite in 20 of 20 rows" in str(verdict_of(lost))
    verdict = Verdict()
    verdict.add(judge_call(broken), 0)
    assert not verdict.ok
    assert str(verdict).startswith("nothing judged: 1 call, its query, key or value is not finite")
    assert judge_call(call).ok


def test_masks_of_every_form_are_followed():
    query, key, value = made(torch.float32, "plain", queries=40)
    seen = torch.rand(1, 6, 40, 40, generator=torch.Generator().manual_seed(3)) > 0.3
    seen[..., 0] = True
    bias = torch.randn(1, 1, 40, 40, generator=torch.Generator().manual_seed(4))
    least = torch.finfo(torch.float32).min
    for mask in (seen, torch.where(seen, bias, least), torch.where(seen, 0.0, least)):
        key_h, value_h = kernels.repeated(query, key, value)
        output = torch.nn.functional.scaled_dot_product_attention(
            query, key_h, value_h, attn_mask=mask
        )
        options = {"position": 0, "ahead": None, "mask": mask}
        assert judge_call(asked(query, key, value, output, **options)).ok
        other = {"position": 0, "ahead": None, "mask": None}
        assert not judge_call(asked(query, key, value, output, **other)).ok


def test_rows_are_drawn_in_strata_and_anew_for_each_call():
    query, key, value = made(torch.float32, "plain", queries=320)
    output = SOUND["math"](query, key, value, 0.125, causal(query, key))
    call = asked(query, key, value, output)
    first, again, next_ = (judge_call(call, 32, seed=7, call=c).rows for c in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, next_)
    assert not torch.equal(first[:, 0], first[:, 1])  # of each key head others
    slices = first[..., :-1] // 10
    assert torch.equal(slices, torch.arange(31).expand_as(slices))
    assert bool((first[..., -1] == 319).all())


def test_the_verdict_counts_and_tells_its_chance():
    query, key, value = made(torch.float32, "plain", queries=320)
    output = SOUND["math"](query, key, value, 0.125, causal(query, key))
    verdict = Verdict()
    for call in range(3):
        verdict.add(judge_call(asked(query, key, value, output, path="layers.5.attn"), 32), call)
    assert (verdict.layers, verdict.heads, verdict.rows) == (1, 6, 3 * 6 * 32)
    assert verdict.missed(0.01) == pytest.approx(0.99**96)
    layer, head, units = verdict.worst
    assert (layer, 0 <= head < 6, 0 < units < 1.1) == (5, True, True)
    assert "1 layer, 6 heads, 576 rows; worst" in str(verdict)
    table = list(verdict.to_dicts())
    assert [x["verdict"] for x in table] == ["right"] * 6
    assert max(x["units"] for x in table) == units

"""The operator suite: gradients, dropout off, cached keys, packed sequences, pages of keys."""

import math

import numpy as np
import pytest

from regard.checker.adapters import native, on_device
from regard.checker.check import check
from regard.checker.suite import FAIL, NOT_CLAIMED, PASS, run_suite
from regard.errors import ArgumentError

torch = pytest.importorskip("torch", reason="gradients and packed kernels are those of PyTorch")


def statuses(function, *rows):
    """The float32 cells of a function's table, or those of these rows."""
    suite = run_suite(function, "mine")
    names = rows or tuple(suite.rows)
    return {name: suite.rows[name]["float32"].status for name in names}


def of_start(function, start):
    """The statuses of the rows whose names begin so, of all dtypes."""
    rows = run_suite(function, "mine").rows
    return {
        (name, dtype): cell.status
        for name, row in rows.items()
        if name.startswith(start)
        for dtype, cell in row.items()
    }


def plain(q, k, v, mask=None, causal=False, softcap=None):
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:]).tril().bool(), -torch.inf)
    if mask is not None:
        hidden = torch.zeros(mask.shape, dtype=q.dtype).masked_fill(~mask, -torch.inf)
        return torch.softmax(scores + hidden, -1).nan_to_num() @ v
    return torch.softmax(scores, -1) @ v


def test_gradients_of_plain_code_are_right_but_in_empty_rows():
    """Zeros put over NaN leave the NaN in the gradient: right forwards, wrong backwards."""
    cells = of_start(plain, "backward")
    assert cells["backward, empty rows", "float32"] == FAIL
    asked = {key: x for key, x in cells.items() if key[0] != "backward, empty rows"}
    claimed = {name for (name, _), status in asked.items() if status == PASS}
    assert claimed == {"backward", "backward, causal", "backward, softcap"}
    assert FAIL not in asked.values()


def test_pytorchs_own_gradients_pass():
    cells = of_start(torch.nn.functional.scaled_dot_product_attention, "backward")
    assert set(cells.values()) == {PASS, NOT_CLAIMED}
    assert cells["backward, grouped heads, 6 on 3", "bfloat16"] == PASS
    assert cells["backward, empty rows", "float16"] == PASS


class WrongBackward(torch.autograd.Function):
    """Right forwards; the gradient of key lacks the scale."""

    @staticmethod
    def forward(ctx, q, k, v):
        weights = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]), -1)
        ctx.save_for_backward(q, k, v, weights)
        return weights @ v

    @staticmethod
    def backward(ctx, incoming):
        q, k, v, weights = ctx.saved_tensors
        towards = incoming @ v.transpose(-1, -2)
        scores = weights * (towards - (weights * towards).sum(-1, keepdim=True))
        scaled = scores / math.sqrt(q.shape[-1])
        return scaled @ k, scores.transpose(-1, -2) @ q, weights.transpose(-1, -2) @ incoming


def test_a_wrong_backward_is_named_by_its_array():
    def kernel(q, k, v):
        return WrongBackward.apply(q, k, v)

    cell = run_suite(kernel, "mine").rows["backward"]["float32"]
    assert (cell.status, cell.note) == (FAIL, "gradient of key")


def test_a_lost_gradient_fails_and_none_at_all_is_not_claimed():
    def lost(q, k, v):
        return plain(q, k.detach(), v)

    def forward_only(q, k, v):
        with torch.no_grad():
            return plain(q, k, v)

    cell = run_suite(lost, "mine").rows["backward"]["float32"]
    assert (cell.status, cell.note) == (FAIL, "no gradient of key")
    assert statuses(forward_only, "backward") == {"backward": NOT_CLAIMED}


def test_dropout_off_is_asked():
    def fine(q, k, v, dropout_p=0.0):
        return torch.nn.functional.dropout(plain(q, k, v), dropout_p)

    def always(q, k, v, dropout_p=None):
        return plain(q, k, v) * (1 if dropout_p is None else 0.9)

    row = "dropout 0"
    assert statuses(fine, row) == {row: PASS}
    assert statuses(always, row) == {row: FAIL}


def with_cache(q, k, v, k_cache=None, v_cache=None, is_causal=False):
    if k_cache is not None:
        k, v = np.concatenate([k_cache, k], -2), np.concatenate([v_cache, v], -2)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if is_causal:
        ahead = k.shape[-2] - q.shape[-2]
        scores = np.where(np.tri(*scores.shape[-2:], ahead, dtype=bool), scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def test_cached_keys_are_asked():
    def old_after_new(q, k, v, k_cache=None, v_cache=None, is_causal=False):
        if k_cache is not None:
            k, v = np.concatenate([k, k_cache], -2), np.concatenate([v, v_cache], -2)
        return with_cache(q, k, v, is_causal=is_causal)

    rows = ("cached keys", "cached keys, causal")
    assert set(statuses(with_cache, *rows).values()) == {PASS}
    assert statuses(old_after_new, *rows) == {rows[0]: PASS, rows[1]: FAIL}


def packed(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, *, causal=False):
    """Sequences end to end, the queries the last ones."""
    assert max_seqlen_q >= (cu_seqlens_q[1:] - cu_seqlens_q[:-1]).max()
    output = torch.zeros(len(q), q.shape[1], v.shape[2], dtype=q.dtype)
    for i in range(len(cu_seqlens_q) - 1):
        queries = slice(cu_seqlens_q[i], cu_seqlens_q[i + 1])
        keys = slice(cu_seqlens_k[i], cu_seqlens_k[i + 1])
        one = attend_tokens_first(q[queries], k[keys], v[keys], causal)
        output[queries] = one
    return output


def attend_tokens_first(q, k, v, causal):
    q, k, v = (array.transpose(0, 1) for array in (q, k, v))
    scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
    if causal:
        ahead = k.shape[1] - q.shape[1]
        seen = torch.ones(scores.shape[-2:]).tril(ahead).bool()
        scores = scores.masked_fill(~seen, -torch.inf)
    return (torch.softmax(scores, -1) @ v).transpose(0, 1)


def test_packed_sequences_are_asked():
    suite = run_suite(packed, "mine")
    assert suite.status == 0, suite.markdown()
    rows = {name: row["bfloat16"].status for name, row in suite.rows.items()}
    for name in ("lengths", "causal", "backward, lengths", "packed, several lengths, causal",
                 "packed, other lengths of keys", "packed, an empty sequence"):  # fmt: skip
        assert rows[name] == PASS
    assert check(packed).right


def test_one_list_of_starts_serves_queries_and_keys():
    def self_attention(q, k, v, cu_seqlens, max_seqlen, causal=False):
        return packed(q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, causal=causal)

    suite = run_suite(self_attention, "mine")
    cells = {name: row["float32"] for name, row in suite.rows.items()}
    assert suite.status == 0, suite.markdown()
    assert cells["lengths"].status == NOT_CLAIMED
    assert cells["packed, several lengths, causal"].status == PASS
    assert cells["packed, other lengths of keys"].note == (
        "ArgumentError: cu_seqlens serves queries and keys: there must be as many queries as keys."
    )


def test_packed_sequences_that_see_each_other_fail():
    def across(q, k, v, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k):
        return attend_tokens_first(q, k, v, causal=False)

    assert set(of_start(across, "packed").values()) == {FAIL}


def paged(q, k_cache, v_cache, cache_seqlens, block_table, softmax_scale=None):
    """q (batch, token, head, feature); k_cache (page, token, head, feature)."""
    output = []
    for one, used, pages in zip(q, cache_seqlens, block_table, strict=True):
        k, v = (pool[pages].flatten(0, 1)[:used] for pool in (k_cache, v_cache))
        scale = softmax_scale or one.shape[-1] ** -0.5
        one = one * scale * math.sqrt(one.shape[-1])
        output.append(attend_tokens_first(one, k, v, causal=False))
    return torch.stack(output)


def test_pages_are_asked():
    suite = run_suite(paged, "mine")
    assert suite.status == 0, suite.markdown()
    names = ("plain", "lengths", "scale", "backward")
    assert {suite.rows[name]["float32"].status for name in names} == {PASS}
    assert check(paged).right


def test_pages_read_past_their_end_or_in_the_wrong_order_fail():
    def past_the_end(q, k_cache, v_cache, cache_seqlens, block_table):
        used = torch.full_like(cache_seqlens, block_table.shape[1] * k_cache.shape[1])
        return paged(q, k_cache, v_cache, used, block_table)

    def in_order(q, k_cache, v_cache, cache_seqlens, block_table):
        table = torch.arange(block_table.numel()).reshape(block_table.shape)
        return paged(q, k_cache, v_cache, cache_seqlens, table)

    assert statuses(past_the_end, "lengths") == {"lengths": FAIL}
    assert check(in_order).verdict == "wrong"


def in_32_bits(q, k, v, causal=False):
    scores = (q.float() @ k.float().transpose(-1, -2)) / math.sqrt(q.shape[-1])
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return (scores.softmax(-1) @ v.float()).to(q.dtype)


def half_only(q, k, v, causal=False):
    if q.dtype not in (torch.float16, torch.bfloat16):
        raise RuntimeError("only fp16 and bf16 are supported")
    return in_32_bits(q, k, v, causal)


def multiples_of_16(q, k, v, causal=False):
    if q.shape[-2] % 16 or k.shape[-2] % 16:
        raise ValueError("the lengths must be multiples of 16")
    if q.shape[-1] not in (16, 32, 64, 128):
        raise ValueError("the head width must be 16, 32, 64 or 128")
    return in_32_bits(q, k, v, causal)


def blocks_of_128(q, k, v):
    assert q.dtype == torch.float16
    assert all(x.shape[-2] % 128 == 0 and x.shape[-1] == 128 for x in (q, k, v))
    return in_32_bits(q, k, v)


def without_rescale(q, k, v):
    """Tiles of 64, of lengths that are multiples of 16: one tile is right."""
    assert all(x.shape[-2] % 16 == 0 for x in (q, k))
    highest, total, output = torch.tensor(-math.inf), 0, 0
    for at in range(0, k.shape[-2], 64):
        tile = slice(at, at + 64)
        scores = q @ k[..., tile, :].transpose(-1, -2) / math.sqrt(q.shape[-1])
        highest = torch.maximum(highest, scores.amax(-1, keepdim=True))
        e = (scores - highest).exp()
        total, output = total + e.sum(-1, keepdim=True), output + e @ v[..., tile, :]
    return output / total


@torch.library.custom_op("regard_tests::attention", mutates_args=())
def operator(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool = False
) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)


@torch.library.custom_op("regard_tests::unscaled", mutates_args=())
def unscaled_operator(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, is_causal: bool = False
) -> torch.Tensor:
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal, scale=1.0)


@pytest.mark.parametrize(
    ("kernel", "dtypes"),
    [
        (half_only, {"float16", "bfloat16"}),
        (multiples_of_16, {"float32", "float16", "bfloat16"}),
        pytest.param(blocks_of_128, {"float16"}, marks=pytest.mark.nightly),
        (operator, {"float32", "float16", "bfloat16"}),
        (torch.ops.regard_tests.attention, {"float32", "float16", "bfloat16"}),
    ],
    ids=["half only", "multiples of 16", "blocks of 128", "operator", "packet"],
)
def test_a_kernel_is_asked_in_the_sizes_and_dtypes_that_it_takes(kernel, dtypes):
    assert check(kernel).verdict == "right"
    suite = run_suite(kernel, "mine")
    assert suite.status == 0, suite.markdown()
    plain_row = suite.rows["plain"]
    assert {dtype for dtype, cell in plain_row.items() if cell.status == PASS} == dtypes
    if kernel is not blocks_of_128:
        assert all(suite.rows["causal"][dtype].status == PASS for dtype in dtypes)


@pytest.mark.nightly
def test_wrong_kernels_of_odd_sizes_and_forms_are_named():
    assert check(without_rescale).mistakes == ("running sum not rescaled",)
    assert check(unscaled_operator).mistakes == ("no scaling",)


def test_one_dtype_is_one_column():
    suite = run_suite(half_only, "mine", dtype="bfloat16")
    assert {tuple(row) for row in suite.rows.values()} == {("bfloat16",)}
    with pytest.raises(ArgumentError, match="dtype must be one of float32, float16, bfloat16, got"):
        run_suite(half_only, "mine", dtype="float8")


def test_tensors_go_to_the_device():
    with on_device("meta"):
        assert native(np.ones(3), "torch", "float32").device.type == "meta"
    assert native(np.ones(3), "torch", "float32").device.type == "cpu"
    with pytest.raises(ArgumentError, match="device must be one that PyTorch has here, got 'gpu'"):
        check(in_32_bits, device="gpu")

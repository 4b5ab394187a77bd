"""Attention events: fused kernels, flash-attn, flex attention, and an optional log-sum-exp."""

import numpy as np
import pytest
import torch
from tests.helpers.model_families import STEPS, close
from torch import Tensor

import regard
from regard.errors import BackendError
from regard.watcher.seam import kernels
from regard.watcher.seam.kernels import run_with_logsumexp
from regard.watcher.seam.mode import AttentionMode


@pytest.fixture(scope="module")
def flash_attn():
    """Operators with the names and schemas of the flash-attn package, without an output."""
    options = (
        "float dropout_p, float softmax_scale, bool causal, int window_size_left=-1, "
        "int window_size_right=-1, float softcap=0.0, Tensor? alibi_slopes=None, "
        "bool return_softmax=False"
    )
    packed = (
        "Tensor cu_seqlens_q, Tensor cu_seqlens_k, int max_seqlen_q, int max_seqlen_k, "
        f"{options}, Tensor? block_table=None, Tensor? leftpad_k=None, Tensor? seqused_k=None"
    )
    library = torch.library.Library("flash_attn", "FRAGMENT")
    for name, arguments in (("_flash_attn_forward", options),
                            ("_flash_attn_varlen_forward", packed)):  # fmt: skip
        library.define(f"{name}(Tensor q, Tensor k, Tensor v, {arguments}) -> (Tensor, Tensor)")
        library.impl(name, lambda q, k, v, *_, **__: (q.clone(), q.new_zeros(0)), "CPU")
    yield torch.ops.flash_attn
    library._destroy()


def drawn(*shape):
    return torch.randn(shape, generator=torch.manual_seed(5))


def weights_of(query: Tensor, key: Tensor, causal=False, left=None, softcap=None, slopes=None):
    """Weights (h, q, k) of query (q, h, d) and key (k, h_kv, d), as flash-attn defines them."""
    key = key.repeat_interleave(query.shape[1] // key.shape[1], dim=1)
    scores = torch.einsum("qhd,khd->hqk", query, key) / query.shape[-1] ** 0.5
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    back = (torch.arange(len(query)) + len(key) - len(query))[:, None] - torch.arange(len(key))
    if slopes is not None:
        scores = scores - slopes[:, None, None] * back.abs()
    hidden = (back < 0) & causal
    if left is not None:
        hidden |= back > left
    return scores.masked_fill(hidden, -torch.inf).softmax(dim=-1).nan_to_num(0).numpy()


CASES = {
    "plain": {},
    "causal": {"causal": True},
    "window": {"causal": True, "left": 2},
    "softcap": {"softcap": 0.5},
    "alibi": {"causal": True, "slopes": torch.tensor([0.5, 0.25, 0.1, 0.05])},
}


def options_of(case):
    return {"window_size_left": case.get("left", -1), "softcap": case.get("softcap", 0.0),
            "alibi_slopes": case.get("slopes")}  # fmt: skip


@pytest.mark.parametrize("queries", [6, 4])
@pytest.mark.parametrize("case", CASES)
def test_a_batch_of_the_flash_attn_package(flash_attn, case, queries):
    query, key, case = drawn(2, queries, 4, 8), drawn(2, 6, 2, 8), CASES[case]
    with torch.no_grad(), regard.watch() as seen:
        flash_attn._flash_attn_forward(
            query, key, key, 0.0, 8**-0.5, case.get("causal", False), **options_of(case)
        )
    for sentence in range(2):
        expected = weights_of(query[sentence], key[sentence], **case)
        close(seen.sentence(sentence)[0].map, expected, STEPS)


@pytest.mark.parametrize("case", CASES)
def test_packed_sequences_of_the_flash_attn_package(flash_attn, case):
    query, key, case = drawn(9, 4, 8), drawn(11, 2, 8), CASES[case]
    edges_q, edges_k = torch.tensor([0, 5, 9]), torch.tensor([0, 5, 11])
    with torch.no_grad(), regard.watch() as seen:
        flash_attn._flash_attn_varlen_forward(
            query, key, key, edges_q, edges_k, 5, 6, 0.0, 8**-0.5, case.get("causal", False),
            **options_of(case),
        )  # fmt: skip
    for sentence, (rows, columns) in enumerate([(slice(0, 5), slice(0, 5)),
                                                (slice(5, 9), slice(5, 11))]):  # fmt: skip
        expected = weights_of(query[rows], key[columns], **case)
        map_hqk = seen.sentence(sentence)[0].map
        close(map_hqk[:, : expected.shape[1], : expected.shape[2]], expected, STEPS)
        assert not map_hqk[:, expected.shape[1] :].any()


def test_keys_that_a_table_names_are_refused(flash_attn):
    query, edges = drawn(4, 4, 8), torch.tensor([0, 4])
    with torch.no_grad(), pytest.raises(BackendError) as error, regard.watch():
        flash_attn._flash_attn_varlen_forward(
            query, query, query, edges, edges, 4, 4, 0.0, 1.0, True, block_table=torch.zeros(1, 1)
        )
    assert str(error.value) == (
        "flash_attn::_flash_attn_varlen_forward reads its keys by 'block_table', which regard does "
        "not know: its weights would be wrong, so watch shows none."
    )


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
def test_flex_attention():
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    query, key = drawn(2, 4, 8, 16), drawn(2, 2, 8, 16)
    slopes = torch.tensor([0.5, 0.25, 0.1, 0.0])
    causal = create_block_mask(lambda b, h, q, k: q >= k, None, None, 8, 8, device="cpu")

    def alibi(score, sentence, head, at_q, at_k):
        return score - slopes[head] * (at_q - at_k)

    def attend():
        return flex_attention(query, key, key, alibi, causal, enable_gqa=True)

    with torch.no_grad(), torch.compiler.set_stance("force_eager"):
        expected = attend()
        with regard.watch() as seen:
            torch.testing.assert_close(attend(), expected, rtol=0, atol=0)
    for sentence in range(2):
        rows, columns = (x[sentence].transpose(0, 1) for x in (query, key))
        own = weights_of(rows, columns, causal=True, slopes=slopes)
        close(seen.sentence(sentence)[0].map, own, STEPS)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors is in prototype:UserWarning")
def test_nested_tensors():
    parts = [drawn(length, 2, 8) for length in (5, 3)]
    nested = torch.nested.nested_tensor(parts, layout=torch.jagged).transpose(1, 2)
    attend = torch.nn.functional.scaled_dot_product_attention
    with torch.no_grad():
        expected = attend(nested, nested, nested).values()
        with regard.watch() as seen:
            output = attend(nested, nested, nested).values()
    torch.testing.assert_close(output, expected, rtol=0, atol=0)
    for sentence, part in enumerate(parts):
        size, map_hqk = len(part), seen.sentence(sentence)[0].map
        close(map_hqk[:, :size, :size], weights_of(part, part), STEPS)
        assert not np.any(map_hqk[:, size:])


QUERY = torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def no_kinds(monkeypatch):
    """No kind of call is known yet."""
    monkeypatch.setattr(kernels, "_same_output", {})


class Kernel:
    """A fused kernel that counts its runs; its output moves by ``apart`` if it is asked."""

    def __init__(self, apart=0.0):
        self.apart, self.asked = apart, []

    def __call__(self, query, key, value, mask, asked, dropout=0.0, causal=False, *, scale=None):
        self.asked.append(asked)
        scores = query @ key.transpose(-1, -2)
        output = torch.softmax(scores, dim=-1) @ value
        total = torch.logsumexp(scores, dim=-1) if asked else torch.empty(0)
        return output + self.apart if asked else output, total

    def __str__(self):
        return "kernel"


def arguments(query=QUERY, *more):
    return (query, query, query, None, False, *more)


def test_a_kernel_is_asked_and_compared_with_itself_once():
    kernel = Kernel()
    for _ in range(3):
        output, logsumexp = run_with_logsumexp(kernel, arguments(), {"scale": 1.0})
        assert logsumexp.shape == (1, 2, 5)
        assert torch.equal(output, kernel(*arguments())[0])
    assert kernel.asked == [True, False, False, True, False, True, False]


def test_another_shape_is_compared_again():
    kernel = Kernel()
    for query in (QUERY, QUERY[:, :, :4], QUERY):
        run_with_logsumexp(kernel, arguments(query), {})
    assert kernel.asked == [True, False, True, False, True]


def test_a_kernel_that_gives_another_output_is_left_as_it_is():
    kernel = Kernel(apart=1e-6)
    expected = kernel(*arguments())[0]
    for _ in range(2):
        output, logsumexp = run_with_logsumexp(kernel, arguments(), {})
        assert torch.equal(output, expected)
        assert logsumexp.numel() == 0
    assert kernel.asked == [False, True, False, False]


def test_an_output_that_is_no_number_is_the_same():
    kernel, query = Kernel(), QUERY.clone()
    query[0, 0, 2] = torch.nan
    assert run_with_logsumexp(kernel, arguments(query), {})[1].numel()


@pytest.mark.parametrize(
    ("given", "keywords", "asked"),
    [
        (arguments(QUERY, 0.1), {}, [False]),
        (arguments(), {"dropout_p": 0.1}, [False]),
        ((QUERY, QUERY, QUERY, None, True), {}, [True]),
    ],
    ids=["dropout", "dropout by name", "asked already"],
)
def test_calls_that_are_left_as_they_are(given, keywords, asked):
    kernel = Kernel()

    def run(*given, dropout_p=0.0):
        return kernel(*given)

    run_with_logsumexp(run, given, keywords)
    assert kernel.asked == asked


def test_a_program_that_needs_no_gradients_shows_its_logsumexp():
    """The kernel for CUDA, on the CPU: its operator is given a kernel of this device."""
    library, kernel, events = torch.library.Library("aten", "IMPL"), Kernel(), []
    nothing = torch.empty(0, dtype=torch.int64)

    def run(*given, scale=None):
        output, logsumexp = kernel(*given)
        return output, logsumexp, nothing, nothing

    library.impl("_scaled_dot_product_efficient_attention", run, "CPU")
    operator = torch.ops.aten._scaled_dot_product_efficient_attention
    with torch.no_grad(), AttentionMode(events.append):
        operator(QUERY, QUERY, QUERY, None, False)
    (event,) = events
    expected = torch.logsumexp(QUERY @ QUERY.transpose(-1, -2), dim=-1)
    torch.testing.assert_close(event.logsumexp, expected)
    assert kernel.asked == [True, False]
    library._destroy()

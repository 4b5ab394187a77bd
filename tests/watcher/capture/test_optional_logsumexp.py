"""Kernels that return a log-sum-exp only if asked: asked where the output stays the same."""

import pytest
import torch

from regard.watcher.capture import events
from regard.watcher.capture.events import attention_events, run_with_logsumexp

QUERY = torch.randn(1, 2, 5, 8, generator=torch.Generator().manual_seed(0))


@pytest.fixture(autouse=True)
def no_kinds(monkeypatch):
    """No kind of call is known yet."""
    monkeypatch.setattr(events, "_same_output", {})


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
    with torch.no_grad(), attention_events(events.append):
        operator(QUERY, QUERY, QUERY, None, False)
    (event,) = events
    expected = torch.logsumexp(QUERY @ QUERY.transpose(-1, -2), dim=-1)
    torch.testing.assert_close(event.logsumexp, expected)
    assert kernel.asked == [True, False]
    library._destroy()

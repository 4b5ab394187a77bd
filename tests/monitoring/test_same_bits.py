"""Loss, gradients, parameters and random numbers of a training: the same to the bit with a monitor.

Every kind of attention in every kind of training with everything that a monitor can do, on the CPU
with deterministic algorithms; and the kernels of a GPU, interpreted.
"""

from contextlib import nullcontext
from functools import cache

import pytest
import torch
from tests.helpers.small_training import (
    Attention,
    HandwrittenAttention,
    Model,
    batch,
    loss_of,
    louder,
)
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

import regard
from regard.engine.gpu import health
from regard.monitoring import health as measures


class MathAttention(Attention):
    """Torch's attention by its plain operations."""

    def attend(self, query, key, value):
        with sdpa_kernel(SDPBackend.MATH):
            return super().attend(query, key, value)


class DropoutAttention(Attention):
    """With dropout, which draws random numbers."""

    def attend(self, query, key, value):
        return scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=True, dropout_p=0.3
        )


class MaskedAttention(Attention):
    """With an added mask."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        hidden = torch.ones(7, 7, dtype=torch.bool).triu(1)
        self.bias = torch.zeros(7, 7).masked_fill(hidden, -torch.inf)

    def attend(self, query, key, value):
        return scaled_dot_product_attention(query, key, value, attn_mask=self.bias, enable_gqa=True)


class LearntMask(MaskedAttention):
    """With an added mask that learns, which torch's kernel for a CPU does not serve."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.bias = torch.nn.Parameter(torch.zeros(7, 7))


class Encoder(torch.nn.Module):
    """Torch's own layer."""

    def __init__(self, width=16):
        super().__init__()
        self.layer = torch.nn.TransformerEncoderLayer(width, 4, 32, dropout=0.1, batch_first=True)

    def forward(self, x_bte):
        return self.layer(x_bte)


class Reentrant(torch.nn.Module):
    """A layer whose checkpoint runs its forward inside the backward pass."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x_bte):
        return checkpoint(self.layer, x_bte, use_reentrant=True)


ATTENTIONS = {
    "fused": Attention, "math": MathAttention, "by hand": HandwrittenAttention,
    "dropout": DropoutAttention, "mask": MaskedAttention, "learnt mask": LearntMask,
    "torch's layer": Encoder,
}  # fmt: skip
OPTIONS = {
    "certificate": {"every": 50},
    "all facts": {"every": 1},
    "sampled rows": {"every": 1, "rows": 3},
    "exact maxima": {"every": 50, "threshold": 1e-3},
    "exact maxima of one layer": {"every": 2, "threshold": 8.0},
    "exact scores": {"every": 50, "exact_scores": True},
    "probe": {"every": 1, "probe": batch(9)},
    "judged": {"every": 2, "judge": 3},
}
TRAININGS = ("plain", "accumulated", "checkpointed", "reentrant", "autocast")


def made(attention, kind):
    model = Model(ATTENTIONS[attention], checkpointed=kind == "checkpointed")
    if hasattr(model.layers[1], "query"):
        louder(model, 1, 60)
    if kind == "reentrant":
        model.layers = torch.nn.ModuleList(map(Reentrant, model.layers))
    return model


def trained(attention, kind, options):
    """Everything that a training leaves: losses, gradients of each step, parameters, state."""
    model = made(attention, kind)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    block = nullcontext()
    if options is not None:
        block = regard.monitor(model, on_error="raise", on_alert="log", **options)
    torch.manual_seed(3)
    found = []
    with block as monitor:
        for number in range(3):
            optimizer.zero_grad()
            for part in range(2 if kind == "accumulated" else 1):
                cast = torch.autocast("cpu", torch.bfloat16, enabled=kind == "autocast")
                with cast:
                    loss = loss_of(model, batch(2 * number + part))
                loss.backward()
                found.append(loss.detach())
            found += [x.grad.clone() for x in model.parameters()]
            optimizer.step()
            if monitor is not None:
                assert monitor.max_scores()
    return [*found, *(x.detach() for x in model.parameters()), torch.get_rng_state()]


plain = cache(lambda attention, kind: trained(attention, kind, None))


@pytest.fixture
def deterministic():
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def assert_same_bits(ours, theirs):
    assert len(ours) == len(theirs)
    assert all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("kind", TRAININGS)
@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize("options", OPTIONS)
def test_a_monitor_changes_no_bit(attention, kind, options):
    watched = trained(attention, kind, OPTIONS[options])
    assert_same_bits(plain(attention, kind), watched)


@pytest.mark.usefixtures("deterministic")
@pytest.mark.parametrize("attention", ["fused", "mask"])
@pytest.mark.parametrize("options", ["all facts", "sampled rows", "exact maxima"])
def test_the_kernels_of_a_gpu_write_nothing_but_their_own(attention, options, monkeypatch):
    """Interpreted, on the very tensors that autograd saved for the backward pass."""
    pytest.importorskip("triton", reason="needs triton: pip install triton")
    started = []
    for name in ("row_sums", "join_largest"):
        kernel = getattr(health, name)
        counted = lambda *x, kernel=kernel, **y: started.append(1) or kernel(*x, **y)  # noqa: E731
        monkeypatch.setattr(health, name, counted)
    monkeypatch.setattr(measures, "in_host_memory", lambda tensor: False)
    watched = trained(attention, "plain", OPTIONS[options])
    assert started
    assert_same_bits(plain(attention, "plain"), watched)

"""Layers that mix positions, as people write them: (1, t, 32) in and out."""

import torch
import torch.nn.functional as F
from torch import nn

WIDTH, HEADS = 32, 4


class LinearAttention(nn.Module):
    """Katharopoulos et al. (2020), causal by running sums or both ways."""

    def __init__(self, causal=True):
        super().__init__()
        self.causal = causal
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        batch, tokens, _ = x.shape
        q, k, v = self.qkv(x).view(batch, tokens, 3, HEADS, -1).unbind(2)
        q, k = F.elu(q) + 1, F.elu(k) + 1
        memory, total = torch.einsum("bnhk,bnhv->bnhkv", k, v), k
        if self.causal:
            memory, total = memory.cumsum(1), total.cumsum(1)
        else:
            memory, total = memory.sum(1, keepdim=True), total.sum(1, keepdim=True)
            memory, total = memory.expand(-1, tokens, -1, -1, -1), total.expand_as(k)
        mixed = torch.einsum("bnhk,bnhkv->bnhv", q, memory) / (q * total).sum(-1, keepdim=True)
        return self.out(mixed.reshape(batch, tokens, WIDTH))

    def weights(self, x):
        """The weights (h, t, t) by their formula."""
        q, k, _ = self.qkv(x)[0].view(x.shape[1], 3, HEADS, -1).unbind(1)
        scores = torch.einsum("qhd,khd->hqk", F.elu(q) + 1, F.elu(k) + 1)
        scores = scores.tril() if self.causal else scores
        return scores / scores.sum(-1, keepdim=True)


class Retention(nn.Module):
    """Sun et al. (2023), the parallel form, with a gate and a norm for each head after it."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.gate = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.norm, self.out = nn.GroupNorm(HEADS, WIDTH), nn.Linear(WIDTH, WIDTH)

    def weights(self, x):
        tokens = x.shape[1]
        q, k = (y(x)[0].view(tokens, HEADS, -1).transpose(0, 1) for y in (self.q, self.k))
        decay = 1 - 2.0 ** (-5 - torch.arange(HEADS, dtype=x.dtype))
        ages = torch.arange(tokens)[:, None] - torch.arange(tokens)
        return (q @ k.transpose(-1, -2)) * (decay[:, None, None] ** ages.clamp_min(0)).tril()

    def forward(self, x):
        values = self.v(x).view(*x.shape[:2], HEADS, -1).transpose(1, 2)
        mixed = (self.weights(x) @ values).transpose(1, 2).reshape(-1, WIDTH)
        return self.out(F.silu(self.gate(x)) * self.norm(mixed).view_as(x))


class S4D(nn.Module):
    """A diagonal state-space model as a long convolution, by FFT (Gu et al., 2022)."""

    def __init__(self):
        super().__init__()
        self.decay = nn.Parameter(torch.rand(WIDTH, 8))
        self.read = nn.Parameter(torch.randn(WIDTH, 8))
        self.skip, self.out = nn.Parameter(torch.ones(WIDTH)), nn.Linear(WIDTH, WIDTH)

    def kernel(self, tokens):
        powers = torch.exp(-self.decay[..., None] * torch.arange(tokens))
        return (self.read[..., None] * powers).sum(1)

    def weights(self, x):
        tokens = x.shape[1]
        ages = torch.arange(tokens)[:, None] - torch.arange(tokens)
        mixing = self.kernel(tokens)[:, ages.clamp_min(0)].tril()
        return mixing + self.skip[:, None, None] * torch.eye(tokens)

    def forward(self, x):
        tokens, u = x.shape[1], x.transpose(1, 2)
        spectrum = torch.fft.rfft(u, 2 * tokens) * torch.fft.rfft(self.kernel(tokens), 2 * tokens)
        y = torch.fft.irfft(spectrum, 2 * tokens)[..., :tokens] + self.skip[:, None] * u
        return self.out(F.gelu(y).transpose(1, 2))


class MinGRU(nn.Module):
    """Feng et al. (2024), step by step."""

    def __init__(self):
        super().__init__()
        self.gate, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x):
        gate, value, outputs = torch.sigmoid(self.gate(x)), self.value(x), []
        state = torch.zeros_like(value[:, 0])
        for t in range(x.shape[1]):
            state = (1 - gate[:, t]) * state + gate[:, t] * value[:, t]
            outputs.append(state)
        return self.out(torch.stack(outputs, 1))

    def weights(self, x):
        gate = torch.sigmoid(self.gate(x))[0]
        rows = torch.zeros(WIDTH, x.shape[1], x.shape[1])
        for i in range(x.shape[1]):
            if i:
                rows[:, i] = rows[:, i - 1] * (1 - gate[i])[:, None]
            rows[:, i, i] = gate[i]
        return rows


class GatedConvolution(nn.Module):
    """B x through a short convolution for each channel, times C (LFM2, Hyena's short form)."""

    def __init__(self):
        super().__init__()
        self.bcx, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.convolution = nn.Conv1d(WIDTH, WIDTH, 3, groups=WIDTH, padding=2, bias=False)

    def forward(self, x):
        b, c, value = self.bcx(x).transpose(1, 2).chunk(3, dim=1)
        mixed = c * self.convolution(b * value)[..., : x.shape[1]]
        return self.out(mixed.transpose(1, 2))


class Softmax(nn.Module):
    """Ordinary attention: the same search finds its weights."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def heads(self, linear, x):
        return linear(x).view(*x.shape[:2], HEADS, -1).transpose(1, 2)

    def forward(self, x):
        q, k, v = (self.heads(y, x) for y in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape_as(x))

    def weights(self, x):
        q, k = self.heads(self.q, x)[0], self.heads(self.k, x)[0]
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        hidden = ~torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        return scores.masked_fill(hidden, -torch.inf).softmax(-1)


class ConvolvedAttention(nn.Module):
    """Linear attention without a normaliser behind a short convolution and SiLU, with biases."""

    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.convolution = nn.Conv1d(3 * WIDTH, 3 * WIDTH, 4, groups=3 * WIDTH, padding=3)

    def convolved(self, x):
        y = self.qkv(x).transpose(1, 2)
        return F.silu(self.convolution(y)[..., : x.shape[1]]).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.convolved(x).view(*x.shape[:2], 3, HEADS, -1).unbind(2)
        memory = torch.einsum("bnhk,bnhv->bnhkv", k, v).cumsum(1)
        mixed = torch.einsum("bnhk,bnhkv->bnhv", q, memory)
        return self.out(mixed.reshape_as(x))

    def weights(self, x):
        q, k, _ = self.convolved(x)[0].view(x.shape[1], 3, HEADS, -1).unbind(1)
        return torch.einsum("qhd,khd->hqk", q, k).tril()


class BothWays(nn.Module):
    """Sums of a value that a convolution has made of two tokens before and two after."""

    def __init__(self):
        super().__init__()
        self.value, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.convolution = nn.Conv1d(WIDTH, WIDTH, 5, groups=WIDTH, padding=2, bias=False)

    def forward(self, x):
        value = F.silu(self.convolution(self.value(x).transpose(1, 2))).transpose(1, 2)
        weights = torch.sigmoid(x @ x.transpose(1, 2) / WIDTH)
        return self.out(weights @ value)


class Recurrent(nn.Module):
    """A recurrent layer of torch."""

    def __init__(self, kind):
        super().__init__()
        self.layer = kind(WIDTH, WIDTH, batch_first=True)

    def forward(self, x):
        return self.layer(x)[0]


class RunningMaximum(nn.Module):
    """Of degree 1 in its value, but not linear."""

    def __init__(self):
        super().__init__()
        self.value, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.out(self.value(x).cummax(1).values)


class Fourier(nn.Module):
    """FNet: mixes positions and channels at once."""

    def __init__(self):
        super().__init__()
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.out(torch.fft.fftn(x.to(torch.complex64), dim=(1, 2)).real)


class Mlp(nn.Module):
    """Mixes no positions."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.down(F.silu(self.up(x)))


class TwoValues(nn.Module):
    """Two mixtures side by side, each with a value of its own."""

    def __init__(self):
        super().__init__()
        self.one, self.other = LinearAttention(), LinearAttention(causal=False)

    def forward(self, x):
        return self.one(x[..., :]) + self.other.out(self.other(x)).tanh()


def hybrid_model():
    """One layer of each kind: a gated delta net of 2 heads, and a softmax of 4."""
    from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

    config = Qwen3NextConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, linear_num_key_heads=2,
        linear_num_value_heads=2, linear_key_head_dim=8, linear_value_head_dim=8, num_experts=0,
        layer_types=["linear_attention", "full_attention"], mlp_only_layers=[0, 1], pad_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    return Qwen3NextForCausalLM(config).eval()


FORMULAS = {
    "linear attention, causal": LinearAttention,
    "linear attention, both ways": lambda: LinearAttention(causal=False),
    "retention": Retention,
    "S4D by FFT": S4D,
    "minGRU": MinGRU,
    "softmax": Softmax,
    "behind a convolution": ConvolvedAttention,
}
REFUSED = {
    "GRU": lambda: Recurrent(nn.GRU),
    "LSTM": lambda: Recurrent(nn.LSTM),
    "running maximum": RunningMaximum,
    "FNet": Fourier,
}

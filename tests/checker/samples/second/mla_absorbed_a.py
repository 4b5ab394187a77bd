import torch


def apply_rotary(x, freqs):
    """x: (b, t, h, d), freqs: complex (t, d / 2)."""
    z = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(z * freqs[None, :, None]).flatten(-2)


def mla_attention(q_nope, q_pe, latent, k_pe, w_uk, w_uv):
    """Absorbed form of latent attention with decoupled rotary keys.

    q_nope: (b, t, h, d), q_pe: (b, t, h, r), latent: (b, t, c), k_pe: (b, t, r), not yet rotated,
    w_uk: (h, d, c), w_uv: (h, v, c).
    """
    b, t, h, d = q_nope.shape
    r = q_pe.shape[-1]
    inv = 10000.0 ** (-torch.arange(0, r, 2, dtype=q_pe.dtype) / r)
    ang = torch.outer(torch.arange(t, dtype=q_pe.dtype), inv)
    freqs = torch.polar(torch.ones_like(ang), ang)
    q_pe = apply_rotary(q_pe, freqs)
    k_pe = apply_rotary(k_pe[:, :, None], freqs)[:, :, 0]
    scores = torch.einsum("bshd,hdc,btc->bhst", q_nope, w_uk, latent)
    scores = scores + torch.einsum("bshr,btr->bhst", q_pe, k_pe)
    scores = scores * (d + r) ** -0.5 + torch.full((t, t), float("-inf")).triu(1)
    weights = scores.softmax(dim=-1)
    return torch.einsum("bhst,btc,hvc->bshv", weights, latent, w_uv).flatten(2)

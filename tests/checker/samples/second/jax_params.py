try:
    import jax.numpy as jnp
except ImportError:
    import numpy as jnp


def init(rng, d_model, n_heads):
    d = d_model // n_heads
    return {
        "wq": rng.standard_normal((d_model, n_heads, d)) * d_model**-0.5,
        "wk": rng.standard_normal((d_model, n_heads, d)) * d_model**-0.5,
        "wv": rng.standard_normal((d_model, n_heads, d)) * d_model**-0.5,
        "wo": rng.standard_normal((n_heads, d, d_model)) * d_model**-0.5,
    }


def mha(params, x, mask=None):
    q = jnp.einsum("btm,mhd->bthd", x, params["wq"])
    k = jnp.einsum("btm,mhd->bthd", x, params["wk"])
    v = jnp.einsum("btm,mhd->bthd", x, params["wv"])
    logits = jnp.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        logits = jnp.where(mask, logits, -1e30)
    weights = jnp.exp(logits - logits.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    out = jnp.einsum("bhqk,bkhd->bqhd", weights, v)
    return jnp.einsum("bqhd,hdm->bqm", out, params["wo"])

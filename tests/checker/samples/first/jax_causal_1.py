try:
    import jax.numpy as jnp
except ImportError:
    import numpy as jnp


def causal_attention(query, key, value):
    """query, key, value: [batch, length, heads, depth]. A position sees itself and those before it."""
    length, depth = query.shape[1], query.shape[-1]
    logits = jnp.einsum("bqhd,bkhd->bhqk", query, key) / jnp.sqrt(depth)
    ones = jnp.ones((length, length), dtype=bool)
    mask = jnp.tril(ones)
    logits = jnp.where(mask, logits, -1e10)
    unnormalized = jnp.exp(logits - logits.max(axis=-1, keepdims=True))
    weights = unnormalized / unnormalized.sum(axis=-1, keepdims=True)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, value)

try:
    import jax.numpy as jnp
except ImportError:
    import numpy as jnp


def cross_attend(params, queries, memory, memory_mask):
    """memory_mask is (batch, length), True on real tokens of the memory."""
    q = jnp.einsum("btm,mhd->bhtd", queries, params["q"])
    k = jnp.einsum("bsm,mhd->bhsd", memory, params["k"])
    v = jnp.einsum("bsm,mhd->bhsd", memory, params["v"])
    logits = jnp.einsum("bhtd,bhsd->bhts", q, k) / q.shape[-1] ** 0.5
    logits = jnp.where(memory_mask[:, None, :, None], logits, -1e30)
    logits = logits - logits.max(-1, keepdims=True)
    weights = jnp.exp(logits)
    weights = weights / weights.sum(-1, keepdims=True)
    return jnp.einsum("bhts,bhsd,hdm->btm", weights, v, params["o"])

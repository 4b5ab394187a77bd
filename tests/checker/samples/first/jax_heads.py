try:
    import jax.numpy as jnp
except ImportError:
    import numpy as jnp


def multi_head_attention(params, inputs_q, inputs_kv):
    query = jnp.einsum("...td,dhk->...thk", inputs_q, params["query"])
    key = jnp.einsum("...td,dhk->...thk", inputs_kv, params["key"])
    value = jnp.einsum("...td,dhk->...thk", inputs_kv, params["value"])
    query = query / jnp.sqrt(query.shape[-1])
    logits = jnp.einsum("...qhd,...khd->...hqk", query, key)
    weights = jnp.exp(logits - jnp.max(logits, axis=-1, keepdims=True))
    weights = weights / jnp.sum(weights, axis=-1, keepdims=True)
    x = jnp.einsum("...hqk,...khd->...qhd", weights, value)
    return jnp.einsum("...qhd,hdf->...qf", x, params["out"]) + params["bias"]

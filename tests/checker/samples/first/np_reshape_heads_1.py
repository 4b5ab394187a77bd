import numpy as np


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def mha(x, c_attn, c_proj, n_head):  # [n_seq, n_embd] -> [n_seq, n_embd]
    qkv = np.split(x @ c_attn, 3, axis=-1)
    q, k, v = [t.reshape(x.shape[0], n_head, -1).transpose(1, 0, 2) for t in qkv]
    causal_mask = (1 - np.tri(x.shape[0])) * -1e10
    out = softmax(q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1]) + causal_mask) @ v
    return np.hstack(list(out)) @ c_proj

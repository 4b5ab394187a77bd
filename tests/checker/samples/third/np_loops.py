"""Lab 2: attention with loops only, to check the vectorised version against."""
import math

import numpy as np


def dot(a, b):
    return sum(float(x) * float(y) for x, y in zip(a, b))


def attend_one(query, keys, values):
    scores = [dot(query, key) / math.sqrt(len(query)) for key in keys]
    biggest = max(scores)
    exps = [math.exp(s - biggest) for s in scores]
    total = sum(exps)
    result = np.zeros(values.shape[1])
    for e, value in zip(exps, values):
        result += (e / total) * value
    return result


def multi_head_attention(x, memory, heads, w_out):
    """x (n, d) reads memory (m, d). heads: one (w_q, w_k, w_v) triple per head."""
    columns = []
    for w_q, w_k, w_v in heads:
        queries, keys, values = x @ w_q, memory @ w_k, memory @ w_v
        columns.append(np.array([attend_one(q, keys, values) for q in queries]))
    return np.hstack(columns) @ w_out

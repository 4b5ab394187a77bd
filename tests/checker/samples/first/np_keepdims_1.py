import numpy as np


def simple_attention(embeddings, w_query, w_key, w_value):
    queries = embeddings.dot(w_query)
    keys = embeddings.dot(w_key)
    values = embeddings.dot(w_value)
    scores = queries.dot(keys.T) / np.sqrt(keys.shape[1])
    exp_scores = np.exp(scores)
    weights = exp_scores / exp_scores.sum(axis=1)
    return weights.dot(values)

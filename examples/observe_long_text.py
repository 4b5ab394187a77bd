"""Exact attention measures of a long sequence, without storing its n x n weights.

Run ``python observe_long_text.py``, or with another length: ``python observe_long_text.py 65536``.
"""

import sys

import numpy as np

import regard

tokens = int(sys.argv[1]) if len(sys.argv) > 1 else 4_096
heads, width = 2, 32

# Stand-ins for a model's queries, keys and values: a text whose tokens repeat.
rng = np.random.default_rng(0)
vocabulary = rng.standard_normal((500, heads, width)).astype(np.float32)
text = rng.integers(500, size=tokens)
query = key = vocabulary[text].swapaxes(0, 1)
value = rng.standard_normal((heads, tokens, width)).astype(np.float32)

seen = regard.observe(query, key, value, causal=True, top=4, map=64)

print(seen)
print(f"Stored, the weights would take {heads * tokens**2 * 4 / 1e9:.2f} GB.")
last = tokens - 1
best = seen.top(4).keys[0, last]
print(f"In head 0 the last token, {text[last]}, looks most at positions {best.tolist()},")
print(f"which are the tokens {text[best].tolist()}.")
print(f"One row of weights, computed on demand, sums to {seen.row(last, head=0).sum():.3f}.")
seen.save("long_text.regard")
print("Look at it: regard open long_text.regard")

"""Self-attention on three words with every number shown: ``python hello_attention.py``."""

import numpy as np

import regard

# One row per word: its vector.
words = ["I", "am", "good"]
x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])

# Three matrices turn a vector into query, key and value; a model learns them in training.
w_query, w_key, w_value = np.eye(2), np.eye(2), np.array([[2.0, 0.0], [0.0, 3.0]])

steps = regard.self_attention(x, w_query, w_key, w_value, words=words)

print(steps)  # every matrix with its formula; rows are queries, columns are keys
print()
print(steps.read("good"))  # one row of the weights in words
print(steps.why("weights", "good", "am"))  # one weight and the sum behind it
print(steps.why("output", "good", 0))  # and one number of the output

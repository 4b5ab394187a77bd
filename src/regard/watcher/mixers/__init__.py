"""Layers that mix positions without a softmax: their exact weights, from the layers themselves."""

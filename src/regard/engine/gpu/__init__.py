"""Attention and its facts where the tensors lie: on a GPU, by kernels, or in chunks by torch."""

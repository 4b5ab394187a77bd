"""Attention and its facts on a device: by kernels on a GPU, or by torch in chunks."""

"""Attention of any PyTorch program, recorded while the model runs unchanged."""

"""Attention in NumPy, tile by tile on all cores."""

"""Attention and its exact statistics at any length: the same mathematics as ``textbook``."""

"""Triton kernels; each states the plain code that it equals.

In all of them t is a scaled score in base 2, and key j is visible to query i when
``i - left <= j <= i + right`` and ``j < length``. Tensors are contiguous with one axis of heads.
Arguments that belong together come as named tuples, which Triton takes from 3.3 on.
"""

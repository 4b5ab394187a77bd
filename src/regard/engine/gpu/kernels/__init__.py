"""Triton kernels; each file states the plain code its kernel equals.

In all of them t is a scaled score in base 2; limits say where one may look (key j is seen by query
i when i - left <= j <= i + right and j < length); tensors are contiguous with one axis of heads.
"""

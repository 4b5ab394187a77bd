"""Training of a translating transformer on anybody's sentence pairs, in PyTorch."""

from __future__ import annotations

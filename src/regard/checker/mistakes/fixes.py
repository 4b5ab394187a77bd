"""Fixes in the words of another array library: the catalogue writes them with NumPy."""

from __future__ import annotations

import re

# What PyTorch writes otherwise; the first patterns take what the later ones would spoil.
TORCH = (
    (r"np\.repeat\((\w+), (\w+), axis=(-?\d)\)(  # torch.*)?", r"\1.repeat_interleave(\2, dim=\3)"),
    (r"np\.tril\(np\.ones\(\((.*?)\), bool\)(, k=0)?\)", r"np.tri(\1, dtype=bool)"),
    (r"np\.triu\(np\.ones\(\((.*?)\), bool\), k=1\)", r"torch.ones(\1, dtype=torch.bool).triu(1)"),
    (r"np\.tri\((.*?), dtype=bool\)", r"torch.ones(\1, dtype=torch.bool).tril()"),
    (r"np\.broadcast_to\((\w+), (.*?)\)", r"\1.expand(\2)"),
    (r"np\.(sqrt|log2?)\((\d|d|np\.e|\w+\.shape\[-1\])\)", r"math.\1(\2)"),
    (r"np\.(inf|e)\b", r"math.\1"),
    (r"np\.concatenate\(", "torch.cat("),
    (r"\.astype\(np\.float32\)", ".float()"),
    (r"\.astype\(", ".to("),
    (r"\.max\(axis", ".amax(axis"),
    (r"softmax\((\w+)\)", r"softmax(\1, axis=-1)"),
    (r"\baxis=", "dim="),
    (r"\bkeepdims=", "keepdim="),
    (r"\.swapaxes\(", ".transpose("),
    (r"\bnp\.", "torch."),
    (r"(?<![\w.])softmax\(", "torch.softmax("),
)  # fmt: skip
JAX = ((r"\bnp\.", "jnp."), (r"(?<![\w.])softmax\(", "jax.nn.softmax("))
PATTERNS = {"torch": TORCH, "jax": JAX}


def fix_for(fix: str, library: str) -> str:
    """A fix as code of a library; that of NumPy where the library has no words of its own.

    >>> fix_for("e = np.exp(scaled - scaled.max(axis=-1, keepdims=True))", "torch")
    'e = torch.exp(scaled - scaled.amax(dim=-1, keepdim=True))'
    """
    for pattern, words in PATTERNS.get(library, ()):
        fix = re.sub(pattern, words, fix)
    return fix

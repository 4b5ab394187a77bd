"""The operator suite on every CPU backend of PyTorch's attention; writes docs/conformance.md."""

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from regard.checker.operator_suite import run_suite
from regard.engine.observe import observe
from regard.textbook.steps import attend

PAGE = Path(__file__).parent.parent / "docs" / "conformance.md"
BACKENDS = {"math": SDPBackend.MATH, "flash": SDPBackend.FLASH_ATTENTION}
OPENING = """# Conformance

Results of `regard check module:function --suite operator` for PyTorch's
`scaled_dot_product_attention` on a CPU, backend by backend, and for regard's own functions. Made by
`python benchmarks/conformance.py` with PyTorch {torch}, NumPy {numpy}, Python {python}.

Each number is the largest error against float64, divided by the largest error of a plain
implementation in the same dtype (for 16 bits: every stage computed in float64 and rounded). 1 is as
accurate as plain code, less is better, more than 8 fails. – means that the function does not
claim the feature: it has no such parameter, does not return it, or does not support the dtype.
*exception* means that it refuses. Where a causal mask meets fewer queries than keys and the
function takes no offset, the corner at which it aligns the mask is named.
"""


def only(backend: SDPBackend) -> Callable[..., Any]:
    """The function restricted to one backend; raises where that backend does not apply."""

    def attention(query, key, value, attn_mask=None, is_causal=False, scale=None, enable_gqa=False):
        with sdpa_kernel([backend]):
            return scaled_dot_product_attention(
                query, key, value, attn_mask, is_causal=is_causal, scale=scale,
                enable_gqa=enable_gqa,
            )  # fmt: skip

    return attention


def specification(query, key, value, *, mask=None, causal=False, offset=None, window=None,
                  softcap=None, scale=None, lengths=None):  # fmt: skip
    """regard's ``attend``, computed in float64 from inputs in the dtype."""
    steps = attend(query, key, value, mask=mask, causal=causal, offset=offset, window=window,
                   softcap=softcap, scale=scale, lengths=lengths)  # fmt: skip
    return steps.output


def observation(query, key, value, *, mask=None, causal=False, offset=None, window=None,
                softcap=None, scale=None, lengths=None):  # fmt: skip
    """The streaming engine, with its log-sum-exp and its column sums."""
    seen = observe(query, key, value, mask=mask, causal=causal, offset=offset, window=window,
                   softcap=softcap, scale=scale, lengths=lengths)  # fmt: skip
    return seen.output, seen.logsumexp, seen.received


def page() -> str:
    """The whole page in Markdown."""
    parts = [OPENING.format(torch=torch.__version__, numpy=np.__version__,
                            python=platform.python_version())]  # fmt: skip
    named = {"as called (PyTorch chooses)": scaled_dot_product_attention}
    named |= {
        f"restricted to the {name} backend": only(backend) for name, backend in BACKENDS.items()
    }
    for name, function in named.items():
        suite = run_suite(function, "scaled_dot_product_attention")
        parts.append(f"## scaled_dot_product_attention, {name}\n\n{suite.markdown()}\n")
    for name, function in {"attend": specification, "observe": observation}.items():
        parts.append(f"## regard's {name}\n\n{run_suite(function, name).markdown()}\n")
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")

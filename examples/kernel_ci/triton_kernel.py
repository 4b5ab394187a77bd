"""A Triton kernel: one program owns a block of queries of one head and walks over the keys.

Without a GPU it runs in Triton's interpreter: TRITON_INTERPRET=1.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(query_ptr, key_ptr, value_ptr, output_ptr, queries, keys, scale,
                     CAUSAL: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):  # fmt: skip
    head = tl.program_id(1)
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    feature = tl.arange(0, WIDTH)
    query_at = (head * queries + row[:, None]) * WIDTH + feature
    query = tl.load(query_ptr + query_at, mask=row[:, None] < queries, other=0.0)
    highest = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    output = tl.zeros([BLOCK, WIDTH], tl.float32)
    for start in range(0, keys, BLOCK):
        column = start + tl.arange(0, BLOCK)
        key_at = (head * keys + column[:, None]) * WIDTH + feature
        key = tl.load(key_ptr + key_at, mask=column[:, None] < keys, other=0.0)
        value = tl.load(value_ptr + key_at, mask=column[:, None] < keys, other=0.0)
        scores = tl.dot(query, tl.trans(key), input_precision="ieee").to(tl.float32) * scale
        visible = column[None, :] < keys
        if CAUSAL:
            visible = visible & (column[None, :] <= row[:, None])
        scores = tl.where(visible, scores, -float("inf"))
        higher = tl.maximum(highest, tl.max(scores, 1))
        e = tl.exp(scores - higher[:, None])
        keep = tl.exp(highest - higher)
        total = total * keep + tl.sum(e, 1)
        output = output * keep[:, None]
        output += tl.dot(e.to(value.dtype), value, input_precision="ieee").to(tl.float32)
        highest = higher
    output = output / total[:, None]
    tl.store(output_ptr + query_at, output.to(query.dtype), mask=row[:, None] < queries)


def triton_attention(query, key, value, causal=False):
    """Attention of (batch, heads, tokens, width); widths are powers of two from 16 up."""
    b, h, queries, width = query.shape
    keys = key.shape[2]
    if width < 16 or width & (width - 1):
        raise ValueError(f"the head width must be a power of two from 16 up, got {width}.")
    if key.shape != (b, h, keys, width) or value.shape != key.shape:
        raise ValueError(f"key and value must be {(b, h, keys, width)}, got {tuple(key.shape)}.")
    if query.dtype not in (torch.float32, torch.float16):
        raise ValueError(f"the dtype must be float32 or float16, got {query.dtype}.")
    query, key, value = (array.contiguous() for array in (query, key, value))
    output = torch.empty_like(query)
    attention_kernel[(triton.cdiv(queries, 16), b * h)](
        query, key, value, output, queries, keys, width**-0.5, causal, width, 16
    )
    return output

"""Row sums of all programs made one entropy."""

import triton
import triton.language as tl

from regard.self_attention.backends.device.kernels.sight import LN_2


@triton.jit
def entropy_kernel(
    moment_ptr, entropy_ptr, queries, padded, programs, keys_each, right, BLOCK: tl.constexpr
):
    """``entropy_hq = -ln 2 * moment_phq2.sum(axis=(0, 3))`` over the programs that reach a query.

    Program p holds keys from p * keys_each on. What the others left was never written.
    """
    head = tl.program_id(1).to(tl.int64)
    heads = tl.num_programs(1)
    at_q = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    # Tiles of 64 queries are walked whole: a program writes all 64 if the last of them sees a key.
    reach = (at_q // 64 * 64 + 63 + right) // keys_each
    summed = tl.zeros([BLOCK], tl.float32)
    for p in range(tl.minimum(tl.max(reach) + 1, programs)):
        place = moment_ptr + ((p * heads + head) * padded + at_q) * 2
        inside = (at_q < queries) & (p <= reach)
        summed += tl.load(place, mask=inside, other=0.0)
        summed += tl.load(place + 1, mask=inside, other=0.0)
    entropy = tl.maximum(-summed * LN_2, 0.0)
    tl.store(entropy_ptr + head * queries + at_q, entropy, mask=at_q < queries)

"""Random calls of attention: arrays in any memory layout, and any options that they allow.

``CASES`` and ``SEED`` come from REGARD_FUZZ_CASES and REGARD_FUZZ_SEED, as ``make fuzz`` sets them.
"""

import os

import numpy as np

CASES = int(os.environ.get("REGARD_FUZZ_CASES", "400"))
SEED = int(os.environ.get("REGARD_FUZZ_SEED", "0"))
SOFTCAPS = (None, 0.5, 30.0, None, 0.5, 30.0, 1e3, 1e6, 3e8, 1e12, 1e30)
FAR_OFFSETS = (2**31, 2**40 - 1, 2**40, -(2**31), -(2**40))
BATCH = 20  # cases in one test, so that a failure names a short range
LEADING = ((), (1,), (4,), (2, 4), (3, 2), (2, 1, 6), (0, 2))


def batches(checks):
    """Name and first case of every test, (check, how many times ``CASES``) being under its name."""
    return [(x, at) for x, (_, times) in checks.items() for at in range(0, CASES * times, BATCH)]


def run_batch(kind, start, check):
    """Run a batch of cases; an error names the case, which its seed repeats."""
    for number in range(start, start + BATCH):
        try:
            check(np.random.default_rng((SEED, number)))
        except Exception as error:
            error.add_note(f"{kind}: case {number} of seed {SEED}")
            raise


def draw_arrays(random):
    """Query, key and value in any layout of ``_laid_out``."""
    leading = LEADING[random.integers(len(LEADING))]
    group = random.choice([n for n in (1, 2, 4) if leading and leading[-1] % n == 0] or [1])
    shared = (*leading[:-1], leading[-1] // group) if leading else ()
    queries, keys = (int(n) for n in random.integers(0, 41, 2))
    width, value_width = (int(n) for n in random.integers(1, 9, 2))
    if random.random() < 0.5:
        keys = queries
    dtype = random.choice([np.float16, np.float32, np.float64])
    shapes = (*leading, queries, width), (*shared, keys, width), (*shared, keys, value_width)
    size = random.choice([0.1, 1.0, 4.0])
    return [_laid_out(random, (random.standard_normal(x) * size).astype(dtype)) for x in shapes]


def _laid_out(random, array):
    """The same numbers in another memory layout."""
    kind = random.integers(8)
    if kind == 1:
        return np.asfortranarray(array)
    if kind == 2:
        return np.repeat(array, 2, axis=-2)[..., ::2, :]
    if kind == 3:
        return np.ascontiguousarray(array[..., ::-1, :])[..., ::-1, :]
    if kind == 4:
        return as_record_field(array)
    if kind == 5:
        return as_record_field(array[..., ::-1, :])[..., ::-1, :]
    if kind == 6:
        return at_odd_address(array)
    if kind == 7 and array.size:  # the same row, or the same number, over and over
        one = array[..., :1, :] if random.random() < 0.5 else array[..., :1]
        return np.broadcast_to(one, array.shape)
    return array


def as_record_field(array):
    """A field of packed records: a row's step is no multiple of the item size."""
    inner = array.shape[-1:]
    records = np.zeros(array.shape[:-1], [("flag", "u1"), ("numbers", array.dtype, inner)])
    records["numbers"] = array
    return records["numbers"]


def at_odd_address(array):
    """The same numbers, one byte after an address that is aligned."""
    raw = np.zeros(array.nbytes + 1, "u1")
    moved = raw[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


def draw_options(random, query, key):
    """Any options that these arrays can have."""
    leading, queries, keys = query.shape[:-2], query.shape[-2], key.shape[-2]

    def side():
        return None if random.random() < 0.3 else int(random.integers(0, 45))

    options = {
        "offset": int(random.choice(FAR_OFFSETS if random.random() < 0.1 else range(-20, 21))),
        "causal": bool(random.random() < 0.5),
        "window": (side(), side()) if random.random() < 0.4 else None,
        "softcap": SOFTCAPS[random.integers(len(SOFTCAPS))],
        "scale": random.choice([None, 0.1, 2.0]),
        "mask": _draw_mask(random, (*leading, queries, keys)),
    }
    if random.random() < 0.3:
        options["lengths"] = random.integers(0, keys + 1, leading[:-1])
    return options


def _draw_mask(random, full):
    """No mask, or one of six kinds in any layout."""
    shape = (full, full[-2:], full[-1:], (full[-2], 1))[random.integers(4)]
    visible = random.random(shape) < random.choice([0.1, 0.9])
    bias = random.standard_normal(shape) * 5
    far = int(random.integers(1, 10))
    kinds = (
        None,
        visible,
        bias,
        np.where(visible, bias, -np.inf),
        np.where(visible, 0, -1e4),
        np.where(visible, bias, -1e9).astype(np.float32),
        lambda at_q, at_k: (at_q + at_k) % far != 0,
    )
    mask = kinds[random.integers(len(kinds))]
    return _laid_out(random, mask) if isinstance(mask, np.ndarray) and mask.ndim > 1 else mask

"""Calls of the native attention kernel: which problems it serves, their arguments and memory."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from regard.engine.call import LOG2_E, Cost, Problem, Requested, block_size, copied, once
from regard.engine.native.library import function, is_addressable, native_state
from regard.engine.threads import threads
from regard.engine.visibility import Visibility
from regard.typing import Array

BLOCK_ROWS, BLOCK_KEYS = 64, 512  # a block of keys and values stays in the L2 cache
PANEL_BYTES = 2**24  # full rows of a block of queries, where facts need them
MIN_PANEL_ROWS = 8  # rows of such a block: fewer gain nothing over two passes
MAX_TOP = 64  # as MAX_TOP in best.h
MIN_PARALLEL_FLOPS = 2**22  # below it one thread is done before a second one wakes up
FLOPS_PER_CALL = 2**36  # of one native call; Ctrl-C is handled between two calls
MAX_KEPT_SCRATCH_FLOATS = 2**20  # the largest buffer that outlives a call
UNBOUNDED = 2**60  # no edge of the band: beyond any position, and sums of a few fit int64
_local = threading.local()
_POINTERS = ["query", "key", "value"]
_SIZES = ["heads", "inner", "group", "queries", "keys", "width", "value_width",
          "query_entry", "query_head", "query_row", "key_entry", "key_head", "key_row",
          "value_entry", "value_head", "value_row"]  # fmt: skip
_MASK = ["lengths", "mask", "bias", "mask_head"]
_RESULTS = ["log2_totals", "output", "logsumexp", "shares", "entropy", "weights", "map",
            "received", "distance", "top_weights", "top_keys"]  # fmt: skip
_PLAN = ["top", "map_rows", "map_keys", "block_rows", "block_keys", "chunk_rows", "chunks",
         "units", "packed_size", "memory_size", "part_size"]  # fmt: skip


def _typed(ctype: Any, names: list[str]) -> list[tuple[str, Any]]:
    return [(name, ctype) for name in names]


class AttentionArguments(ctypes.Structure):
    """Arguments of one call, in the order of attention.h."""

    _fields_ = (
        *_typed(ctypes.c_void_p, _POINTERS),
        *_typed(ctypes.c_int64, _SIZES),
        *_typed(ctypes.c_double, ["factor", "cap", "bias_factor"]),
        *_typed(ctypes.c_int64, ["bounded", "offset", "left", "right"]),
        *_typed(ctypes.c_void_p, _MASK),
        *_typed(ctypes.c_int64, ["mask_row", "mask_key"]),
        *_typed(ctypes.c_void_p, _RESULTS),
        *_typed(ctypes.c_int64, _PLAN),
        *_typed(ctypes.c_void_p, ["packed", "memory", "parts"]),
        *_typed(ctypes.c_int64, ["threads", "first", "last"]),
    )


@dataclass
class NativeFacts:
    """Results of a native call; None where a fact was not requested."""

    output_hqv: Array | None = None
    logsumexp_hq: Array | None = None
    shares_hq: Array | None = None  # sums of weights, where the caller gave the log-sum-exp
    entropy_hq: Array | None = None
    map_hrc: Array | None = None
    received_hk: Array | None = None
    distance_hn: Array | None = None
    top_weights_hqn: Array | None = None
    top_keys_hqn: NDArray[np.int64] | None = None
    buffers: list[Any] = field(default_factory=list, repr=False)  # arguments that C points to


def reason_against(problem: Problem, requested: Requested) -> str | None:
    """The reason why the native kernel does not serve a problem, or None if it does."""
    arrays = (problem.query_hqd, problem.key_gkd, problem.value_gkv)
    visibility, mask = problem.visibility, problem.visibility.mask
    if native_state().level is None:
        return native_state().reason
    if problem.dtype != np.float32:
        return f"{problem.dtype} numbers"
    if not all(isinstance(array, np.ndarray) for array in arrays):
        return "arrays in a file"
    if 0 in (problem.heads, visibility.queries, visibility.keys, problem.width):
        return "an empty array"
    if callable(mask):
        return "a mask function"
    if requested.top > MAX_TOP:
        return f"more than {MAX_TOP} best keys"
    if requested.edges is not None or requested.row_edges is not None:
        return "a part of a larger map"
    if _needs_rows(requested) and _panel_rows(visibility.keys) < MIN_PANEL_ROWS:
        return "rows that are too long to keep"
    return None


def _needs_rows(requested: Requested) -> bool:
    return bool(requested.column_facts or requested.top)


def _panel_rows(keys: int) -> int:
    """Rows of a block of full rows: a power of two, so that blocks of the map fit."""
    rows = BLOCK_ROWS
    while rows >= MIN_PANEL_ROWS and rows * keys * 4 > PANEL_BYTES:
        rows //= 2
    return rows


def native_output(problem: Problem) -> Array:
    """The output (h, q, v) alone of a problem that the kernel serves."""
    facts = NativeFacts()  # holds on to what C points to
    call = _arguments(problem, facts)
    shape = (problem.heads, problem.visibility.queries, problem.value_gkv.shape[-1])
    output_hqv: Array = _result(call, "output", shape)
    run(call, operations(problem.visibility, problem.heads, call))
    return output_hqv


def attend_natively(problem: Problem, requested: Requested) -> tuple[NativeFacts, Cost]:
    """All requested facts of a problem that the kernel serves, and what they cost."""
    facts = NativeFacts()
    call = _arguments(problem, facts)
    _put_results(call, facts, problem, requested)
    if _needs_rows(requested):
        call.block_rows = _panel_rows(problem.visibility.keys)
    spent = run(call, operations(problem.visibility, problem.heads, call))
    return facts, Cost(
        "panel" if _needs_rows(requested) else "one pass",
        *spent,
        kernels=f"native {native_state().level}",
    )


def attend_densely(
    query_bhqd: Array, key_bhkd: Array, value_bhkd: Array, visible: NDArray[np.bool_] | None
) -> tuple[Array, Array]:
    """Output (b, h, q, d) and weights (b, h, q, k) of float32 arrays whose rows are contiguous.

    ``visible`` broadcasts to the weights, True where query q may look at key k.
    """
    call, facts = AttentionArguments(), NativeFacts()
    entries, heads, queries, width = query_bhqd.shape
    keys, value_width = value_bhkd.shape[2:]
    for name, array in (("query", query_bhqd), ("key", key_bhkd), ("value", value_bhkd)):
        _put_array(call, facts, name, array, ("entry", "head", "row"))
    call.heads, call.inner, call.group = entries * heads, heads, 1
    call.queries, call.keys, call.width, call.value_width = queries, keys, width, value_width
    call.factor, call.left, call.right = width**-0.5 * LOG2_E, UNBOUNDED, UNBOUNDED
    if visible is not None:
        put_mask(call, facts, np.broadcast_to(visible, (entries, heads, queries, keys)))
    output_bhqd = _result(call, "output", (entries, heads, queries, value_width))
    weights_bhqk = _result(call, "weights", (entries, heads, queries, keys))
    call.block_rows, call.block_keys = _panel_rows(keys), BLOCK_KEYS
    run(call, 2 * call.heads * queries * keys * (width + value_width))
    return output_bhqd, weights_bhqk


def _arguments(problem: Problem, facts: NativeFacts) -> AttentionArguments:
    """Everything of a call but its results, in blocks of the usual size."""
    call = AttentionArguments()
    _put_array(call, facts, "query", problem.query_hqd, ("head", "row"))
    _put_array(call, facts, "key", problem.key_gkd, ("head", "row"))
    _put_array(call, facts, "value", problem.value_gkv, ("head", "row"))
    call.heads = call.inner = problem.heads
    call.group = problem.group
    call.queries, call.width = problem.query_hqd.shape[1:]
    call.keys, call.value_width = problem.value_gkv.shape[1:]
    call.factor, call.cap = problem.factor, (problem.softcap or 0.0) * LOG2_E
    call.bounded = problem.bounded
    call.block_rows, call.block_keys = BLOCK_ROWS, BLOCK_KEYS
    _put_visibility(call, facts, problem.visibility)
    return call


def _put_array(
    call: AttentionArguments, facts: NativeFacts, name: str, array: Array, axes: tuple[str, ...]
) -> None:
    """The address of an array whose rows are contiguous, and its steps along the other axes."""
    rows = array
    if not is_addressable(array) or array.strides[-1] != array.itemsize:
        rows = np.array(array, order="C")
    facts.buffers.append(rows)
    setattr(call, name, _address(rows))
    for axis, step in zip(axes, rows.strides, strict=False):
        setattr(call, f"{name}_{axis}", step // rows.itemsize)


def _put_visibility(call: AttentionArguments, facts: NativeFacts, visibility: Visibility) -> None:
    call.offset = visibility.offset
    call.left = UNBOUNDED if visibility.left is None else visibility.left
    call.right = UNBOUNDED if visibility.right is None else visibility.right
    if visibility.lengths_h is not None:
        lengths_h = np.ascontiguousarray(visibility.lengths_h, np.int64)
        facts.buffers.append(lengths_h)
        call.lengths = _address(lengths_h)
    mask = visibility.mask
    if isinstance(mask, np.ndarray):
        put_mask(call, facts, mask)


def put_mask(call: AttentionArguments, facts: NativeFacts, mask: NDArray[Any]) -> None:
    """A mask (..., h, q, k) of any broadcast: where that of each head begins, and its steps."""
    call.bias_factor = LOG2_E
    if mask.dtype not in (np.bool_, np.float32):
        mask, call.bias_factor = _in_base_2(mask), 1.0
    elif not is_addressable(mask):
        mask = copied(mask)
    steps = [step // mask.itemsize for step in mask.strides]
    starts = np.zeros(mask.shape[:-2], np.int64)
    for axis, step in enumerate(steps[:-2]):
        at = np.arange(mask.shape[axis]) * step
        starts += at.reshape(-1, *(1,) * (starts.ndim - axis - 1))
    facts.buffers += [mask, starts]
    call.mask_head = _address(starts)
    call.mask_row, call.mask_key = steps[-2:]
    setattr(call, "mask" if mask.dtype == bool else "bias", _address(mask))


def _in_base_2(mask: NDArray[Any]) -> NDArray[Any]:
    """A float mask of another width, multiplied in its own width; broadcast axes stay that."""
    numbers = once(mask)
    with np.errstate(over="ignore"):  # the lowest number is a usual mask; the kernel clips
        wide = np.multiply(numbers, LOG2_E, dtype=np.result_type(mask, np.float32))
        limited = np.clip(wide, -(2.0**100), 2.0**100).astype(np.float32)
    limited[numbers == -np.inf] = -np.inf
    return np.broadcast_to(limited, mask.shape)


def _put_results(
    call: AttentionArguments, facts: NativeFacts, problem: Problem, requested: Requested
) -> None:
    heads, queries, keys = problem.heads, problem.visibility.queries, problem.visibility.keys
    shape = (heads, queries)
    if requested.output:
        facts.output_hqv = _result(call, "output", (*shape, call.value_width))
    if requested.log2_total_hq is not None:
        totals_hq = np.ascontiguousarray(requested.log2_total_hq, np.float64)
        facts.buffers.append(totals_hq)
        call.log2_totals = _address(totals_hq)
        facts.shares_hq = _result(call, "shares", shape, np.float64)
    facts.logsumexp_hq = _result(call, "logsumexp", shape, np.float64)
    if requested.entropy:
        facts.entropy_hq = _result(call, "entropy", shape)
    if requested.top:
        call.top = requested.top
        facts.top_weights_hqn = _result(call, "top_weights", (*shape, requested.top))
        facts.top_keys_hqn = _result(call, "top_keys", (*shape, requested.top), np.int64)
    if requested.column_facts:
        facts.received_hk = _result(call, "received", (heads, keys), np.float64)
    if requested.profile:
        facts.distance_hn = _result(call, "distance", (heads, queries + keys - 1), np.float64)
    if requested.map:
        _put_map(call, facts, problem, requested.map)


def _put_map(call: AttentionArguments, facts: NativeFacts, problem: Problem, number: int) -> None:
    """Of one query and one key a block, the map is the weights."""
    rows, keys = problem.visibility.queries, problem.visibility.keys
    call.map_rows, call.map_keys = block_size(rows, number), block_size(keys, number)
    shape = (problem.heads, -(-rows // call.map_rows), -(-keys // call.map_keys))
    if shape[1:] == (rows, keys):
        facts.map_hrc = _result(call, "weights", shape)
        return
    facts.map_hrc = np.zeros(shape, np.float32)
    call.map = _address(facts.map_hrc)


def _result(
    call: AttentionArguments, name: str, shape: tuple[int, ...], dtype: Any = np.float32
) -> Any:
    array = np.empty(shape, dtype)
    setattr(call, name, _address(array))
    return array


def operations(visibility: Visibility, heads: int, call: AttentionArguments) -> int:
    """Floating-point operations of the two products, within the band."""
    rows = call.block_rows
    seen = 0
    for start in range(0, visibility.queries, rows):
        block = slice(start, min(start + rows, visibility.queries))
        reach = visibility.reach(slice(0, heads), block)
        seen += (block.stop - block.start) * (reach.stop - reach.start)
    return int(2 * heads * seen * (call.width + call.value_width))


def run(call: AttentionArguments, flops: int) -> tuple[int, int]:
    """Plan and run a call; its operations and the peak of its working memory in bytes."""
    plan, attend = function("plan_attention"), function("attend")
    if plan is None or attend is None:
        raise RuntimeError("The native kernels were switched off during a call.")
    address = ctypes.addressof(call)
    plan(address)
    call.threads = 1 if flops < MIN_PARALLEL_FLOPS else min(threads(), call.units)
    sizes = (call.packed_size, call.memory_size * call.threads, 2 * call.part_size * call.units)
    buffers = [_scratch(name, size) for name, size in enumerate(sizes)]
    call.packed, call.memory, call.parts = (start for _, start in buffers)
    turn = max(1, call.units * FLOPS_PER_CALL // max(1, flops))
    for first in range(0, call.units, turn):
        call.first, call.last = first, min(first + turn, call.units)
        attend(address)
    for name, (buffer, _) in enumerate(buffers):
        if buffer.size <= MAX_KEPT_SCRATCH_FLOATS:
            _local.__dict__[str(name)] = buffer
    return flops, 4 * sum(sizes)


def _scratch(name: int, size: int) -> tuple[Array, int]:
    """A buffer of this thread, and the address in it where a cache line begins.

    It is taken away while in use; touching fresh memory costs more than a small call.
    """
    buffer: Array | None = _local.__dict__.pop(str(name), None)
    if buffer is None or buffer.size < size + 16:
        buffer = np.empty(size + 16, np.float32)
    return buffer, -(-_address(buffer) // 64) * 64


def _address(array: NDArray[Any]) -> int:
    address: int = array.__array_interface__["data"][0]
    return address

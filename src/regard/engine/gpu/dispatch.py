"""attention and observe on a device: choice of the path, and the observation made of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch

from regard.engine.call import Cost, Requested
from regard.engine.gpu.call import DeviceCall, DeviceCheck, device_call, reasons_against_kernels
from regard.engine.gpu.launch import FactTensors, map_edges
from regard.engine.gpu.lazy import LazyFacts, LazyProblem, LazyProfile, byte_size
from regard.engine.gpu.torch_path import facts_in_chunks
from regard.engine.observation import Observation
from regard.engine.profile import Profile
from regard.engine.tensors import Tensor, is_tensor, send
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError
from regard.textbook.options import AttentionOptions
from regard.typing import Array

NUMPY_DTYPES: dict[Any, np.dtype[Any]] = {
    torch.float64: np.dtype(np.float64),
    torch.float32: np.dtype(np.float32),
}


def attention_on_device(query: Any, key: Any, value: Any, options: AttentionOptions) -> Tensor:
    """The output of attention, a tensor on the device of its inputs."""
    call = device_call(query, key, value, options)
    output_hqv = compute_facts(call, Requested(), None)[0].output_hqv
    assert output_hqv is not None
    return output_hqv.reshape(*call.leading, *output_hqv.shape[1:])


def observe_on_device(
    query: Any, key: Any, value: Any, requested: Requested, options: AttentionOptions
) -> Observation:
    """Every requested fact; none of them is copied to the host before it is read."""
    call = device_call(query, key, value, options)
    facts, plan = compute_facts(call, requested, None)
    return build_observation(call, requested, facts, plan, None)


def observe_from_logsumexp_on_device(
    query: Any, key: Any, logsumexp: Any, requested: Requested, options: AttentionOptions
) -> Observation:
    """The facts of some keys from a log-sum-exp, which may be of more keys than these."""
    call, total_hq = _logsumexp_call(query, key, logsumexp, options)
    facts, plan = compute_facts(call, requested, total_hq)
    return build_observation(call, requested, facts, plan, total_hq)


def _logsumexp_call(
    query: Any, key: Any, logsumexp: Any, options: AttentionOptions
) -> tuple[DeviceCall, Tensor]:
    """The call, and the log-sum-exp with one axis of heads."""
    call = device_call(query, key, key[..., :0], options)
    shape = (*call.leading, call.visibility.queries)
    tensor = logsumexp if is_tensor(logsumexp) else torch.as_tensor(np.asarray(logsumexp))
    if tuple(tensor.shape) != shape:
        raise ArgumentError(
            f"logsumexp must be numbers or -inf of shape {shape}, got shape {tuple(tensor.shape)}."
        )
    return call, tensor.detach().to(call.device).reshape(call.heads, call.visibility.queries)


@dataclass(frozen=True)
class StartedObservation:
    """An observation from a log-sum-exp whose best keys and distances are not started yet.

    Sums over queries are running, so that ``shares`` can tell whether the log-sum-exp belongs to
    these scores. ``finish`` starts the rest; until then query and key must not change.
    """

    call: DeviceCall
    requested: Requested
    facts: FactTensors
    plan: str
    total_hq: Tensor

    @classmethod
    def start(
        cls, query: Any, key: Any, logsumexp: Any, requested: Requested, options: AttentionOptions
    ) -> StartedObservation:
        """Start the pass that sums over queries; the host does not wait for it."""
        call, total_hq = _logsumexp_call(query, key, logsumexp, options)
        facts, plan = compute_facts(call, requested, total_hq, put_off=True)
        return cls(call, requested, facts, plan, total_hq)

    @property
    def device_bytes(self) -> int:
        return byte_size(self.call.query_hqd, self.call.key_gkd, *self.facts.tensors.values())

    def shares(self) -> Tensor:
        """The sum of a row's weights, in the mean over the queries of each head that see a key."""
        assert self.facts.received_hk is not None  # it is always requested
        sums_h = self.facts.received_hk.sum(dim=1)
        if self.call.all_live:
            return sums_h / self.call.visibility.queries
        return sums_h / (self.total_hq > -torch.inf).sum(dim=1).clamp(min=1)

    def finish(self) -> Observation:
        if self.facts.remaining:
            from regard.engine.gpu.triton_path import device_context

            with device_context(self.call):
                self.facts.run_remaining()
        return build_observation(self.call, self.requested, self.facts, self.plan, self.total_hq)


def compute_facts(
    call: DeviceCall, requested: Requested, total_hq: Tensor | None, put_off: bool = False
) -> tuple[FactTensors, str]:
    """The facts by kernels where they serve, else in chunks; and which it was, for the cost."""
    reasons = reasons_against_kernels(call, requested)
    if not reasons:
        from regard.engine.gpu.triton_path import facts_by_kernels

        return facts_by_kernels(call, requested, total_hq, put_off), "kernels"
    return facts_in_chunks(call, requested, total_hq), f"chunks in torch ({reasons[0]})"


def build_observation(
    call: DeviceCall,
    requested: Requested,
    facts: FactTensors,
    plan: str,
    external_total_hq: Tensor | None,
) -> Observation:
    """An observation of facts in the caller's shapes; those not requested are absent."""
    total_hq = facts.total_hq if external_total_hq is None else external_total_hq
    assert total_hq is not None
    tensors = {"logsumexp": total_hq}
    optional = {
        "output": facts.output_hqv if requested.output else None,
        "entropy": facts.entropy_hq,
        "top_weights": facts.weights_hqn,
        "top_keys": facts.keys_hqn,
        "received": facts.received_hk if requested.received else None,
    }
    tensors |= {name: tensor for name, tensor in optional.items() if tensor is not None}
    if facts.map_hrc is not None:
        tensors["map"] = facts.map_hrc
        if not facts.map_is_mean:
            tensors["map"] = _mean_map(call, requested, facts.map_hrc, total_hq)
    dtype = NUMPY_DTYPES[call.compute_dtype]
    check = DeviceCheck(call, facts.total_hq, external_total_hq, facts.received_hk)
    lazy = LazyFacts(tensors, dtype, check, call.leading)
    profile = None
    if facts.distance_hn is not None and facts.received_hk is not None:
        make = partial(_profile, call.visibility, call.leading, dtype, lazy)
        profile = LazyProfile(make, facts.received_hk[:, :1], facts.distance_hn)
    cost = _cost(call, requested, plan, facts.peak_bytes)
    parts, tensor = (LazyProblem(call, total_hq),), None
    if "output" in tensors:
        tensor = lazy.tensor("output")
    return Observation(lazy, profile, parts, call.visibility.keys, cost, (), tensor)


def _mean_map(call: DeviceCall, requested: Requested, sums_hrc: Tensor, total_hq: Tensor) -> Tensor:
    """The mean over the queries of a block that see anything, so that each row sums to 1."""
    row_edges, _ = map_edges(call, requested)
    if not total_hq.numel():
        return sums_hrc
    sizes = np.diff(row_edges)
    if call.all_live and (sizes == sizes[0]).all():
        return sums_hrc / int(sizes[0])
    live_hq = total_hq > -torch.inf
    counted_hq = torch.nn.functional.pad(live_hq.int().cumsum(dim=1), (1, 0))
    at = send(row_edges, call.device)
    counts_hr = counted_hq[:, at[1:]] - counted_hq[:, at[:-1]]
    return sums_hrc / counts_hr.clamp(min=1)[..., None]


def _profile(
    visibility: Visibility, leading: tuple[int, ...], dtype: np.dtype[Any], facts: LazyFacts,
    first_h1: Array, distance_hn: Array,
) -> Profile:  # fmt: skip
    live_hq = facts["logsumexp"].reshape(len(first_h1), visibility.queries) > -np.inf
    return Profile.from_sums(visibility, leading, dtype, first_h1, distance_hn, live_hq)


def _cost(call: DeviceCall, requested: Requested, plan: str, peak_bytes: int) -> Cost:
    width, value_width = call.query_hqd.shape[-1], call.value_gkv.shape[-1]
    passes = 1 + requested.column_facts + bool(requested.top) + requested.profile
    return Cost(plan, 2 * call.pairs() * (width * passes + value_width), peak_bytes)

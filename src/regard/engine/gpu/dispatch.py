"""attention and observe on a device: which path serves, and an observation from what it found."""

from functools import partial
from typing import Any

import numpy as np
import torch

from regard.engine.gpu.call import DeviceCall, call
from regard.engine.gpu.device_checks import DeviceCheck
from regard.engine.gpu.launch import Found, edges
from regard.engine.gpu.lazy import LazyFacts, LazyProblem, LazyProfile
from regard.engine.gpu.torch_path import find_in_chunks
from regard.engine.observation import Observation
from regard.engine.profile import Profile
from regard.engine.tensors import Tensor, is_tensor, send
from regard.engine.tiles.arguments import AttentionOptions
from regard.engine.tiles.plan import Cost
from regard.engine.tiles.rows import Requested
from regard.engine.visibility import Visibility
from regard.errors import ArgumentError
from regard.typing import Array


def attention_on_device(query: Any, key: Any, value: Any, options: AttentionOptions) -> Tensor:
    """The output of attention, a tensor beside its inputs."""
    here = call(query, key, value, options)
    output_hqv = find(here, Requested(), None)[0].output_hqv
    assert output_hqv is not None
    return output_hqv.reshape(*here.leading, *output_hqv.shape[1:])


def observe_on_device(
    query: Any, key: Any, value: Any, requested: Requested, options: AttentionOptions
) -> Observation:
    """Every fact asked for; none of them leaves the device before it is read."""
    here = call(query, key, value, options)
    found, plan = find(here, requested, None)
    return observation(here, requested, found, plan, None)


def observe_from_logsumexp_on_device(
    query: Any, key: Any, logsumexp: Any, requested: Requested, options: AttentionOptions
) -> Observation:
    """The same from a log-sum-exp, which may belong to more keys than these."""
    here = call(query, key, key[..., :0], options)
    shape = (*here.leading, here.visibility.queries)
    tensor = logsumexp if is_tensor(logsumexp) else torch.as_tensor(np.asarray(logsumexp))
    if tuple(tensor.shape) != shape:
        raise ArgumentError(
            f"logsumexp needs numbers or -inf of shape {shape}, but its shape is "
            f"{tuple(tensor.shape)}."
        )
    total_hq = tensor.detach().to(here.device).reshape(here.heads, here.visibility.queries)
    found, plan = find(here, requested, total_hq)
    return observation(here, requested, found, plan, total_hq)


def find(here: DeviceCall, requested: Requested, total_hq: Tensor | None) -> tuple[Found, str]:
    """By kernels where they can serve, else in chunks; the plan says which."""
    from regard.engine.gpu.call import reasons_against_kernels

    reasons = reasons_against_kernels(here, requested)
    if not reasons:
        from regard.engine.gpu.triton_path import find_with_kernels

        return find_with_kernels(here, requested, total_hq), "kernels"
    return find_in_chunks(here, requested, total_hq), f"chunks in torch ({reasons[0]})"


def observation(
    here: DeviceCall, requested: Requested, found: Found, plan: str, given_hq: Tensor | None
) -> Observation:
    """All facts in the caller's shapes; what was not asked for is absent."""
    total_hq = found.total_hq if given_hq is None else given_hq
    assert total_hq is not None
    facts = {"logsumexp": total_hq}
    named = {"output": found.output_hqv if requested.output else None, "entropy": found.entropy_hq,
             "top_weights": found.weights_hqn, "top_keys": found.keys_hqn,
             "received": found.received_hk if requested.received else None}  # fmt: skip
    facts |= {name: tensor for name, tensor in named.items() if tensor is not None}
    if found.map_hrc is not None:
        averaged, sums_hrc = found.averaged, found.map_hrc
        facts["map"] = sums_hrc if averaged else _mean_map(here, requested, sums_hrc, total_hq)
    shaped = {x: t.reshape(*here.leading, *t.shape[1:]) for x, t in facts.items()}
    dtype = np.dtype(np.float64 if here.compute_dtype == torch.float64 else np.float32)
    lazy = LazyFacts(shaped, dtype, DeviceCheck(here, found.total_hq, given_hq))
    profile = None
    if found.distance_hn is not None and found.received_hk is not None:
        make = partial(_profile, here.visibility, here.leading, dtype, lazy)
        profile = LazyProfile(make, found.received_hk[:, :1], found.distance_hn)
    cost = _cost(here, requested, plan, found.held)
    parts, tensor = (LazyProblem(here, total_hq),), shaped.get("output")
    return Observation(lazy, profile, parts, here.visibility.keys, cost, (), tensor)


def _mean_map(here: DeviceCall, requested: Requested, sums_hrc: Tensor, total_hq: Tensor) -> Tensor:
    """The mean over the queries of a block that see anything, so that each row sums to 1."""
    row_edges, _ = edges(here, requested)
    if not total_hq.numel():
        return sums_hrc
    sizes = np.diff(row_edges)
    if here.all_live and (sizes == sizes[0]).all():
        return sums_hrc / int(sizes[0])
    live_hq = total_hq > -torch.inf
    counted_hq = torch.nn.functional.pad(live_hq.int().cumsum(dim=1), (1, 0))
    at = send(row_edges, here.device)
    counts_hr = counted_hq[:, at[1:]] - counted_hq[:, at[:-1]]
    return sums_hrc / counts_hr.clamp(min=1)[..., None]


def _profile(
    visibility: Visibility, leading: tuple[int, ...], dtype: np.dtype[Any], facts: LazyFacts,
    first_h1: Array, distance_hn: Array,
) -> Profile:  # fmt: skip
    live_hq = facts["logsumexp"].reshape(len(first_h1), visibility.queries) > -np.inf
    return Profile.of_sums(visibility, leading, dtype, first_h1, distance_hn, live_hq)


def _cost(here: DeviceCall, requested: Requested, plan: str, held: int) -> Cost:
    width, value_width = here.query_hqd.shape[-1], here.value_gkv.shape[-1]
    passes = 1 + requested.column_facts + bool(requested.top) + requested.profile
    return Cost(plan, 2 * here.pairs() * (width * passes + value_width), held)

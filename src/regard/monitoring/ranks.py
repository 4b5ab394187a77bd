"""Sums and maxima over the ranks of torch.distributed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

    from regard.monitoring.step import Parts


def rank_and_ranks() -> tuple[int, int]:
    """This rank and their number; 0 of 1 where torch.distributed does not run."""
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized()):
        return 0, 1
    return dist.get_rank(), dist.get_world_size()


def over_ranks(parts: Parts) -> Parts:
    """What is added and joined of all ranks, by one gathering of everything."""
    import torch
    import torch.distributed as dist

    own, (_, ranks) = torch.cat(parts), rank_and_ranks()
    flat = own.new_empty(ranks * len(own))  # gloo takes no other shape
    dist.all_gather_into_tensor(flat, own)
    added, joined = flat.view(ranks, -1).split([len(x) for x in parts], dim=1)
    return type(parts)(added.sum(dim=0), joined.amax(dim=0))


def same_on_all_ranks(number: int, device: Any) -> bool:
    """Whether all ranks have the same number."""
    import torch

    both = torch.tensor([number, -number], dtype=torch.float64, device=device)
    largest_on_all_ranks(both)
    return bool(both[0] == -both[1])


def largest_on_all_ranks(numbers: torch.Tensor) -> None:
    """Replace numbers by the largest of all ranks."""
    import torch.distributed as dist

    dist.all_reduce(numbers, dist.ReduceOp.MAX)

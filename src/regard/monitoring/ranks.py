"""Sums and maxima over the ranks of torch.distributed, in one collective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def rank_and_ranks() -> tuple[int, int]:
    """This rank and their number; 0 of 1 where torch.distributed does not run."""
    import torch.distributed as dist

    if not (dist.is_available() and dist.is_initialized()):
        return 0, 1
    return dist.get_rank(), dist.get_world_size()


@dataclass(frozen=True)
class RankParts:
    """What a rank knows of the steps since the last observed one, float64.

    added : sums, of which those of all ranks are added; joined : maxima, of which the largest
    counts, nan where any is. A rank whose monitor has failed takes part with ``failed``, so that
    the others do not wait for it forever; all of them stop then.
    """

    added: torch.Tensor
    joined: torch.Tensor
    failed: bool = False

    def over_ranks(self) -> RankParts:
        """The same over all ranks, by one gathering of everything."""
        import torch
        import torch.distributed as dist

        _, ranks = rank_and_ranks()
        if ranks == 1:
            return self
        flag = torch.full_like(self.added[:1], float(self.failed))
        own = torch.cat([flag, self.added, self.joined])
        flat = own.new_empty(ranks * len(own))  # gloo takes no other shape
        dist.all_gather_into_tensor(flat, own)
        gathered = flat.view(ranks, -1)
        added, joined = gathered[:, 1:].split([len(self.added), len(self.joined)], dim=1)
        failed = bool(gathered[:, 0].any())
        return RankParts(added.sum(dim=0), joined.amax(dim=0), failed)


def same_on_all_ranks(number: int, device: Any) -> bool:
    """Whether all ranks have the same number."""
    import torch
    import torch.distributed as dist

    both = torch.tensor([number, -number], dtype=torch.float64, device=device)
    dist.all_reduce(both, dist.ReduceOp.MAX)
    return bool(both[0] == -both[1])


def largest_on_all_ranks(numbers: torch.Tensor) -> None:
    """Replace numbers by the largest of all ranks."""
    import torch.distributed as dist

    dist.all_reduce(numbers, dist.ReduceOp.MAX)

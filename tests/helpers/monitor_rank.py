"""python -m tests.helpers.monitor_rank RANK RANKS FOLDER: trainings of ranks, each with a monitor.

Writes what each rank saw to FOLDER/rankN.pt.
"""

import sys
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from tests.helpers.small_training import Model, Training, batch, louder
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import regard
from regard.monitoring import monitor as module


def trained(model, folder, fail_at=None, **options):
    """Four steps on batches of this rank's own; what the monitor told, and the largest scores."""
    rank, training, seen = dist.get_rank(), Training(model), []
    monitor = regard.monitor(
        model, every=2, to=[folder, seen.append], threshold=5.0, on_alert="log", **options
    )
    exact, scores = module.head_sums, []
    for number in range(4):
        if number == fail_at:
            module.head_sums = fail
        training.step(batch(2 * number + rank))
        scores.append(monitor.max_scores())
    module.head_sums = exact
    monitor.close()
    seen = [(x.step, x.measures, x.loss) for x in seen]
    told = {"seen": seen, "scores": scores, "failed": monitor.failed, "notes": monitor.notes}
    return told | {"parameters": parameters(model)}


def parameters(model):
    """What a training has made of a model, shards put together."""
    return [getattr(x.detach(), "full_tensor", x.detach)() for x in model.parameters()]


def unwatched(model):
    """The same training without a monitor."""
    training = Training(model)
    for number in range(4):
        training.step(batch(2 * number + dist.get_rank()))
    return parameters(model)


def sharded():
    model = louder(Model(), 1, 60)
    for layer in model.layers:
        fully_shard(layer)
    return fully_shard(model)


def fail(*arguments, **options):
    raise ZeroDivisionError("planted")


def main(rank: int, ranks: int, folder: Path) -> None:
    dist.init_process_group(
        "gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=ranks,
        timeout=timedelta(seconds=60),
    )  # fmt: skip
    torch.use_deterministic_algorithms(True)
    wrapped = [DistributedDataParallel(louder(Model(), 1, 60)) for _ in range(2)]
    results = {"ddp": trained(wrapped[0], folder / "ddp"), "ddp alone": unwatched(wrapped[1])}
    for name, step in (("failed at first", 0), ("failed later", 2)):
        at = step if rank == 1 else None
        results[name] = trained(DistributedDataParallel(Model()), folder / name, fail_at=at)
    results |= {"fsdp": trained(sharded(), folder / "fsdp"), "fsdp alone": unwatched(sharded())}
    torch.save(results, folder / f"rank{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))

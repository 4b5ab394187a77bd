"""A batch job whose worker is killed in the middle, as the system or a person would do it."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from regard.corpus.batches import BatchJob, BatchMeasures, DocumentBatch


@dataclass(frozen=True)
class Stumbling:
    """Kills its own process on these batches: the first time, or ``always``."""

    work: BatchJob
    marks: Path
    batches: tuple[int, ...]
    always: bool = False

    def __call__(self, batch: DocumentBatch) -> BatchMeasures:
        mark = self.marks / str(batch.number)
        if batch.number in self.batches and (self.always or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work(batch)

    def failed(self, batch: DocumentBatch, reason: str) -> BatchMeasures:
        return self.work.failed(batch, reason)

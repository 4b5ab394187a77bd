"""Work whose worker is killed on its way, as the system or a person would: without a word."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

from regard.corpus.batch_job import Work
from regard.corpus.batching import Batch
from regard.corpus.windows import Measured


@dataclass(frozen=True)
class Stumbling:
    """Kills its own process on these batches: the first time, or ``always``."""

    work: Work
    marks: Path
    batches: tuple[int, ...]
    always: bool = False

    def __call__(self, batch: Batch) -> Measured:
        mark = self.marks / str(batch.number)
        if batch.number in self.batches and (self.always or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work(batch)

    def lost(self, batch: Batch, reason: str) -> Measured:
        return self.work.lost(batch, reason)

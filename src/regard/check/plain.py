"""What plain code in a dtype gives: the yardstick for everyone's precision."""

from collections.abc import Callable

from regard.check.case import Array, Case
from regard.check.compare import as_dtype
from regard.check.mistakes.entry import changed
from regard.check.plan import SPECIFICATION, Result, mixed, normalised, run, scaled, scored


def plain_run(case: Case, dtype: str) -> Result:
    """What plain code in a dtype gives.

    float32 and float64 are computed as they are. NumPy is slow or silent in 16 bits; there every
    stage is computed in float64 and rounded, as processors do that add up in a wider type.
    """
    if dtype in ("float32", "float64"):
        return run(SPECIFICATION, case, dtype)

    def rounded_to(stage: Callable[..., Array]) -> Callable[..., Array]:
        return lambda *arguments: as_dtype(stage(*arguments), dtype)

    plan = changed(
        score=rounded_to(scored),
        scale=rounded_to(scaled),
        normalise=rounded_to(normalised),
        mix=rounded_to(mixed),
    )
    return run(plan, case)

"""Before any number is shown: is what regard computes what the model computes?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.errors import BackendError
from regard.models.bridge import places
from regard.models.call import Call

if TYPE_CHECKING:
    import torch

FEW = 64  # up to so many queries all are compared, beyond them four rows
# Relative to the largest value; a wrong mask, scale or order of heads is off by far more. Models
# in float64 take their softmax in float32.
ALLOWED = {"float64": 1e-5, "float32": 1e-4, "float16": 1e-2, "bfloat16": 4e-2}


def compared_rows(queries: int) -> list[int]:
    """The queries to compare: all of a short call, else the ends and two between.

    >>> compared_rows(3), compared_rows(1000)
    ([0, 1, 2], [0, 333, 666, 999])
    """
    if queries <= FEW:
        return list(range(queries))
    return [0, queries // 3, 2 * queries // 3, queries - 1]


def prove(call: Call, output: torch.Tensor, real: list[slice], name: str) -> None:
    """Compare output (b, q, h, d) with the model's own attention, on the real queries.

    Raises BackendError with the size of the difference where they do not agree.
    """
    import torch

    rows = compared_rows(call.query.shape[2])
    with torch.no_grad():
        own = call.some_rows(rows).own()[0]
    inside = [[some.start <= row < some.stop for row in rows] for some in real]
    at, among = (places(x, output) for x in (rows, inside))
    apart = (output[:, at].float() - own.float()).abs()
    # Where the model's own is no number the proof has nothing to compare; the facts will say so.
    apart = torch.where(own.isnan(), 0, apart).nan_to_num(nan=torch.inf)
    apart_bq = torch.where(among, apart.amax(dim=(2, 3)), 0)
    largest = call.value.detach().abs().max().float()
    most, size = torch.stack([apart_bq.max(), largest]).tolist()  # the host waits once
    allowed = ALLOWED[str(call.query.dtype).removeprefix("torch.")] * (size or 1.0)
    if not most <= allowed:
        raise BackendError(
            f"{name}: regard's attention is {most:.3g} away from the model's own "
            f"({allowed:.1g} would be rounding), so watch shows nothing. The model does something "
            "regard does not know: leave this layer out with layers=..."
        )

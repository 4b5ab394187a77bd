"""Full rows of a block of queries, so that columns can be summed in the same pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from regard.engine.tiles.plan import TilePlan, Unit
from regard.engine.tiles.problem import Problem
from regard.engine.tiles.rows import Requested, Rows, Scratch, buffer, tiles
from regard.engine.tiles.topk import FANOUT, Best, Groups, largest, largest_among
from regard.typing import Array


@dataclass(frozen=True)
class Panel:
    """Unnormalised weights e of some queries over a range of keys, with margins of zeros.

    The zeros let a view whose rows each start one column later (a skew) stay inside its own row.
    """

    full_hqs: Array
    margin: int
    columns: slice

    @property
    def e_hqk(self) -> Array:
        """The weights alone, a view."""
        return self.full_hqs[
            ..., self.margin : self.margin + self.columns.stop - self.columns.start
        ]

    @property
    def skewed_hqn(self) -> Array:
        """Row i moved left by i, a view: its column n holds key - query = n - (rows - 1)."""
        heads, rows, _ = self.full_hqs.shape
        head_step, row_step, step = self.full_hqs.strides
        first = self.full_hqs[:, :, self.margin - (rows - 1) :]
        width = self.columns.stop - self.columns.start + rows - 1
        return np.lib.stride_tricks.as_strided(
            first, (heads, rows, width), (head_step, row_step + step, step), writeable=False
        )


def blank_panel(
    problem: Problem, unit: Unit, columns: slice, skew: bool, scratch: Scratch
) -> Panel:
    """A panel with its margins zero and the rest uninitialised."""
    heads, rows = unit.heads.stop - unit.heads.start, unit.rows.stop - unit.rows.start
    margin = rows if skew else 0
    width = columns.stop - columns.start
    # One zero at least on the right: _find_best reads it for columns past the last.
    full = margin + width + max(margin, 1)
    panel = Panel(buffer(scratch, "panel", (heads, rows, full), problem.dtype), margin, columns)
    panel.full_hqs[..., :margin] = 0
    panel.full_hqs[..., margin + width :] = 0
    return panel


def panel_rows(
    problem: Problem, plan: TilePlan, unit: Unit, requested: Requested, scratch: Scratch
) -> tuple[Rows, Panel]:
    """As stream_rows, with e kept for every key in reach."""
    rows = Rows.none_seen(problem, unit, requested)
    query_hqd = problem.scaled_query(unit.heads, unit.rows)
    reach = problem.visibility.reach(unit.heads, unit.rows)
    panel = blank_panel(problem, unit, reach, requested.profile, scratch)
    groups = _blank_groups(problem, plan, panel, scratch) if requested.top else None
    if not problem.bounded:
        # Columns are summed over e, so that a row needs one shift: its maximum, before any e.
        _fill_scores(problem, plan, unit, query_hqd, panel)
        rows.raise_shift(panel.e_hqk.max(axis=-1, initial=problem.floor))
    for index, columns in enumerate(tiles(problem, plan, unit)):
        e_hqk = panel.e_hqk[..., columns.start - reach.start : columns.stop - reach.start]
        t_hqk = buffer(scratch, "scores", e_hqk.shape, problem.dtype)
        if problem.bounded:
            visible = problem.scores(query_hqd, unit.heads, unit.rows, columns, out=t_hqk)
        else:
            visible = problem.visibility.visible_as(unit.heads, unit.rows, columns, problem.dtype)
            np.subtract(e_hqk, rows.shift_hq[..., None], out=t_hqk)
        problem.exponential(t_hqk, visible, out=e_hqk)
        if groups is not None:
            if visible is not None:
                problem.hide(t_hqk, visible)
            groups.take(t_hqk, index)
        value_hkv = problem.shared(problem.value_gkv, unit.heads, columns)
        rows.take(
            e_hqk, t_hqk if requested.entropy else None, value_hkv if requested.output else None
        )
    if rows.best is not None:
        _find_best(rows, rows.best, panel, groups)
    return rows, panel


def _fill_scores(
    problem: Problem, plan: TilePlan, unit: Unit, query_hqd: Array, panel: Panel
) -> None:
    for columns in tiles(problem, plan, unit):
        start = panel.columns.start
        t_hqk = panel.e_hqk[..., columns.start - start : columns.stop - start]
        problem.scores(query_hqd, unit.heads, unit.rows, columns, out=t_hqk)


def _blank_groups(
    problem: Problem, plan: TilePlan, panel: Panel, scratch: Scratch
) -> Groups | None:
    """Room for the maxima over tiles; with one tile only there is nothing to gain by them."""
    heads, queries, _ = panel.full_hqs.shape
    width = panel.columns.stop - panel.columns.start
    if width <= plan.columns:
        return None
    spans = -(-width // (plan.columns * FANOUT))
    shape = (spans, heads, queries, plan.columns)
    return Groups.blank(buffer(scratch, "groups", shape, problem.dtype), problem.floor)


def _find_best(rows: Rows, best: Best, panel: Panel, groups: Groups | None) -> None:
    """The largest e of each full row; a zero beside it stands for columns past its end."""
    heads, queries, full = panel.full_hqs.shape
    width = panel.columns.stop - panel.columns.start
    number, margin = best.values_hqn.shape[-1], panel.margin
    if groups is None:
        margin = 0
        e_rn, columns_rn = largest(panel.e_hqk.reshape(heads * queries, width), number)
    else:
        flat_rs = panel.full_hqs.reshape(heads * queries, full)
        among_rn = np.minimum(groups.columns(number), width) + margin
        e_rn, columns_rn = largest_among(flat_rs, among_rn, number)
    shape = (heads, queries, e_rn.shape[1])
    weights_hqn = e_rn.reshape(shape) * rows.inverse_hq()[..., None]
    best.values_hqn[..., : shape[-1]] = weights_hqn
    best.columns_hqn[..., : shape[-1]] = columns_rn.reshape(shape) - margin + panel.columns.start
    best.drop_weightless()

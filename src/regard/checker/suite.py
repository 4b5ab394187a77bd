"""The operator suite for kernel authors: the error of each feature in each dtype, as a table.

Every row of ``suite_features`` is one input, or the gradients of one. The error of a function
against float64 is divided by that of a plain computation in the same dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from regard.checker.adapters import on_device
from regard.checker.calls import BoundFunction, CallResult, LocalFunction, working_layouts
from regard.checker.cases import Case, Sizes, draw, mixed_mask
from regard.checker.compare import as_dtype, differ, plain_run, result_kinds, rounded
from regard.checker.conventions import EPSILONS, CallingConvention
from regard.checker.explain import explain
from regard.checker.prepare import Features, PreparedFunction, describe, prepare
from regard.errors import ArgumentError, count
from regard.textbook.stages import SPECIFICATION, Trace, run, score_scale
from regard.typing import Array

SUITE_DTYPES = ("float32", "float16", "bfloat16")
PASS, FAIL, EXCEPTION, NOT_CLAIMED = "pass", "FAIL", "exception", "not claimed"
# Times the error of a plain computation in the same dtype, which may itself be unlucky.
MAX_ERROR_RATIO = 8.0
GRADIENTS = "gradients"
# Tokens and features are multiples of these: the first that a kernel takes.
MULTIPLES = ((1, 1), (1, 16), (1, 64), (16, 16), (64, 64), (128, 64), (128, 128))


def _multiple(sizes: Sizes, of: tuple[int, int]) -> Sizes:
    """Sizes whose tokens and features are rounded up to multiples."""
    tokens, features = of
    q, k = (-(-n // tokens) * tokens for n in (sizes.q, sizes.k))
    d, v = (-(-n // features) * features for n in (sizes.d, sizes.v))
    return sizes._replace(q=q, k=k, d=d, v=v)


# Queries and keys of each packed sequence.
SEQUENCE_LENGTHS = {
    "packed, several lengths": ((7, 7), (45, 45), (1, 1), (23, 23)),
    "packed, other lengths of keys": ((5, 19), (1, 40), (13, 2)),
    "packed, an empty sequence": ((5, 5), (0, 0), (9, 9)),
}


@dataclass(frozen=True)
class SuiteCell:
    """One feature in one dtype: its error, and how many times that of a plain computation."""

    status: str
    error: float = 0.0
    ratio: float = 0.0
    note: str = ""


@dataclass(frozen=True)
class Suite:
    """A conformance table: features by dtypes."""

    function: str
    called: str
    rows: dict[str, dict[str, SuiteCell]]

    @property
    def status(self) -> int:
        """The exit status: 0 where nothing that is claimed fails, else 1."""
        return int(any(c.status == FAIL for row in self.rows.values() for c in row.values()))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"status": self.status}

    def markdown(self) -> str:
        """The table in Markdown; each number is a multiple of a plain computation's error."""
        dtypes = list(next(iter(self.rows.values())))
        lines = [f"| feature | {' | '.join(dtypes)} |", "|---" * (len(dtypes) + 1) + "|"]
        for name, row in self.rows.items():
            lines.append(f"| {name} | {' | '.join(_cell_text(row[d]) for d in dtypes)} |")
        cells = [cell for row in self.rows.values() for cell in row.values()]
        failed = sum(cell.status == FAIL for cell in cells)
        passed = sum(cell.status == PASS for cell in cells)
        rest = len(cells) - passed - failed
        summary = f"{count(passed, 'cell')} pass, {failed} fail, {rest} not claimed or refused."
        return "\n".join([f"Called as {self.called}.", "", *lines, "", summary])


@dataclass(frozen=True)
class Feature:
    """One row of the table: a feature, the parameters that it needs, and its input.

    ``kind``: the returned array that is compared, or "gradients". ``form``: that of the mask.
    ``either_corner``: without an offset both corners of the causal mask are right.
    """

    name: str
    needs: tuple[str, ...]
    build: Callable[[], Case]
    kind: str = "output"
    form: str = ""
    either_corner: bool = False


def _with(sizes: Sizes, seed: int, **options: object) -> Callable[[], Case]:
    return lambda: replace(draw(sizes, seed=seed), **options)  # type: ignore[arg-type]


def _random_mask(queries: int, keys: int, *leading: int) -> Array:
    """A mask that differs between sentences and heads where it has these axes."""
    if not leading:
        return mixed_mask(queries, keys)
    random = np.random.default_rng(31)
    mask = random.random((*leading, queries, keys)) < 0.6
    mask[..., 0] = True
    return mask


def _empty(queries: int, keys: int) -> Array:
    mask_qk = _random_mask(queries, keys).copy()
    mask_qk[[0, 7, -1]] = False
    return mask_qk


def _added(queries: int, keys: int, *leading: int) -> Array:
    random = np.random.default_rng(32)
    bias = random.standard_normal((*leading, queries, keys)).round(2)
    return np.where(_random_mask(queries, keys, *leading), bias, -np.inf)


def suite_features(multiple: tuple[int, int] = (1, 1)) -> tuple[Feature, ...]:
    """The rows of the table, of sizes that are multiples of these."""
    cross = _multiple(Sizes(2, 3, 37, 53, 16, 16), multiple)
    wide = _multiple(Sizes(2, 3, 45, 45, 16, 24), multiple)
    square = _multiple(Sizes(2, 3, 45, 45, 16, 16), multiple)
    long = _multiple(Sizes(1, 2, 200, 333, 64, 64), multiple)
    q, k = cross.q, cross.k
    on_diagonal = mixed_mask(square.q, square.k) | np.eye(square.q, dtype=bool)
    lengths = np.array([11, 40])
    return (
        Feature("plain", (), _with(square, 21)),
        Feature("fewer queries than keys", (), _with(cross, 22)),
        Feature("values wider than keys", (), _with(wide, 22)),
        Feature(f"long, {long.q} queries and {long.k} keys of width {long.d}", (), _with(long, 23)),
        Feature("large scores", (), lambda: draw(square, seed=33, spread=6.0)),
        Feature("scale", ("scale",), _with(cross, 24, scale=0.11)),
        Feature("causal", ("causal",), _with(square, 25, causal=True)),
        Feature("causal, fewer queries than keys", ("causal",), _with(cross, 26, causal=True),
                either_corner=True),
        Feature("causal, offset 9", ("causal", "offset"), _with(cross, 26, causal=True, offset=9)),
        Feature("causal, offset -5: empty rows", ("causal", "offset"),
                _with(cross, 26, causal=True, offset=-5)),
        Feature("window (5, 2)", ("window",), _with(square, 27, window=(5, 2))),
        Feature("window (5, unbounded)", ("window",), _with(square, 27, window=(5, None))),
        Feature("softcap", ("softcap",), _with(cross, 28, softcap=0.7)),
        Feature("softcap and causal", ("softcap", "causal"),
                _with(square, 28, softcap=0.7, causal=True)),
        Feature("lengths", ("lengths",), _with(cross, 29, lengths=lengths)),
        Feature("boolean mask", ("mask",), _with(cross, 30, mask=_random_mask(q, k)), form="bool"),
        Feature("boolean mask, one a sentence and head", ("mask",),
                _with(cross, 30, mask=_random_mask(q, k, 2, 3)), form="bool"),
        Feature("boolean mask, one a sentence (b, 1, q, k)", ("mask",),
                _with(cross, 30, mask=_random_mask(q, k, 2, 1)), form="bool"),
        Feature("added mask", ("mask",), _with(cross, 34, mask=_added(q, k)), form="added"),
        Feature("added mask, one a sentence and head", ("mask",),
                _with(cross, 34, mask=_added(q, k, 2, 3)), form="added"),
        Feature("empty rows", ("mask",), _with(cross, 35, mask=_empty(q, k)), form="bool"),
        Feature("mask and causal together", ("mask", "causal"),
                _with(square, 36, mask=on_diagonal, causal=True), form="bool"),
        Feature("grouped heads, 6 on 3", (), lambda: draw(cross._replace(h=6, g=3), seed=37)),
        Feature("grouped heads, 6 on 1", (), lambda: draw(cross._replace(h=6, g=1), seed=38)),
        Feature("dropout 0", ("dropout",), _with(cross, 22)),
        Feature("cached keys", ("cache",), _with(cross, 40, cached=k - q)),
        Feature("cached keys, causal", ("cache", "causal"),
                _with(cross, 40, cached=k - q, causal=True, offset=k - q)),
        Feature("backward", (), _with(cross, 42), kind=GRADIENTS),
        Feature("backward, causal", ("causal",), _with(square, 25, causal=True), kind=GRADIENTS),
        Feature("backward, scale", ("scale",), _with(cross, 24, scale=0.11), kind=GRADIENTS),
        Feature("backward, softcap", ("softcap",), _with(cross, 28, softcap=0.7), kind=GRADIENTS),
        Feature("backward, lengths", ("lengths",), _with(cross, 29, lengths=lengths),
                kind=GRADIENTS),
        Feature("backward, empty rows", ("mask",), _with(cross, 35, mask=_empty(q, k)), form="bool",
                kind=GRADIENTS),
        Feature("backward, grouped heads, 6 on 3", (),
                lambda: draw(cross._replace(h=6, g=3), seed=37), kind=GRADIENTS),
        Feature("log-sum-exp", (), _with(cross, 39), kind="log-sum-exp"),
        Feature("weights", (), _with(cross, 39), kind="weights"),
        Feature("column sums (received)", (), _with(cross, 39), kind="received"),
    )  # fmt: skip


def suite_dtypes(dtype: str) -> tuple[str, ...]:
    """The columns of the table: one dtype, or all with "auto"."""
    if dtype not in ("auto", *SUITE_DTYPES):
        raise ArgumentError(f"dtype must be one of {', '.join(SUITE_DTYPES)}, got {dtype!r}.")
    return SUITE_DTYPES if dtype == "auto" else (dtype,)


def run_suite(
    function: Callable[..., Any], name: str = "", *, dtype: str = "auto", device: str = "cpu"
) -> Suite:
    """The conformance table of a function: every feature in every dtype."""
    dtypes = suite_dtypes(dtype)
    with on_device(device):
        prepared = prepare(function, "auto", "auto")
        local = replace(prepared, function=LocalFunction(prepared.function))
        return suite_of_prepared(local, name, dtypes)


def suite_of_prepared(prepared: PreparedFunction, name: str, dtypes: tuple[str, ...]) -> Suite:
    """The conformance table of a function that is already prepared.

    The widest dtype and the smallest sizes that it takes are those in which it is understood.
    """
    prepared = replace(prepared, dtypes=dtypes)
    refusals: list[str] = []
    for multiple in MULTIPLES:
        sizes = () if multiple == (1, 1) else (_multiple(Sizes(1, 2, 5, 7, 4, 4), multiple),)
        for conventions in prepared.groups():
            working, refused = working_layouts(prepared.function, conventions, sizes)
            if working:
                verdict = explain(working, prepared.merge_claims(Features()))
                return _suite(verdict.candidate.bound, name, dtypes, suite_features(multiple))
            refusals += [why for _, why in refused]
        # Kernels of odd sizes are seldom NumPy's, and every size is another round of calls.
        rest = tuple(x for x in prepared.libraries if x != "numpy")
        prepared = replace(prepared, libraries=rest or prepared.libraries)
    why = f": {max(refusals, key=refusals.count)}" if refusals else "."
    raise ArgumentError(f"{name} could not be called in any usual shape{why}")


def _suite(
    bound: BoundFunction, name: str, dtypes: tuple[str, ...], features: tuple[Feature, ...]
) -> Suite:
    rows = {
        feature.name: {dtype: _cell(bound, feature, dtype) for dtype in dtypes}
        for feature in features
    }
    if bound.function.is_packed:
        rows |= _packed_rows(bound, dtypes)
    return Suite(name, describe(bound.convention, name.rpartition(":")[2]), rows)


def _cell(bound: BoundFunction, feature: Feature, dtype: str) -> SuiteCell:
    convention = bound.convention
    if not all(_is_claimed(convention, need) for need in feature.needs):
        return SuiteCell(NOT_CLAIMED)
    if "dropout" in feature.needs:  # a convention passes it only where it is required
        roles = convention.roles
        roles = replace(roles, required=(*roles.required, "dropout"))
        convention = replace(convention, roles=roles)
    corners = _corners(convention, feature)
    cells = [_judge(bound.with_convention(corner), feature, dtype) for corner in corners]
    best = next((cell for cell in cells if cell.status == PASS), cells[0])
    if len(cells) > 1 and best.status == PASS:
        return replace(best, note="top left" if best is cells[0] else "bottom right")
    return best


def _is_claimed(convention: CallingConvention, need: str) -> bool:
    return convention.roles.cached if need == "cache" else convention.roles.has(need)


def _corners(convention: CallingConvention, feature: Feature) -> list[CallingConvention]:
    """The convention, or both of its corners where there is no offset."""
    if feature.either_corner and not convention.roles.has("offset"):
        return [replace(convention, queries_last=last) for last in (False, True)]
    return [convention]


def _judge(bound: BoundFunction, feature: Feature, dtype: str) -> SuiteCell:
    mask_form = feature.form or bound.convention.mask_form
    convention = replace(bound.convention, dtype=dtype, mask_form=mask_form)
    bound = bound.with_convention(convention)
    case = convention.fit(feature.build())
    if case is None or (dtype == "bfloat16" and convention.library == "numpy"):
        return SuiteCell(NOT_CLAIMED)
    case = rounded(case, dtype)
    if feature.kind == GRADIENTS:
        return _judge_gradients(bound, case)
    result = bound.call(case)
    if result.error:
        return SuiteCell(EXCEPTION, note=result.error)
    kinds = result_kinds(convention, case, result.shapes)
    at = next((i for i, kind in enumerate(kinds) if kind.startswith(feature.kind)), None)
    if at is None:
        missing = feature.kind != "output"
        return (
            SuiteCell(NOT_CLAIMED) if missing else SuiteCell(FAIL, note=f"shapes {result.shapes}")
        )
    exact = convention.expected(run(SPECIFICATION, case))[kinds[at]]
    plain = convention.expected(plain_run(case, dtype))[kinds[at]]
    return _error_cell(result.arrays[at], exact, plain, dtype)


def _judge_gradients(bound: BoundFunction, case: Case) -> SuiteCell:
    """The gradients of query, key and value; the worst of the three counts."""
    convention = bound.convention
    if convention.library != "torch" or convention.roles.form != "qkv" or convention.position:
        return SuiteCell(NOT_CLAIMED)
    computed = compute_gradients(bound, case)
    if computed.refused:
        return SuiteCell(NOT_CLAIMED, note=computed.refused)
    if computed.error:
        status = FAIL if computed.error.startswith("no gradient of") else EXCEPTION
        return SuiteCell(status, note=computed.error)
    exact = expected_gradients(convention, case)
    plain = expected_gradients(convention, case, convention.dtype)
    cells = {
        name: _error_cell(grad, exact[name], plain[name], convention.dtype)
        for name, grad in zip(exact, computed.arrays, strict=True)
    }
    name, worst = max(cells.items(), key=lambda cell: (cell[1].status == FAIL, cell[1].ratio))
    return replace(worst, note=f"gradient of {name}" if worst.status == FAIL else "")


def _packed_rows(bound: BoundFunction, dtypes: tuple[str, ...]) -> dict[str, dict[str, SuiteCell]]:
    """The rows of packed sequences, causal too where queries and keys have the same lengths."""
    causal = bound.convention.roles.names.get("causal")
    rows = {}
    for name, lengths in SEQUENCE_LENGTHS.items():
        rows[name] = {d: _packed(bound, lengths, {}, d) for d in dtypes}
        if causal and all(q == k for q, k in lengths):
            options = {causal: True}
            rows[f"{name}, causal"] = {d: _packed(bound, lengths, options, d) for d in dtypes}
    return rows


def _packed(
    bound: BoundFunction,
    lengths: tuple[tuple[int, int], ...],
    options: dict[str, Any],
    dtype: str,
) -> SuiteCell:
    library = bound.convention.library
    if dtype == "bfloat16" and library == "numpy":
        return SuiteCell(NOT_CLAIMED)
    cases = [
        rounded(replace(draw(Sizes(1, 3, q, k, 16, 16), seed=43), causal=bool(options)), dtype)
        for q, k in lengths
    ]
    sequences = [(c.query[0], c.key[0], c.value[0]) for c in cases]
    result = bound.function.sequences(sequences, options, library, dtype)
    if result.error:
        return SuiteCell(EXCEPTION, note=result.error)
    output = [one[None] for one in result.arrays]
    exact = [run(SPECIFICATION, case).output for case in cases]
    plain = [plain_run(case, dtype).output for case in cases]
    if [one.shape for one in output] != [one.shape for one in exact]:
        return SuiteCell(FAIL, note=f"shapes {[one.shape[1:] for one in output]}")
    computed, true, rounding = (np.concatenate(some, axis=2) for some in (output, exact, plain))
    return _error_cell(computed, true, rounding, dtype)


def _error_cell(computed: Array, exact: Array, plain: Array, dtype: str) -> SuiteCell:
    seen = np.isfinite(exact)
    if differ(computed[~seen], exact[~seen], 0.0).any() or not np.isfinite(computed[seen]).all():
        return SuiteCell(FAIL, note="NaN or infinity in the wrong place")
    error = float(np.abs(computed[seen] - exact[seen]).max(initial=0))
    size = float(np.abs(exact[seen]).max(initial=0))
    # No result is closer than half of the last digit.
    floor = size * EPSILONS[dtype] / 2
    least = max(float(np.abs(plain[seen] - exact[seen]).max(initial=0)), floor)
    ratio = error / least if least else float(error > 0)
    return SuiteCell(PASS if ratio <= MAX_ERROR_RATIO else FAIL, error, ratio)


def _cell_text(cell: SuiteCell) -> str:
    if cell.status == PASS:
        return f"{cell.ratio:.2f}" + (f" ({cell.note})" if cell.note else "")
    if cell.status == FAIL:
        return f"**FAIL** {cell.note or f'error {cell.error:.2g}'}"
    return "–" if cell.status == NOT_CLAIMED else "exception"


def _incoming_gradient(case: Case) -> Array:
    """The gradient of the output (b, h, q, v) that a backward pass starts from: fixed numbers."""
    shape = (*case.query.shape[:-1], case.value.shape[-1])
    return np.random.default_rng(41).standard_normal(shape).round(1)


def compute_gradients(bound: BoundFunction, case: Case) -> CallResult:
    """The gradients of query, key and value that PyTorch computes through a function."""
    result, convention = bound.call(case), bound.convention
    if result.error:
        return result
    kinds = result_kinds(convention, case, result.shapes)
    index = next((i for i, kind in enumerate(kinds) if kind.startswith("output")), None)
    if index is None:
        return CallResult(error="no returned array has the shape of the output")
    incoming = _returned_gradient(convention, case, kinds[index])
    return bound.function.gradients(bound.arguments(case), index, incoming)


def _returned_gradient(convention: CallingConvention, case: Case, kind: str) -> Array:
    trace = replace(run(SPECIFICATION, case), output=_incoming_gradient(case))
    return convention.expected(trace)[kind]


def expected_gradients(
    convention: CallingConvention, case: Case, dtype: str = "float64"
) -> dict[str, Array]:
    """The gradients by the definition in the layout of the function, every step in ``dtype``."""
    trace = run(SPECIFICATION, case) if dtype == "float64" else plain_run(case, dtype)
    query, key, value = _backward_pass(trace, case, dtype)
    return convention.arrays(replace(case, query=query, key=key, value=value))


def _backward_pass(trace: Trace, case: Case, dtype: str) -> tuple[Array, Array, Array]:
    """The gradients of query, key and value.

    With G the incoming gradient, P the weights: dV = P' G, dP = G V', and dS = P (dP - row sums of
    P dP) for the scores, times the derivative of the softcap and the scale; dQ = dS K, dK = dS' Q.
    """
    incoming_bhqv = _incoming_gradient(case)
    weights_bhqk = trace.weights.astype(np.float64)
    towards_bhqk = _product(incoming_bhqv, trace.value.swapaxes(-1, -2), dtype)
    mean_bhq1 = (weights_bhqk * towards_bhqk).sum(axis=-1, keepdims=True)
    scores_bhqk = weights_bhqk * (towards_bhqk - mean_bhq1)
    if case.softcap:
        scores_bhqk = scores_bhqk * (1 - (trace.capped / case.softcap) ** 2)
    scores_bhqk = as_dtype(scores_bhqk * score_scale(case), dtype)
    query = _product(scores_bhqk, trace.key, dtype)
    key = _product(scores_bhqk.swapaxes(-1, -2), trace.query, dtype)
    value = _product(weights_bhqk.swapaxes(-1, -2), incoming_bhqv, dtype)
    groups = case.key.shape[1]
    return query, _group_sums(key, groups), _group_sums(value, groups)


def _product(one: Array, other: Array, dtype: str) -> Array:
    working = np.float32 if dtype == "float32" else np.float64
    return as_dtype(one.astype(working) @ other.astype(working), dtype)


def _group_sums(array_bhkd: Array, groups: int) -> Array:
    """The sum over the query heads that share a key head."""
    b, h, k, d = array_bhkd.shape
    return np.asarray(array_bhkd.reshape(b, groups, h // groups, k, d).sum(axis=2))

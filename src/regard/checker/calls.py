"""Calls of the function under test, and the trials and candidates made of them.

A ``Callee`` is the function under test as the rest of the checker sees it: it takes a ``Call`` of
NumPy arrays and returns a ``CallResult`` of them. ``LocalFunction`` calls it in this process; the
one of ``sandbox`` calls it in another. A ``Trial`` is one such call; a ``Candidate`` is a calling
convention with all of its trials.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from regard.checker.adapters import as_float64, native
from regard.checker.cases import (
    PROBE_SIZES,
    PROBES,
    SIZES_ASCENDING,
    TOKENS_AS_FEATURES,
    Case,
    Probe,
    Sizes,
)
from regard.checker.compare import (
    UNKNOWN_KIND,
    agrees,
    agrees_roughly,
    empty_elements,
    exact_reference,
    exact_trace,
    result_kinds,
    rounded,
)
from regard.checker.conventions import (
    PAD_FORMS,
    PAD_SHAPES,
    WINDOW_FORMS,
    CallingConvention,
    mask_shapes,
)
from regard.checker.kernel_forms import PackedAttention
from regard.checker.mistakes import Mistake
from regard.checker.prepare import Features, PreparedFunction, prepare_traced
from regard.textbook.stages import SPECIFICATION, Stages
from regard.typing import Array

Explanation = tuple[tuple[Mistake, ...], Stages]
MAX_ERROR_LETTERS = 140
MAX_SHORT = 2**10  # weights of one head
MAX_KERNEL_SIZES = 3  # that are answered, of each question


@dataclass(frozen=True)
class CallResult:
    """The returned arrays as float64, or the error.

    ``changed`` are the roles of the inputs that the call wrote into. ``has_complex``: some array
    was complex, and ``arrays`` has the real parts alone. ``refused``: why it has no gradient.
    """

    arrays: tuple[Array, ...] = ()
    changed: tuple[str, ...] = ()
    error: str = ""
    has_complex: bool = False
    refused: str = ""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple(array.shape for array in self.arrays)


@dataclass(frozen=True)
class Call:
    """The arguments of one call, by role, as NumPy arrays; ``main`` are the roles of the arrays.

    ``leading`` are passed by position, the rest under the names of ``names``.
    """

    library: str
    dtype: str
    values: dict[str, Any]
    main: tuple[str, ...]
    leading: tuple[str, ...]
    names: dict[str, str]

    def arguments(self) -> tuple[dict[str, Any], list[Any], dict[str, Any]]:
        """All arrays by role, the main ones first, then the arguments: by position, and by name."""
        values = {x: _to_library(v, self.library, self.dtype) for x, v in self.values.items()}
        arrays = {role: values[role] for role in self.main}
        arrays |= {x: v for x, v in values.items() if isinstance(self.values[x], np.ndarray)}
        leading = [values.pop(role) for role in self.leading if role in values]
        return arrays, leading, {self.names[role]: value for role, value in values.items()}


class Callee(Protocol):
    """The function under test, wherever it runs."""

    @property
    def is_packed(self) -> bool:
        """Whether it takes packed sequences."""

    def traced(self, dtype: str) -> PreparedFunction | None:
        """The function as a trace of it shows it; None where that shows no attention."""

    def call(self, call: Call) -> CallResult:
        """Its results with fresh copies of the arguments; an exception becomes the error."""

    def gradients(self, call: Call, index: int, incoming: Array) -> CallResult:
        """The gradients of the main arrays that PyTorch computes, from that of one result."""

    def sequences(
        self, sequences: Any, options: dict[str, Any], library: str, dtype: str
    ) -> CallResult:
        """The outputs of a packed function for sequences of query, key and value."""


@dataclass(frozen=True, eq=False)
class LocalFunction:
    """A function under test that runs in this process."""

    function: Any

    @property
    def is_packed(self) -> bool:
        return isinstance(self.function, PackedAttention)

    def traced(self, dtype: str) -> PreparedFunction | None:
        try:
            prepared = prepare_traced(self.function, dtype)
        except Exception:  # whatever the function leads to
            return None
        return replace(prepared, function=LocalFunction(prepared.function))

    def call(self, call: Call) -> CallResult:
        try:
            arrays, leading, keywords = call.arguments()
            before = {role: as_float64(array) for role, array in arrays.items()}
            with quietly(call.library):
                returned = self.function(*leading, **keywords)
                parts = returned_arrays(returned)
                has_complex = any("complex" in str(getattr(x, "dtype", "")) for x in parts)
                real = [part.real if has_complex else part for part in parts]
                arrays_back = tuple(as_float64(part) for part in real)
        except Exception as error:
            return CallResult(error=one_line(error))
        if not arrays_back:
            return CallResult(error=f"it returned {type(returned).__name__}, not an array")
        changed = [r for r, a in arrays.items() if not np.array_equal(as_float64(a), before[r])]
        return CallResult(arrays_back, tuple(changed), has_complex=has_complex)

    def gradients(self, call: Call, index: int, incoming: Array) -> CallResult:
        import torch

        try:
            given, leading, keywords = call.arguments()
            arrays = {role: given[role] for role in call.main}
            for array in arrays.values():
                array.requires_grad_()
            with quietly("torch", gradients=True), torch.enable_grad():
                output = returned_arrays(self.function(*leading, **keywords))[index]
                if not output.requires_grad:
                    return CallResult(refused="its output has no gradient")
                start = native(incoming, "torch", call.dtype)
                inputs = list(arrays.values())
                grads = torch.autograd.grad(output, inputs, start, allow_unused=True)
        except Exception as error:
            return CallResult(error=one_line(error))
        missing = [name for name, grad in zip(arrays, grads, strict=True) if grad is None]
        if missing:
            return CallResult(error=f"no gradient of {missing[0]}")
        return CallResult(tuple(as_float64(grad) for grad in grads))

    def sequences(
        self, sequences: Any, options: dict[str, Any], library: str, dtype: str
    ) -> CallResult:
        converted = [tuple(native(a, library, dtype) for a in some) for some in sequences]
        try:
            with quietly(library):
                output = self.function.sequences(converted, options)
                return CallResult(tuple(as_float64(one) for one in output))
        except Exception as error:
            return CallResult(error=one_line(error))


@dataclass(frozen=True, eq=False)
class Trial:
    """One call: the probe, its input in one calling convention, the result and its kinds."""

    probe: Probe
    sizes: Sizes
    case: Case
    result: CallResult
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class BoundFunction:
    """The function under test with one calling convention.

    ``trials`` holds the trials made so far, by call and by meaning. Conventions that differ only in
    the meaning of masks and of word order share it, so that equal calls are made once.
    """

    function: Callee
    convention: CallingConvention
    trials: dict[tuple[Any, ...], dict[Any, Trial | None]] = field(default_factory=dict)
    sizes: tuple[Sizes, ...] = ()  # other than those of the probes

    def with_convention(self, convention: CallingConvention) -> BoundFunction:
        """The same function called in another way, with the same memory of trials."""
        return replace(self, convention=convention)

    def fit(self, probe: Probe, sizes: Sizes) -> Case | None:
        """The probe's input at these sizes; None where the convention cannot express it."""
        case = self.convention.fit(probe.build(sizes))
        return None if case is None else rounded(case, self.convention.dtype)

    def call(self, case: Case) -> CallResult:
        return self.function.call(self.arguments(case))

    def arguments(self, case: Case) -> Call:
        convention, roles = self.convention, self.convention.roles
        arrays = convention.arrays(case)
        values = convention.options(case) | arrays
        library, dtype = convention.library, convention.dtype
        names = roles.names | roles.sources
        return Call(library, dtype, values, tuple(arrays), roles.leading, names)

    def trial(self, probe: Probe, sizes: Sizes) -> Trial | None:
        """One trial, made once; None where this convention cannot express the probe."""
        call, meaning = self._trial_key(probe, sizes)
        made = self.trials.setdefault(call, {})
        if meaning not in made:
            made[meaning] = self._new_trial(probe, sizes, next(iter(made.values()), None))
        return made[meaning]

    def _trial_key(self, probe: Probe, sizes: Sizes) -> tuple[tuple[Any, ...], tuple[bool, bool]]:
        """What the call of a probe depends on, and what may be read into its result."""
        convention, used = self.convention, {*probe.needs, *self.convention.roles.required}
        call = (
            probe.name,
            sizes,
            (convention.mask_form, convention.mask_shape) if "mask" in used else (),
            (convention.pad_form, convention.pad_shape) if used & {"lengths", "padding"} else (),
            convention.scale_divides and "scale" in used,
            convention.window_form if "window" in used else "",
        )
        ordered = convention.always_causal or bool(used & {"causal", "window"})
        return call, (convention.always_causal, convention.queries_last and ordered)

    def _new_trial(self, probe: Probe, sizes: Sizes, known: Trial | None) -> Trial | None:
        case = self.fit(probe, sizes)
        if case is None or ("cache" in probe.needs and not case.cached):
            return None
        if known is not None:
            # The call was the same, but this convention reads another meaning into it.
            return replace(known, case=case)
        result = self.call(case)
        module = self.convention.reading is not None
        if case.cached and module and self._ignores_cache(case, result):
            return None
        kinds = () if result.error else result_kinds(self.convention, case, result.shapes)
        return Trial(probe, sizes, case, result, kinds)

    def _ignores_cache(self, case: Case, result: CallResult) -> bool:
        """Whether a module has a parameter for earlier keys and makes nothing of them."""
        without = self.call(replace(case, cached=0))
        pairs = zip(result.arrays, without.arrays, strict=False)
        return bool(result.arrays) and all(np.array_equal(one, two) for one, two in pairs)

    def probe_trials(self, probe: Probe) -> Iterator[Trial]:
        """The trials of one probe at every size that the convention can express.

        Of sizes of kernels it takes the first few that are answered, and the last for a long input.
        """
        is_long, answered = probe.name == "long", 0
        own = self.sizes[::-1] if is_long else self.sizes
        for sizes in own or probe.sizes:
            trial = self.trial(probe, sizes)
            if trial is None:
                continue
            yield trial
            answered += not trial.result.error
            if own and answered == (1 if is_long else MAX_KERNEL_SIZES):
                return

    def run_trials(self, features: Features, plain: bool = False) -> Candidate | None:
        """The trials of every probe that the features cover; None where all raise exceptions.

        ``plain``: only those without masks and other features.
        """
        trials: list[Trial] = []
        for probe in PROBES:
            if not features.covers(probe, self.convention) or (plain and probe.needs):
                continue
            for trial in self.probe_trials(probe):
                trials.append(trial)
                if not trial.result.error and not probe.every_size:
                    break
        first = next((trial for trial in trials if not trial.result.error), None)
        return None if first is None else Candidate(self, tuple(trials), first.kinds, features)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A calling convention that gives results, its trials, and the kind of each result."""

    bound: BoundFunction
    trials: tuple[Trial, ...]
    kinds: tuple[str, ...]
    features: Features = field(default_factory=Features)

    @property
    def convention(self) -> CallingConvention:
        return self.bound.convention

    @cached_property
    def successful(self) -> list[Trial]:
        return [trial for trial in self.trials if not trial.result.error]

    @cached_property
    def judged(self) -> list[Trial]:
        """The successful trials in which every row may see something."""
        return [trial for trial in self.successful if not trial.probe.is_about_empty_rows]

    @cached_property
    def plain(self) -> list[Trial]:
        """The successful trials without masks and other features."""
        return [trial for trial in self.successful if not trial.probe.needs]

    @cached_property
    def departing(self) -> list[Trial]:
        """The judged trials whose results are wrong, the shortest first."""
        wrong = [trial for trial in self.judged if not self.explains(SPECIFICATION, [trial])]
        return sorted(wrong, key=lambda trial: trial.sizes.q * trial.sizes.k > MAX_SHORT)

    @cached_property
    def agreeing(self) -> list[Trial]:
        return [trial for trial in self.judged if trial not in self.departing]

    @cached_property
    def plainly_right(self) -> bool:
        """Whether every result without masks and other features is right."""
        return bool(self.plain) and not any(trial in self.departing for trial in self.plain)

    @property
    def refused(self) -> frozenset[str]:
        """The probes that raised an exception at every size."""
        probes = {trial.probe.name for trial in self.trials}
        return frozenset(probes - {trial.probe.name for trial in self.successful})

    @property
    def regular(self) -> bool:
        """Whether it answers at other sizes than the one with as many tokens as features."""
        return any(trial.sizes != TOKENS_AS_FEATURES for trial in self.plain)

    @cached_property
    def unanswered(self) -> frozenset[str]:
        """The features that must be answered, and are not by any result of the usual kinds."""
        answered = {
            need
            for trial in self.successful
            if len(trial.result.arrays) == len(self.kinds) and self._has_usual_kind(trial)
            for need in trial.probe.needs
        }
        return self.features.required(self.convention) - answered

    @property
    def understood(self) -> bool:
        """Whether every feature is answered, with results of the usual kinds."""
        if self.kinds[0] == UNKNOWN_KIND or self.unanswered:
            return False
        return all(self._has_usual_kind(trial) for trial in self.judged)

    @property
    def roughly_right(self) -> bool:
        """Whether every result from moderate scores is right to the digits of 16 bits."""
        moderate = [trial for trial in self.judged if "large" not in trial.probe.name]
        return bool(moderate) and all(
            agrees_roughly(self.convention, trial.case, trial.result.arrays, self.kinds)
            for trial in moderate
        )

    def _has_usual_kind(self, trial: Trial) -> bool:
        if trial.sizes == TOKENS_AS_FEATURES or self.kinds[0] == UNKNOWN_KIND:
            return True
        return trial.kinds[0] == self.kinds[0]

    def explains(self, stages: Stages, trials: list[Trial]) -> bool:
        return all(
            agrees(stages, self.convention, trial.case, trial.result.arrays, self.kinds)
            for trial in trials
        )

    def explained_by(self, stages: Stages) -> bool:
        if stages is SPECIFICATION:
            return bool(self.judged) and not self.departing
        # The departing ones first: they rule out most explanations.
        return self.explains(stages, self.departing) and self.explains(stages, self.agreeing)

    def first_explanation(self, explanations: list[Explanation]) -> Explanation | None:
        return next((one for one in explanations if self.explained_by(one[1])), None)

    def cases(self, probe: Probe) -> Iterator[Case]:
        """The probe's inputs, the smallest first."""
        unasked = "cache" in probe.needs and all(t.probe is not probe for t in self.trials)
        if unasked or not self.features.covers(probe, self.convention):
            return
        answered = [trial.sizes for trial in self.successful if trial.probe.name == probe.name]
        own = (answered or self.bound.sizes[:MAX_KERNEL_SIZES]) if self.bound.sizes else ()
        ascending = (*SIZES_ASCENDING, *(own or probe.sizes[:1]))
        for sizes in ascending if probe.sizes is PROBE_SIZES else own or probe.sizes:
            case = self.bound.fit(probe, sizes) if not probe.needs or sizes.k > 1 else None
            if case is not None:
                yield case

    def expected(self, case: Case) -> dict[str, Array]:
        return self.convention.expected(exact_trace(case))

    def returned(self, case: Case) -> dict[str, Array] | None:
        """The arrays that the function returns for a case, by kind; None where it raises."""
        result = self.bound.call(case)
        if result.error or len(result.arrays) != len(self.kinds):
            return None
        return dict(zip(self.kinds, result.arrays, strict=True))

    def returned_for(self, probe: Probe, case: Case) -> dict[str, Array] | None:
        """As ``returned``, with the right numbers in empty rows unless the probe asks about them.

        A row that may see nothing is judged on its own, by the probes of empty rows.
        """
        arrays = self.returned(case)
        if arrays is None or probe.is_about_empty_rows:
            return arrays
        empty = empty_elements(exact_reference(case), self.convention)
        exact = self.expected(case) if empty else {}
        return {
            kind: np.where(empty[kind], exact[kind], array)
            if kind in empty and array.shape == exact[kind].shape
            else array
            for kind, array in arrays.items()
        }


def working_layouts(
    function: Callee, conventions: list[CallingConvention], sizes: tuple[Sizes, ...] = ()
) -> tuple[list[Candidate], list[tuple[CallingConvention, str]]]:
    """The conventions that give any plain result, and the errors of the others."""
    working, refused = [], []
    for convention in conventions:
        bound = BoundFunction(function, convention, sizes=sizes)
        candidates = [_plain_candidate(bound.with_convention(c)) for c in _mask_forms(convention)]
        answering = [c for c in candidates if c.successful]
        if answering:
            usual = [c for c in answering if c.kinds[0] != UNKNOWN_KIND]
            working.append((usual or answering)[0])
        elif candidates[0].trials:
            refused.append((convention, candidates[0].trials[0].result.error))
    # Where only as many tokens as features fit, the axes were probably misread.
    working.sort(key=lambda c: not c.regular)
    return working, refused


def _mask_forms(convention: CallingConvention) -> list[CallingConvention]:
    """The convention, or one for each form of a mask or window that the function requires."""
    required, made = convention.roles.required, [convention]
    if "window" in required:
        made = [replace(convention, window_form=form) for form in WINDOW_FORMS]
    if "mask" in required:
        forms = ("added",) if convention.roles.added else ("bool", "added")
        shapes = mask_shapes(convention.batched, convention.headed, convention.tokens_first)
        made = [replace(c, mask_form=form, mask_shape=shape)
                for c in made for shape in shapes for form in forms]  # fmt: skip
    if "padding" in required:
        made = [replace(c, pad_form=form, pad_shape=shape)
                for c in made for shape in PAD_SHAPES for form in PAD_FORMS[:2]]  # fmt: skip
    return made


def _plain_candidate(bound: BoundFunction) -> Candidate:
    trials = tuple(bound.probe_trials(PROBES[0]))
    kinds = next((trial.kinds for trial in trials if not trial.result.error), ())
    return Candidate(bound, trials, kinds)


def _to_library(option: Any, library: str, dtype: str) -> Any:
    if isinstance(option, np.ndarray):
        return native(option, library, dtype)
    if isinstance(option, tuple) and any(isinstance(x, np.ndarray) for x in option):
        return tuple(_to_library(x, library, dtype) for x in option)
    return option


def returned_arrays(returned: Any) -> list[Any]:
    """The arrays among the returned objects; pairs of cached keys and values are left out."""
    if returned is None or isinstance(returned, str):
        return []
    if isinstance(returned, dict):
        returned = tuple(returned.values())
    if isinstance(returned, list):
        returned = np.asarray([np.asarray(part) for part in returned])
        if returned.dtype.kind != "c":
            returned = returned.astype(np.float64)
    parts = returned if isinstance(returned, tuple) else (returned,)
    return [part for part in parts if part is not None and _is_array(part)]


def _is_array(part: Any) -> bool:
    return not isinstance(part, (tuple, dict)) and bool(np.ndim(part) > 0)


@contextlib.contextmanager
def quietly(library: str, gradients: bool = False) -> Iterator[None]:
    """A context without warnings and printed lines, and without gradients unless asked for."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(np.errstate(all="ignore"))
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        if library == "torch" and not gradients:
            import torch

            stack.enter_context(torch.no_grad())
        yield


def one_line(error: Exception) -> str:
    """An exception as one line of a report."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:MAX_ERROR_LETTERS]}"

"""regard.check: the verdict on a function that should be attention, and its first wrong step.

The module docstring of ``explain`` describes the five steps of a check; this one runs them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from regard.arguments import unexpected_keyword
from regard.checker.adapters import DEVICE, on_device
from regard.checker.calls import (
    Candidate,
    Explanation,
    LocalFunction,
    one_line,
    quietly,
    working_layouts,
)
from regard.checker.cases import KERNEL_SIZES, PROBE_BY_NAME, PROBES, Sizes, seeded
from regard.checker.compare import (
    UNKNOWN_KIND,
    Reference,
    differ,
    empty_elements,
    exact_trace,
    largest_gap,
    tolerance,
)
from regard.checker.confirm import NOT_BY_WORD, ask_again
from regard.checker.conventions import DTYPES, MASK_FORMS, MIXED_POSITIONS
from regard.checker.example import Example
from regard.checker.explain import (
    CERTAIN,
    CORRECT,
    INVERTED_MASK,
    LIKELY,
    NAMELESS,
    Verdict,
    explain,
    explain_for_equal_lengths,
    explain_grouped_heads,
)
from regard.checker.mistakes import FEATURE_MISTAKES, single_mistakes
from regard.checker.mistakes.entry import run_stages
from regard.checker.prepare import (
    Features,
    PreparedFunction,
    describe,
    library_of,
    library_order,
    prepare,
    read_features,
    read_signature,
)
from regard.checker.properties import (
    batch_independence,
    causality,
    matches_specification,
    permutation_of_keys,
    precision,
    rows_sum_to_one,
)
from regard.checker.report import (
    ATTENTION,
    CONTRACTS,
    FAIL,
    PASS,
    RIGHT,
    TEXTBOOK,
    UNKNOWN,
    UNLESS_EMPTY,
    WRONG,
    Departure,
    Finding,
    Report,
)
from regard.checker.signatures import function_parameters, operator_schema
from regard.checker.structure import Structure, understand
from regard.checker.verdict import (
    CONDUCT,
    ON_PURPOSE,
    hold_to_textbook,
    named_choices,
    weigh,
    without_guesses,
)
from regard.errors import ArgumentError, count

RESULTS_DIFFER = "results that differ between two calls"
INPUTS_CHANGED = "inputs changed in place"
NO_MAXIMUM = "no maximum subtracted"
COMPLEX_RESULT = "complex numbers returned"
EMPTY_ROW_NAN = "a row that may see nothing gives NaN"
EMPTY_ROW_UNIFORM = "a row that may see nothing gives a uniform row"
REPEATED_CALLS = 3
MIXED_ROTATIONS = "rotary pairs and halves mixed"
MAX_REASONS = 3
SIZE_PATTERN = r"(?i)multiple|divi|power of|block|assert|must be|support|seqlen|head.?dim|%"
# Errors that arrays of another shape would not have spared.
WHATEVER_THE_SHAPE = ("it returned", "NotImplementedError", "NameError", "UnboundLocalError",
                      "ModuleNotFoundError")  # fmt: skip
HOW_TO_WRAP = (
    "Say how it is called with --signature 'q k v as bhtd', or add a function to the file and "
    "check that: def attention(q, k, v): return {name}(...)  # arrays (batch, head, token, feature)"
)


def check(
    function: Callable[..., Any] | str,
    *example: Any,
    like: str = "auto",
    signature: str = "auto",
    features: str | Iterable[str] = "auto",
    dtype: str = "auto",
    device: str = "cpu",
    strict: bool = False,
    seed: int = 0,
    **arguments: Any,
) -> Report:
    """Check a function that should be attention, and name its first wrong step.

    Parameters
    ----------
    function : callable or str
        A function of (q, k, v), (q, k, v, mask), (x, w_q, w_k, w_v) or x, or a PyTorch module or
        class; it may take NumPy, PyTorch or JAX arrays with any usual order of axes. A str
        'file.py:function' is run in another process, as by the command.
    *example, **arguments
        One call that works: check(module, x, context=c). Without it a call is looked for.
    like : str
        "textbook": every difference from the textbook is a mistake, as for a plain function of
        query, key and value; "attention": only what no attention does; "auto": by what it is.
    signature : str
        "q k v", "q k v mask", "x w_q w_k w_v" or "x", with or without axes: "q k v as bthd".
    features : str or iterable of str
        What the parameters do not show, such as ("causal",) or ("no empty rows",).
    dtype : str
        float64, float32, float16 or bfloat16; by default the widest that the function takes.
    device : str
        Where PyTorch's tensors are put, such as "cuda".
    strict : bool
        Whether a row that may see nothing must give zeros.
    seed : int
        Random seed of the inputs, e.g. one per student.

    Examples
    --------
    >>> import numpy as np
    >>> def attention(q, k, v):
    ...     scores = q @ k.swapaxes(-1, -2)
    ...     e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    ...     return e / e.sum(axis=-1, keepdims=True) @ v
    >>> check(attention).mistakes
    ('no scaling',)
    """
    claimed = read_options(features, dtype, seed, like)
    options: dict[str, Any] = {
        "signature": signature,
        "dtype": dtype,
        "device": device,
        "strict": strict,
        "seed": seed,
        "like": like,
    }
    if isinstance(function, str):
        return _check_file(function, features=features, **options)
    call = _example(function, example, arguments)
    report = _asked(function, call, claimed, **options)
    if call is None or report.right:
        return report
    return without_guesses(report, _asked(function, None, claimed, **options))


def _asked(
    function: Any,
    call: Example | None,
    claimed: Features,
    *,
    signature: str,
    dtype: str,
    device: str,
    strict: bool,
    seed: int,
    like: str,
) -> Report:
    """The report on a function that runs in this process, with an example call or without."""
    name = function_name(function)
    try:
        read_signature(signature)
    except ArgumentError as error:
        return Report(name, UNKNOWN, tried=(str(error),))
    with on_device(device):
        try:
            prepared = prepare(function, signature, dtype, call)
            ready = replace(prepared, function=LocalFunction(prepared.function))
            report = check_prepared(ready, name, claimed, seed=seed, strict=strict)
            roles = prepared.roles.names
        except ArgumentError as error:
            report, roles = Report(name, UNKNOWN, tried=(str(error),)), {}
        except Exception as error:  # of the code under test, wherever it comes out
            report, roles = Report(name, UNKNOWN, tried=(one_line(error),)), {}
        own = own_words(function)
        structure = None
        if is_worth_asking(report):
            structure = structure_of(function, call, library_used(report))
    return give_verdict(report, structure, own, roles, like)


def give_verdict(
    report: Report,
    structure: Structure | None,
    own: tuple[bool, frozenset[str]],
    options: Mapping[str, str],
    like: str,
) -> Report:
    """The report of both witnesses, held to the contract that is asked for."""
    contract = CONTRACTS[like] or (ATTENTION if own[0] else TEXTBOOK)
    strictly = like == "textbook"
    named = frozenset() if strictly else own[1] | ON_PURPOSE
    needed = own[0] and report.library == "torch" and DEVICE.get() == "cpu"
    report = weigh(report, structure, contract=contract, named=named, options=options,
                   needs_structure=needed, is_function=not own[0], strictly=strictly)  # fmt: skip
    return hold_to_textbook(report) if like == "textbook" else report


def own_words(function: Any) -> tuple[bool, frozenset[str]]:
    """Whether this is a layer and no plain function, and the choices that it speaks of."""
    has_state = bool(getattr(function, "__dict__", None)) and operator_schema(function) is None
    is_function = hasattr(function, "__code__") or hasattr(function, "__wrapped__")
    layer = isinstance(function, type) or (has_state and not is_function)
    return layer, named_choices(function)


def library_used(report: Report) -> str:
    """The library in which the probes got answers, or ''."""
    return report.library if report.verdict != UNKNOWN else ""


def structure_of(function: Any, example: Example | None, library: str = "") -> Structure | None:
    """The structure of code, whose library may be known; None where there is none to be found."""
    if DEVICE.get() != "cpu":
        return None
    kinds = function.__mro__ if isinstance(function, type) else type(function).__mro__
    module = any(kind.__module__.startswith("torch.nn.modules") for kind in kinds)
    library = "torch" if module else library or library_order(function)[0]
    if example is not None and not module:
        library = library_of(example) or library
    try:
        with quietly(library, gradients=True):
            return understand(function, example, library)
    except Exception:  # whatever the code does in a call that had to be invented
        return None


def is_worth_asking(report: Report) -> bool:
    """Whether the structure can add to a verdict: not where results come and go."""
    return report.confidence != CERTAIN or not CONDUCT.intersection(report.mistakes)


def _example(function: Any, example: tuple[Any, ...], arguments: dict[str, Any]) -> Example | None:
    """The example call; a keyword that nobody takes is a TypeError."""
    if not example and arguments:
        names = [p.name for p in inspect.signature(check).parameters.values()]
        taken = {p.name for p in function_parameters(function)}
        unknown = [name for name in arguments if name not in taken]
        if unknown and not isinstance(function, type):
            raise TypeError(unexpected_keyword("check", unknown[0], names[2:-1]))
    return Example(example, arguments) if example or arguments else None


def _check_file(target: str, **options: Any) -> Report:
    """The report on 'file.py:function', which is run in another process."""
    from regard.checker.sandbox import Limits, check_apart

    if ":" not in target:
        raise ArgumentError(
            f"function must be a function, or a file and a function such as mine.py:attention, "
            f"got {target!r}."
        )
    return check_apart(target, options, Limits())


def read_options(
    features: str | Iterable[str], dtype: str, seed: int, like: str = "auto"
) -> Features:
    """The claimed features; options that cannot be used are an ArgumentError."""
    if like not in CONTRACTS:
        raise ArgumentError(f"like must be one of {', '.join(CONTRACTS)}, got {like!r}.")
    if dtype not in ("auto", *DTYPES):
        raise ArgumentError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}.")
    if seed < 0:
        raise ArgumentError(f"seed must be 0 or more, got {seed}.")
    return read_features(features)


def function_name(function: Any) -> str:
    """The name of a function or operator, or of the class of an object."""
    schema = operator_schema(function)
    if schema is not None:
        return str(schema.name.rpartition(":")[2])
    return str(getattr(function, "__name__", type(function).__name__))


def check_prepared(
    prepared: PreparedFunction,
    name: str,
    claimed: Features,
    *,
    seed: int = 0,
    strict: bool = False,
    fresh_seed: int | None = None,
) -> Report:
    """The report on a function that is already prepared.

    With ``fresh_seed`` a function that is right is asked everything again with other numbers.
    """
    with seeded(seed):
        report = _first_verdict(prepared, name, prepared.merge_claims(claimed), fresh_seed)
    return report.strictly() if strict else report


def _first_verdict(
    prepared: PreparedFunction, name: str, features: Features, fresh_seed: int | None
) -> Report:
    """The verdict in the first library and dtype that gives results, or what was tried."""
    tried: dict[tuple[str, str, str], str] = {}
    for variant, sizes in _ways_to_ask(prepared, tried):
        for conventions in variant.groups():
            working, refused = working_layouts(variant.function, conventions, sizes)
            if working:
                return judge(variant, name, working, features, fresh_seed)
            for convention, why in refused:  # the same error in another dtype says nothing new
                key = (convention.library, convention.layout, why)
                tried.setdefault(key, describe(convention, name))
    return Report(name, UNKNOWN, tried=_reasons(name, tried))


def _ways_to_ask(
    prepared: PreparedFunction, tried: Collection[tuple[str, str, str]], dtype: str = "auto"
) -> Iterator[tuple[PreparedFunction, tuple[Sizes, ...]]]:
    """The function, with a mask in every call where None raises, and with sizes of kernels.

    ``tried`` is filled meanwhile: only refusals that speak of sizes lead to those of kernels.
    """
    yield prepared, ()
    roles = prepared.roles
    optional = [role for role in ("mask", "padding") if roles.has(role)]
    if optional and not set(optional) <= set(roles.required):
        required = replace(roles, required=(*roles.required, *optional))
        yield replace(prepared, roles=required), ()
    if len({why for _, _, why in tried}) > 1 or any(re.search(SIZE_PATTERN, x[2]) for x in tried):
        yield prepared, KERNEL_SIZES
    if prepared.reading is None:
        traced = prepared.function.traced(dtype)
        if traced is not None:
            yield traced, ()


def _reasons(name: str, tried: dict[tuple[str, str, str], str]) -> tuple[str, ...]:
    """What was tried, each error once; one sentence where every call ended in the same."""
    errors = list(dict.fromkeys(why for _, _, why in tried))
    certain = [error for error in errors if error.startswith(WHATEVER_THE_SHAPE)]
    if len(errors) == 1 or certain:
        error = (certain or errors)[0]
        first = error.removeprefix("it ")
        return (f"{name} {'raises ' if first == error else ''}{first}",)
    by_error = {why: text for (_, _, why), text in reversed(tried.items())}
    reasons = [f"{by_error[why]}: {why}" for why in errors[:MAX_REASONS]]
    return (*reasons, HOW_TO_WRAP.format(name=name))


def judge(
    prepared: PreparedFunction,
    name: str,
    layouts: list[Candidate],
    features: Features,
    fresh_seed: int | None = None,
) -> Report:
    """The report on a function that gives results in these layouts."""
    if layouts[0].successful[0].result.has_complex:
        detail = "it returned complex numbers; attention of real numbers is real"
        sizes = layouts[0].successful[0].case.sizes.text
        found = Finding("real numbers", FAIL, detail, input=sizes)
        return _certainly_wrong(layouts[0], name, COMPLEX_RESULT, found)
    repeated = _repeat_calls(layouts[0])
    if repeated.status == FAIL:
        return _certainly_wrong(layouts[0], name, RESULTS_DIFFER, repeated)
    returned_input = _find_returned_input(layouts[0])
    if returned_input:
        sizes = layouts[0].successful[0].case.sizes.text
        same = Finding("values", FAIL, "what came back is what went in", input=sizes)
        return _certainly_wrong(layouts[0], name, returned_input, same)
    empty = _find_nothing(layouts[0])
    if empty:
        sizes = layouts[0].successful[0].case.sizes.text
        alike = Finding("values", FAIL, "every number that came back is alike", input=sizes)
        return _certainly_wrong(layouts[0], name, empty, alike)
    verdict = _explained(layouts, features)
    if verdict.explanation == CORRECT and verdict.candidate.convention.position in MIXED_POSITIONS:
        detail = "with every word the same, a score must depend on the distance of two words alone"
        found = Finding("rotary positions", FAIL, detail)
        return _certainly_wrong(verdict.candidate, name, MIXED_ROTATIONS, found)
    if verdict.explanation == CORRECT and verdict.missing:
        return _unanswered(prepared, name, verdict)
    verdict = explain_grouped_heads(verdict)
    findings = tuple(_findings(verdict, repeated))
    departing = verdict.candidate
    if verdict.explanation == CORRECT and fresh_seed is not None:
        fresh, finding = ask_again(verdict.candidate, fresh_seed)
        if finding.detail == NOT_BY_WORD:
            called = _describe_call(verdict.candidate, name)
            return Report(name, UNKNOWN, called=called, notes=prepared.notes, tried=(NOT_BY_WORD,))
        departing, findings = fresh or departing, (*findings, finding)
    mistakes = _mistake_names(verdict.explanation, findings)
    caveats = _empty_row_caveats(verdict.candidate, verdict.explanation)
    failed = [f for f in findings if f.status == FAIL and not (caveats and f.name == "empty rows")]
    wrong = verdict.explanation is None or bool(mistakes) or bool(failed)
    return Report(
        function=name,
        verdict=WRONG if wrong else UNLESS_EMPTY if caveats else RIGHT,
        mistakes=mistakes,
        called=_describe_call(verdict.candidate, name),
        findings=findings,
        notes=(*prepared.notes, *_notes(verdict, layouts)),
        confidence=_confidence(verdict, mistakes, wrong),
        others=verdict.others,
        caveats=caveats,
        departure=_first_departure(departing) if wrong else None,
        asked=tuple(_asked_steps(verdict.candidate)),
        facts=tuple(_facts(verdict)),
        library=verdict.candidate.convention.library,
    )


def _facts(verdict: Verdict) -> Iterator[str]:
    """What the answers showed: axes, order of words, and what masks mean."""
    convention = verdict.candidate.convention
    yield f"arrays {convention.axes}"
    if verdict.explanation is not None and not verdict.explanation[0] and convention.separate:
        yield "scale 1/√d" if not convention.roles.has("scale") else "scale from its argument"
    if convention.always_causal:
        yield "causal"
    if convention.roles.has("mask"):
        yield f"`{convention.roles.names['mask']}`: {MASK_FORMS[convention.mask_form]}"
    if convention.roles.has("padding"):
        yield f"`{convention.roles.names['padding']}`: {MASK_FORMS[convention.pad_form]}"


def _asked_steps(candidate: Candidate) -> Iterator[str]:
    """The steps of attention that a question was about, and that gave an answer."""
    needs = {need for trial in candidate.successful for need in trial.probe.needs}
    yield from ("scores", "softmax")
    if candidate.convention.always_causal or "causal" in needs:
        yield "causal mask"
    if needs & {"mask", "lengths", "window"}:
        yield "mask"
    if candidate.convention.headed:
        yield "heads"
    yield "result"


def _explained(layouts: list[Candidate], features: Features) -> Verdict:
    """The simplest explanation; else one for equal lengths."""
    verdict = explain(layouts, features)
    if verdict.explanation is None or _fails_otherwise(verdict):
        return explain_for_equal_lengths(layouts, features) or verdict
    return verdict


def _fails_otherwise(verdict: Verdict) -> bool:
    """Whether a function that gives every answer rightly is wrong for some other lengths."""
    convention = verdict.candidate.convention
    if verdict.explanation != CORRECT or not (convention.separate or convention.takes_context):
        return False
    probe = PROBE_BY_NAME["plain" if convention.separate else "mask"]
    return matches_specification(verdict.candidate, "values", [probe]).status == FAIL


def _certainly_wrong(candidate: Candidate, name: str, mistake: str, finding: Finding) -> Report:
    """The report on a mistake that is seen before any number is compared."""
    convention = candidate.convention
    called = describe(convention, name)
    return Report(name, WRONG, (mistake,), called, (finding,), confidence="certain",
                  library=convention.library)  # fmt: skip


def _unanswered(prepared: PreparedFunction, name: str, verdict: Verdict) -> Report:
    """The report on a function that is right, but whose features were never answered."""
    candidate = verdict.candidate
    names = ", ".join(sorted(verdict.missing))
    errors = {
        trial.result.error
        for trial in candidate.trials
        if trial.result.error and set(trial.probe.needs) & verdict.missing
    }
    why = (
        f"where it gave a result it is right, but no question about its {names} got one: "
        f"{'; '.join(sorted(errors)) or 'the calls gave nothing'}. Say what it takes with "
        f"signature and features, or leave it out with features=('no {min(verdict.missing)}',)."
    )
    called = _describe_call(candidate, name)
    return Report(name, UNKNOWN, called=called, notes=prepared.notes, tried=(why,))


def _repeat_calls(candidate: Candidate) -> Finding:
    """Determinism: more calls with the same input, equal but for rounding."""
    name = "determinism"
    trial = candidate.successful[0]
    exact = candidate.expected(trial.case)["output"]
    allowed = tolerance(trial.case, candidate.convention.dtype, exact)
    for _ in range(REPEATED_CALLS):
        again = candidate.bound.call(trial.case)
        for one, other in zip(trial.result.arrays, again.arrays, strict=False):
            if one.shape != other.shape or differ(other, one, allowed).any():
                sizes = trial.case.sizes.text
                return Finding(name, FAIL, "the same input gave another result", input=sizes)
    return Finding(name, PASS, "four calls, one result")


def _find_nothing(candidate: Candidate) -> str:
    """The mistake of a function whose results are all zeros, or all NaN, in any shape; or ''."""
    results = [array for trial in candidate.plain for array in trial.result.arrays[:1]]
    if all(not array.any() for array in results):
        return "output is zero everywhere"
    return "NaN everywhere" if all(np.isnan(array).all() for array in results) else ""


def _find_returned_input(candidate: Candidate) -> str:
    """The mistake of a function that returns its value or its query unchanged, or ''."""
    trials = [trial for trial in candidate.plain if trial.result.shapes]
    for role in ("value", "query", "x"):
        arrays = [candidate.convention.arrays(trial.case).get(role) for trial in trials]
        if trials and all(
            array is not None
            and trial.result.arrays[0].shape == array.shape
            and not differ(trial.result.arrays[0], array, 1e-6).any()
            for trial, array in zip(trials, arrays, strict=True)
        ):
            return f"{'query' if role == 'x' else role} returned unchanged"
    return ""


def _findings(verdict: Verdict, repeated: Finding) -> Iterator[Finding]:
    """Every property, in the order of the report."""
    candidate = verdict.candidate
    special = ("large scores", "empty rows", "grouped heads", "long")
    usual = [p for p in PROBES if not any(x in p.name or x in p.needs for x in special)]
    large = [p for p in PROBES if "large scores" in p.name]
    empty = [p for p in PROBES if p.is_about_empty_rows]
    grouped = [p for p in PROBES if p.name == "grouped heads"]
    yield matches_specification(candidate, "values", usual)
    yield rows_sum_to_one(candidate)
    yield causality(candidate)
    yield batch_independence(candidate)
    yield permutation_of_keys(candidate)
    yield matches_specification(candidate, "large scores", large)
    yield matches_specification(candidate, "long input", [p for p in PROBES if p.name == "long"])
    yield matches_specification(candidate, "empty rows", empty)
    yield matches_specification(candidate, "grouped heads", grouped)
    yield from _overflow(candidate)
    yield precision(candidate, verdict.explanation == CORRECT)
    yield repeated
    yield _inputs_unchanged(candidate)


def _overflow(candidate: Candidate) -> Iterator[Finding]:
    """A finding where large scores raise OverflowError: math.exp raises, np.exp gives inf."""
    for trial in candidate.trials:
        if "large" in trial.probe.name and trial.result.error.startswith("OverflowError"):
            detail = f"{trial.probe.name}: {trial.result.error}"
            yield Finding("overflow", FAIL, detail, input=trial.case.sizes.text)
            return


def _inputs_unchanged(candidate: Candidate) -> Finding:
    name = "inputs unchanged"
    for trial in candidate.successful:
        if trial.result.changed:
            detail = f"{', '.join(trial.result.changed)} had other numbers after the call"
            return Finding(name, FAIL, detail, input=trial.case.sizes.text)
    convention = candidate.convention
    if convention.roles.has("mask") and convention.mask_form == "bool":  # numbers may be kept
        bound = candidate.bound.with_convention(replace(convention, mask_form="ones"))
        result = next((x.result for x in bound.probe_trials(PROBE_BY_NAME["mask"])), None)
        if result is not None and result.changed:
            return Finding(name, FAIL, f"{result.changed[0]} of 0 and 1 had other numbers after")
    return Finding(name, PASS, count(len(candidate.successful), "call"))


def _mistake_names(
    explanation: Explanation | None, findings: tuple[Finding, ...]
) -> tuple[str, ...]:
    """The mistakes that explain the numbers, then those that only a property shows."""
    mistakes = [mistake.name for mistake in explanation[0]] if explanation else []
    failed = {finding.name for finding in findings if finding.status == FAIL}
    if "overflow" in failed and NO_MAXIMUM not in mistakes:
        mistakes.append(NO_MAXIMUM)
    if "inputs unchanged" in failed:
        mistakes.append(INPUTS_CHANGED)
    return tuple(mistakes)


def _empty_row_caveats(candidate: Candidate, explanation: Explanation | None) -> tuple[str, ...]:
    """What a function gives a row that may see nothing, where it is not zeros.

    A mistake of the mask itself leaves nothing to say about such rows.
    """
    if explanation is None or any(m.name in FEATURE_MISTAKES or m.unnamed for m in explanation[0]):
        return ()
    caveats = []
    for trial in candidate.successful:
        result = run_stages(explanation[1], trial.case)
        empty = empty_elements(Reference(result), candidate.convention)
        expected = candidate.convention.expected(result)
        for kind, array in zip(candidate.kinds, trial.result.arrays, strict=False):
            if kind not in empty or array.shape != expected[kind].shape:
                continue
            exact = expected[kind]
            allowed = tolerance(trial.case, candidate.convention.dtype, exact)
            if (differ(array, exact, allowed) & empty[kind]).any():
                gives_nan = np.isnan(array[empty[kind]]).any()
                caveats.append(EMPTY_ROW_NAN if gives_nan else EMPTY_ROW_UNIFORM)
    return tuple(dict.fromkeys(caveats))


def _confidence(verdict: Verdict, mistakes: tuple[str, ...], wrong: bool) -> str:
    """The confidence; a mask in which True is meant to hide gives what an inverted one gives."""
    if wrong and not mistakes:
        return NAMELESS
    return LIKELY if INVERTED_MASK in mistakes else verdict.confidence


def _first_departure(candidate: Candidate) -> Departure | None:
    """The first probe whose result is not the right one, and its largest difference."""
    for trial in candidate.judged:
        expected = candidate.convention.expected(exact_trace(trial.case))
        for kind, array in zip(candidate.kinds, trial.result.arrays, strict=False):
            exact = expected.get(kind)
            if exact is None:
                continue
            allowed = tolerance(trial.case, candidate.convention.dtype, exact)
            gap = largest_gap(array, exact, kind, allowed)
            if gap is not None and gap.index:
                return Departure(trial.probe.name, gap.element, gap.wrong, gap.right)
    return None


def _describe_call(candidate: Candidate, name: str) -> str:
    """How the function was called, and what it returned."""
    result = candidate.successful[0].result
    parts = (
        f"{'something' if kind == UNKNOWN_KIND else kind} {shape}"
        for kind, shape in zip(candidate.kinds, result.shapes, strict=True)
    )
    return f"{describe(candidate.convention, name)}; it returned {', '.join(parts)}"


def _notes(verdict: Verdict, layouts: list[Candidate]) -> Iterator[str]:
    candidate, convention = verdict.candidate, verdict.candidate.convention
    if convention.always_causal:
        yield "It always hides later words (causal)."
    causal = convention.always_causal or convention.roles.has("causal")
    cross = any(t.case.causal and t.sizes.q != t.sizes.k for t in candidate.successful)
    if causal and cross and not convention.roles.has("offset"):
        last = convention.queries_last
        corner = "last words (bottom right)" if last else "first words (top left)"
        yield f"With fewer queries than keys its causal mask takes the queries for the {corner}."
    if verdict.explanation is not None and not verdict.explanation[0]:
        yield from _other_layouts(candidate, layouts)
    if convention.separate and not convention.batched:
        yield f"It takes one sentence, {convention.axes}: no call with a batch of them succeeded."
    if convention.equal_lengths:
        masked = "With a mask it" if convention.takes_context else "It"
        yield f"{masked} is right for self-attention: as many queries as keys, and not otherwise."
    if convention.roles.has("scale") and convention.scale_divides:
        yield "Its scale is a divisor of the scores."
    if convention.gives_scores and UNKNOWN_KIND in candidate.kinds[1:]:
        yield "The scores that it returns besides the output were not judged."
    if candidate.refused:
        yield f"Not asked, since it ended in an exception: {', '.join(sorted(candidate.refused))}."


def _other_layouts(candidate: Candidate, layouts: list[Candidate]) -> Iterator[str]:
    """Notes on layouts with more axes, in which a right function is something else."""
    for other in layouts:
        if other.convention.rank > candidate.convention.rank:
            explanation = other.first_explanation([CORRECT, *single_mistakes()])
            if explanation is None or explanation[0]:
                what = explanation[0][0].name if explanation else "not attention"
                yield f"Called with axes {other.convention.layout} it answers too, but: {what}."

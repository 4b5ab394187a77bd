"""The verdict of two witnesses: the structure of the code, and the answers to today's probes.

A fault of either is wrong. What only departs from the textbook is a difference, and the probes,
which know nothing but the textbook, cannot blame a module for it. Right needs both, as far as each
can be asked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from regard.checker.report import (
    ATTENTION,
    FAIL,
    PASS,
    RIGHT,
    TEXTBOOK,
    UNKNOWN,
    WITH_DIFFERENCES,
    WRONG,
    Finding,
    Report,
)
from regard.checker.structure import Structure
from regard.checker.structure.names import documentation

# What the probes find out about options and conduct counts, whatever the structure is.
OF_OPTIONS = r"mask|pad|causal|window|len|cache|past|offset|softcap|row"
CONDUCT = frozenset(("inputs changed in place", "results that differ between two calls",
                     "complex numbers returned", "NaN everywhere",
                     "output is zero everywhere", "value returned unchanged",
                     "query returned unchanged"))  # fmt: skip
OPTIONS = frozenset(("mask", "padding", "lengths", "past key", "past pair"))
# What code seems to do whose axes were taken for others.
OF_AXES = frozenset(("sentences mixed", "heads and words mixed",
                     "words mixed before the attention", "heads joined in the wrong order",
                     "queries in another order than the words", "values depend on their place",
                     "keys and values of different words",
                     "rotary positions of query and key do not match"))  # fmt: skip
AXES_UNTOLD = "which axes of the example are sentences and words could not be told"
# Choices that nobody makes by accident: no mistake of a plain function either.
ON_PURPOSE = frozenset(("bias", "cap", "rotary", "gate", "mixed", "latents", "learned keys", "term",
                        "positions", "network", "cache"))  # fmt: skip
NO_PRODUCT = "scores are no multiple of query times key"
FRESH = "fresh inputs"
NO_MAXIMUM = "no maximum subtracted"
# Mistakes of the catalogue that are choices in a module: their kind and what is said of them.
CHOICES = {
    "no scaling": ("scale", "scores are not scaled"),
    "scaling by d": ("scale", "scores are divided by the width of a head, not by its root"),
    "scaling by the model width": ("scale", "scores are divided by the root of the model width"),
    "query and key normalised": ("normed", "query and key are normalised"),
    "1 added to the sum of the softmax": ("sink", "one is added to the sum of the softmax"),
    "input added to the output": ("residual", "the words are added to the output"),
    NO_MAXIMUM: ("maximum", "no maximum is subtracted: large scores overflow"),
}
ALONE = (
    "its answers are right, but what its inputs and parameters act on could not be asked: hand in "
    "one call that works, regard.check(layer, x) or --call."
)
CONTRADICTION = (
    "its answers are other than those of attention, and neither a known mistake nor what its "
    "inputs and parameters act on explains them."
)
UNUSUAL = "it is no softmax of queries times keys, as its own words say."
OTHER = "another way from scores to weights"
# Words of a docstring or of an argument that name a choice.
NAMED = {
    "scale": r"unscaled|not scaled|no scal|without (any )?scal|not divid|scale=1\b|temperature"
    r"|model width|d_model|\bt5\b|full width",
    "cap": r"\bcap|softcap|soft_cap|tanh",
    "sink": r"sink|softmax.?(one|1|plus)|off.by.one|quiet|one (is )?added|\+ ?1",
    "bias": r"bias|alibi|slope|relative|penalty|distance",
    "term": r"bias|relative|term",
    "normed": r"norm|cosine|unit length|\bl2\b",
    "norm": r"norm",
    "window": r"window|local|band|sliding|lookback|nearest",
    "pattern": r"block|chunk|stride|dilat|sparse|local|prefix|pattern",
    "gate": r"gat(e|ing)",
    "residual": r"residual|skip|added to (the )?(input|x)",
    "mixed": r"talking|mix",
    "learned keys": r"null|register|sink|learned",
    "latents": r"latent|learned|query",
    "rotary": r"rot|rope|position",
    "positions": r"position",
    OTHER: r"sigmoid|linear.?attention|relu|elu\b|performer|additive|bahdanau|differen(ce|tial)",
}


def named_choices(target: Any) -> frozenset[str]:
    """The kinds of choices that a function's docstring or arguments speak of."""
    code = getattr(target, "__code__", None)
    arguments = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount] if code else ()
    text = f"{documentation(target)} {' '.join(arguments)}"
    return frozenset(kind for kind, words in NAMED.items() if re.search(words, text))


def weigh(
    report: Report,
    structure: Structure | None,
    *,
    contract: str,
    named: Collection[str] = (),
    options: Mapping[str, str],
    needs_structure: bool = False,
    is_function: bool = False,
    strictly: bool = False,
) -> Report:
    """The report of both witnesses.

    ``named``: the kinds of choices that the code itself speaks of. ``options``: the names of its
    further arguments by role.
    ``needs_structure``: whether right answers alone are not enough. ``is_function``: whether it is
    no layer, so that mistakes which explain every answer are all that is wrong. ``strictly``: the
    structure adds faults alone.
    """
    report = replace(report, contract=contract)
    if structure is not None and _is_misread(report, structure):
        structure = None
    if structure is not None:
        texts = tuple(x.text for x in structure.differences)
        masks = tuple(x for x in report.facts if x.startswith("`"))
        report = replace(report, facts=(*structure.facts, *masks), differences=texts)
        if structure.faults:
            return _faulty(report, structure, _explained(report, named) if is_function else ())
    if report.verdict == WRONG and not _counts(report):
        made_up = "past key" in options  # what a cache holds, such as turned keys, is its own
        return _weigh_blame(report, structure, contract, named, made_up)
    if report.verdict == WRONG:
        return report
    if structure is None:
        alone = report.verdict == RIGHT and needs_structure
        return replace(report, verdict=UNKNOWN, tried=(ALONE,)) if alone else report
    if report.verdict == UNKNOWN and strictly:
        return _not_judged(report, structure)
    if report.verdict == UNKNOWN:
        return _weigh_silence(report, structure, named, options)
    return _with_differences(report)


def without_guesses(report: Report, alone: Report) -> Report:
    """The report on an example call, which is never worse than one without it.

    Its axes had to be guessed, so that what wrong axes would show is no fault.
    """
    left = tuple(name for name in report.mistakes if name not in OF_AXES)
    if left and len(left) < len(report.mistakes):
        left = tuple(name for name in left if name.endswith("never used"))
    if report.verdict == WRONG and left:
        return replace(report, mistakes=left)
    if report.verdict == UNKNOWN or alone.verdict != UNKNOWN:
        return report if alone.verdict == UNKNOWN else alone
    return replace(report, verdict=UNKNOWN, mistakes=(), confidence="", tried=(AXES_UNTOLD,))


def _is_misread(report: Report, structure: Structure) -> bool:
    """Whether right answers to batches show that the structure took other axes for sentences."""
    mixed = any(x.name == "sentences mixed" for x in structure.faults)
    apart = any(x.name == "batch independence" and x.status == PASS for x in report.findings)
    return mixed and apart and report.right


def _counts(report: Report) -> bool:
    """Whether the blame is about options or conduct, which the structure says nothing of."""
    return any(name in CONDUCT or re.search(OF_OPTIONS, name) for name in report.mistakes)


def _explained(report: Report, named: Collection[str]) -> tuple[str, ...]:
    """The mistakes that explain every answer, but for choices that the code speaks of."""
    if report.verdict != WRONG or report.confidence not in ("certain", "likely"):
        return ()
    return tuple(x for x in report.mistakes if CHOICES.get(x, ("",))[0] not in named)


def _faulty(report: Report, structure: Structure, explained: tuple[str, ...]) -> Report:
    """The report with the faults of the structure; names that the probes are sure of come first.

    Where the probes explain every answer, faults are consequences: a head that is cut wrongly looks
    as if its values were turned. Only what is never used has to be said besides.
    """
    if explained:
        unused = tuple(x for x in structure.faults if x.name.endswith("never used"))
        shown = tuple(Finding(x.name, FAIL, x.detail) for x in unused)
        return replace(report, mistakes=explained, findings=(*report.findings, *shown))
    found = tuple(fault.name for fault in structure.faults)
    sure = report.mistakes if report.verdict == WRONG and report.confidence == "certain" else ()
    kept = tuple(name for name in report.mistakes if re.search(OF_OPTIONS, name))
    names = tuple(dict.fromkeys((*sure, *found, *kept)))
    shown = tuple(Finding(x.name, FAIL, x.detail) for x in structure.faults)
    return replace(
        report,
        verdict=WRONG,
        mistakes=names,
        findings=(*shown, *report.findings),
        confidence="certain",
        others=(),
        tried=(),
    )


def _weigh_blame(
    report: Report,
    structure: Structure | None,
    contract: str,
    named: Collection[str],
    made_up: bool,
) -> Report:
    """Blame that may be about a choice: a difference where the contract leaves it to the author."""
    choices = [CHOICES[name] for name in report.mistakes if name in CHOICES]
    only_choices = bool(choices) and len(choices) == len(report.mistakes)
    if structure is None or structure.open:
        kinds = {kind for kind, _ in choices}
        allowed = contract == ATTENTION or kinds <= set(named)
        if only_choices and allowed:
            return _right(replace(report, differences=tuple(text for _, text in choices)))
        if OTHER in named and (not report.mistakes or report.confidence != "certain"):
            return _not_judged(replace(report, tried=(UNUSUAL,)), structure)
        nameless = (contract == ATTENTION or made_up) and not report.mistakes
        if structure is None and nameless:
            return _not_judged(replace(report, tried=(CONTRADICTION,)), structure)
        if structure is None or report.mistakes:
            return report
        if contract == TEXTBOOK and NO_PRODUCT in structure.open:  # both witnesses say so
            return report
        return _not_judged(report, structure)
    kinds = set(structure.kinds())
    explained = bool(kinds) or only_choices
    if only_choices and not kinds:
        report = replace(report, differences=tuple(text for _, text in choices))
    if contract == TEXTBOOK and not (kinds | {x for x, _ in choices}) <= set(named):
        return report
    if explained:
        return _right(report)
    first = report.departure.question if report.departure else ""
    is_long = first == "long"
    if not report.mistakes and (is_long or (structure.agrees and first == "plain")):
        # The numbers that were asked first got right answers, and others got wrong ones.
        known = is_long or any(x.name == FRESH for x in report.failed)
        if contract != TEXTBOOK or not known:
            return _not_judged(replace(report, tried=(CONTRADICTION,)), structure)
    return report


def _weigh_silence(
    report: Report, structure: Structure, named: Collection[str], options: Mapping[str, str]
) -> Report:
    """What the probes could not ask: right where the structure leaves nothing open."""
    told = structure.agrees and any(x.startswith("scale 1/√") for x in structure.facts)
    choices = structure.kinds() - frozenset(named)
    plain = report.contract == TEXTBOOK
    asked = {x.split("`")[1] for x in structure.facts if x.startswith("`")}
    left = [role for role, name in options.items() if role in OPTIONS and name not in asked]
    if structure.open or left or (plain and (choices or not told)):
        return _not_judged(report, structure)
    note = "It could be called in one way alone: other lengths and options were not asked."
    return _right(replace(report, notes=(*report.notes, note)))


def _not_judged(report: Report, structure: Structure | None) -> Report:
    return replace(
        report,
        verdict=UNKNOWN,
        mistakes=(),
        confidence="",
        others=(),
        departure=None,
        tried=(*report.tried, *(structure.open if structure else ())),
    )


def _right(report: Report) -> Report:
    """The report without the blame of probes that know the textbook alone."""
    findings = tuple(x for x in report.findings if x.status != FAIL)
    bare = replace(
        report,
        verdict=RIGHT,
        mistakes=(),
        findings=findings,
        confidence="",
        others=(),
        departure=None,
        tried=(),
    )
    return _with_differences(bare)


def _with_differences(report: Report) -> Report:
    if report.verdict == RIGHT and report.differences:
        return replace(report, verdict=WITH_DIFFERENCES)
    return report


def hold_to_textbook(report: Report) -> Report:
    """The report with differences counted as mistakes."""
    if report.verdict != WITH_DIFFERENCES:
        return report
    found = tuple(Finding("as in the textbook", FAIL, text) for text in report.differences)
    return replace(report, verdict=WRONG, findings=(*found, *report.findings), contract=TEXTBOOK)

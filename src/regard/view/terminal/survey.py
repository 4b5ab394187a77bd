"""Text of a survey: its size, the heads that stand out, and the path of its report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from regard.errors import count
from regard.heads.names import TARGETS
from regard.view.terminal.style import DEFAULT_WIDTH, TerminalStyle, printable

if TYPE_CHECKING:
    from regard.corpus.survey import Survey

HEADS_PER_ROLE = 3


def summary(survey: Survey) -> str:
    """A page of plain text, 80 columns."""
    report = survey.report
    if not report["corpus"]["documents"]:
        return "\n".join([*_wrapped(_read(report)), "", "No document was measured."])
    lines = [
        *_wrapped(_read(report)),
        "",
        *_roles(report),
        "",
        *_wrapped(_duplicates(report)),
        "",
        f"Look at it: {survey.folder / 'report.html'}",
    ]
    return "\n".join(lines)


def _read(report: dict[str, Any]) -> str:
    corpus = report["corpus"]
    text = (
        f"{count(len(report['heads']), 'head')} over {count(corpus['documents'], 'document')}, "
        f"{count(corpus['tokens'], 'token')}, read by {report['model']['about']}."
    )
    if corpus["cut"]:
        text += (
            f" {count(corpus['cut'], 'document')} longer than {report['model']['window']} tokens "
            f"cut into windows, {corpus['windows']:,} windows in all."
        )
    if corpus["failed"]:
        text += f" {corpus['failed']:,} could not be read: failed.parquet says why."
    return text


def _roles(report: dict[str, Any]) -> Iterator[str]:
    """Lines of the heads with the largest share, one for each measure."""
    yield "Heads that give most of their weight to (beside it: uniform attention)"
    for name, target in TARGETS.items():
        heads = report["ranked"][name][:HEADS_PER_ROLE]
        if heads:
            uniform = _head(report, heads[0])["measures"][name]["baseline"]
            shown = ", ".join(f"{_name(x)} {x['mean']:.0%}" for x in heads)
            yield from _wrapped(f"{target} ({uniform:.0%}): {shown}", indent="  ")


def _duplicates(report: dict[str, Any]) -> str:
    pairs = report["alike"]
    if not pairs:
        return (
            "No two heads duplicate each other (cosine of their weights beyond the first token "
            "0.9 or more)."
        )
    shown = ", ".join(f"{_name(x['one'])} and {_name(x['other'])}" for x in pairs[:HEADS_PER_ROLE])
    more = f" and {len(pairs) - HEADS_PER_ROLE} more pairs" if len(pairs) > HEADS_PER_ROLE else ""
    return f"Heads that duplicate each other: {shown}{more}."


def _name(head: dict[str, Any]) -> str:
    part = "" if head["part"] == "encoder" else f"{head['part']} "
    return f"{part}{head['layer']}.{head['head']}"


def _head(report: dict[str, Any], key: dict[str, Any]) -> dict[str, Any]:
    names = ("part", "layer", "head")
    head: dict[str, Any] = next(
        x for x in report["heads"] if all(x[name] == key[name] for name in names)
    )
    return head


def _wrapped(text: str, indent: str = "") -> list[str]:
    style = TerminalStyle(DEFAULT_WIDTH - len(indent))
    return [indent + line for line in style.wrap(printable(text), indent)]

"""The worksheet as HTML for A4: tables with boxes to fill in, questions, and the key."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from importlib.resources import files

from regard.textbook.why import BETWEEN_WORDS
from regard.view.page.single_file import single_file
from regard.view.worksheet.arithmetic import text
from regard.view.worksheet.blanks import WORKED, Blank, hidden
from regard.view.worksheet.worksheet import Worksheet


def document(sheet: Worksheet, *, answers: bool) -> str:
    """The worksheet in one HTML file, with or without its key."""
    folder = files("regard.view.worksheet")
    steps = f"<main>{''.join(_steps(sheet))}</main>"
    body = [_head(sheet), steps, _questions(sheet), *([_key(sheet)] if answers else [])]
    return single_file(
        (folder / "worksheet.html").read_text(encoding="utf-8"),
        style=(folder / "style.css").read_text(encoding="utf-8"),
        body="\n".join(body),
        title=f"Self-attention by hand: {sheet.title}",
    )


def _head(sheet: Worksheet) -> str:
    blanks = len(sheet.blanks)
    note = f"<p>{escape(sheet.note)}</p>" if sheet.note else ""
    return (
        '<header><p class="who">Name <span></span> Date <span></span></p>'
        f'<h1>Self-attention by hand</h1><p class="sentence" dir="auto">{escape(sheet.title)}</p>'
        f"{note}<p>Fill in the {blanks} numbered boxes, in order; a calculator helps with e and √. "
        f"{_rounding(sheet)} Go on with the rounded number: then your results are those of the "
        "key, to the last digit. Rows are queries (who looks), columns are keys (who is looked at)."
        "</p></header>"
    )


def _rounding(sheet: Worksheet) -> str:
    """The rule of rounding, in a sentence."""
    digits, finer = sheet.printed.digits, sheet.printed.highest_q is not None
    rest = f", but powers of e to {digits + 1}" if finer else ""
    return (
        f"Round each result to {_decimals(digits)}{rest} (a final 5 goes up, away from zero); "
        "whole numbers stay whole."
    )


def _decimals(digits: int) -> str:
    return f"{digits} decimal{'s' if digits > 1 else ''}"


def _steps(sheet: Worksheet) -> list[str]:
    """One numbered step after the other, each with the tables it needs."""
    printed, width = sheet.printed, sheet.width
    by = f"√{width}" if abs(printed.steps.scale - width**-0.5) < 1e-9 else ""
    scaled = f"Divide each score by {by}." if by else f"Multiply each by {printed.steps.scale:g}."
    steps = [
        ("Query, key and value", "Multiply x by each matrix.", ("query", "key", "value")),
        ("Scores", "query · key: multiply number by number and add up.", ("scores",)),
        ("Scaled", scaled, ("scaled",)),
        ("Powers of e", _powers(sheet), ("exponentials", "totals")),
        ("Weights", "Divide each power by its row's sum.", ("weights",)),
        ("Output", "weights · value, column by column.", ("output",)),
    ]
    given = {"query": ("x", "w_query", "w_key", "w_value"), "scores": ("query", "key", "value"),
             "scaled": ("scores", "value")}[printed.start]  # fmt: skip
    why = "" if printed.start != "scaled" else (
        f"Queries and keys have {width} numbers each here, too many to multiply by hand. So the "
        "scores are given, and of the values the first columns."
    )  # fmt: skip
    parts = [_section("Given", why, [_table(sheet, stage) for stage in given])]
    done = WORKED.index(printed.start)
    for title, how, stages in steps:
        if WORKED.index(stages[0]) >= done:
            tables = [_table(sheet, stage) for stage in stages if stage != "totals"]
            parts.append(_section(title, how, tables, len(parts)))
    return parts


def _powers(sheet: Worksheet) -> str:
    hidden_too = " A hidden word gets nothing: its power is 0." if _has_mask(sheet) else ""
    if sheet.printed.highest_q is None:
        return f"e to the power of each scaled score, then the sum of the row.{hidden_too}"
    return (
        "First take the row's highest scaled score away from each (the weights stay the same, and "
        f"no number gets huge), then e to that power, then the sum of the row.{hidden_too}"
    )


def _has_mask(sheet: Worksheet) -> bool:
    return sheet.printed.steps.masked is not None


def _section(title: str, how: str, tables: Iterable[str], number: int = 0) -> str:
    label = f"{number}. {title}" if number else title
    about = f"<p>{escape(how)}</p>" if how else ""
    return f"<section><h2>{escape(label)}</h2>{about}<div>{''.join(tables)}</div></section>"


def _table(sheet: Worksheet, stage: str) -> str:
    """A stage; boxes where the reader writes, the row's sum beside the powers of e."""
    printed = sheet.printed
    array, boxes = printed.array(stage), {(b.stage, b.row, b.column): b for b in sheet.blanks}
    between = stage in (*BETWEEN_WORDS, "exponentials")
    columns = printed.names if between else tuple(str(c) for c in range(array.shape[1]))
    rows = tuple(str(r) for r in range(len(array))) if stage[:2] == "w_" else printed.names
    with_sum = stage == "exponentials"
    heading = "".join(f'<th scope="col" dir="auto">{escape(c)}</th>' for c in columns)
    lines = []
    for r, name in enumerate(rows):
        cells = [_cell(sheet, boxes, stage, r, c) for c in range(len(columns))]
        cells += [_cell(sheet, boxes, "totals", r, 0)] if with_sum else []
        lines.append(f'<tr><th scope="row" dir="auto">{escape(name)}</th>{"".join(cells)}</tr>')
    return (
        f"<table><caption>{escape(_caption(sheet, stage))}</caption><thead><tr><td></td>{heading}"
        f"{'<th scope=col>sum</th>' if with_sum else ''}</tr></thead>"
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _cell(
    sheet: Worksheet, boxes: dict[tuple[str, int, int], Blank], stage: str, row: int, column: int
) -> str:
    if (stage, row, column) in boxes:
        return f'<td class="box"><small>{boxes[stage, row, column].number}</small></td>'
    if hidden(sheet.printed, stage, row, column):
        return '<td class="hidden">hidden</td>'
    value = float(sheet.printed.array(stage)[row, column])
    return f"<td>{text(value, sheet.printed.decimals_of[stage])}</td>"


def _caption(sheet: Worksheet, stage: str) -> str:
    return f"e^{sheet.printed.last}" if stage == "exponentials" else stage


def _questions(sheet: Worksheet) -> str:
    lines = "".join(f'<li>{escape(q.asks)}<span class="line"></span></li>' for q in sheet.questions)
    return f'<section><h2>And then</h2><ol type="a">{lines}</ol></section>'


def _key(sheet: Worksheet) -> str:
    """Every blank with the expression that makes it, and the error of rounding."""
    lines = "".join(
        f'<li value="{b.number}"><span dir="auto">{escape(b.cell)}</span> = '
        f"{escape(b.expression)} = <b>{escape(b.answer)}</b></li>"
        for b in sheet.blanks
    )
    asked = "".join(f"<li>{escape(question.answer)}</li>" for question in sheet.questions)
    drift = sheet.printed.drift
    return (
        f'<article><h1>Key</h1><p class="sentence" dir="auto">{escape(sheet.title)}</p>'
        f'<ol class="key">{lines}</ol><ol type="a">{asked}</ol>'
        "<p>Each number follows from those printed on the sheet, rounded as the sheet says. "
        f"Computed without rounding, weights differ by at most {drift['weights']:.3f} from these, "
        f"outputs by at most {drift['output']:.3f}.</p></article>"
    )

"""regard check: the first wrong step in attention code or in a sheet; a saved file's checksums."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.io import show, show_json, show_text
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.checker.check_report import Report

SUITES = ("", "operator")


def check(
    target: Annotated[
        str,
        typer.Argument(
            help="file.py:function, module:function, a sheet (TOML, JSON, CSV), or a .regard file."
        ),
    ],
    *,
    suite: Annotated[str, typer.Option(help="operator: conformance of a kernel.")] = "",
    signature: Annotated[str, typer.Option(help="Such as 'q k v as bthd'.")] = "auto",
    feature: Annotated[
        list[str] | None, typer.Option(help="What it promises, such as causal; repeatable.")
    ] = None,
    dtype: Annotated[str, typer.Option(help="float64, float32, float16 or bfloat16.")] = "auto",
    seconds: Annotated[float, typer.Option(help="Time limit in seconds.")] = 60.0,
    memory: Annotated[float, typer.Option(help="Memory limit in GB.")] = 8.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="A row that may see nothing has to give zeros.")
    ] = False,
    hints: Annotated[
        int, typer.Option(min=0, max=3, help="How much is given away: 0 the step, 3 the fix.")
    ] = 3,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the random numbers, such as by student.")
    ] = 0,
    gradescope: Annotated[
        Path | None, typer.Option(help="Write points by step to this results.json.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Find the first wrong step in attention code, or in numbers worked by hand.

    The file is your own code and is EXECUTED, in a process of its own with a time and a memory
    limit. A sheet (regard check sheet.toml) is only read, and of a saved file (regard check
    run.regard) the checksums are compared. Exit status: 0 right, 1 wrong, 2 could not be checked.
    """
    if suite not in SUITES:
        raise ArgumentError(f"--suite needs to be operator, but it is {suite!r}.")
    if target.lower().endswith((".toml", ".json", ".csv", ".tsv", ".txt", ".md")):
        status = _sheet(target, json)
    elif target.lower().endswith(".regard"):
        status = _saved_file(target, json)
    elif suite:
        status = _operator(target, seconds, memory, json)
    else:
        options: dict[str, Any] = {"signature": signature, "dtype": dtype, "strict": strict}
        options["seed"] = seed
        options["features"] = feature or "auto"
        report = _function(target, options, (seconds, memory))
        _show_report(report, hints, json)
        if gradescope is not None:
            _write_grades(report, gradescope, hints)
        status = report.status
    if status:
        raise typer.Exit(status)


def _function(target: str, options: dict[str, Any], limits: tuple[float, float]) -> Report:
    from regard.checker.sandbox import Limits, check_apart

    return check_apart(target, options, Limits(*limits))


def _show_report(report: Report, hints: int, json: bool) -> None:
    """Print the report, as far as the hints go."""
    if json:
        show_json(report.to_dict())
    elif hints < 3 and not report.right:
        show_text(f"{report.verdict.upper()}: {report.function}\n{report.hint(hints)}")
    else:
        from regard.view.terminal.check_text import draw_report

        show(draw_report(report))


def _write_grades(report: Report, path: Path, hints: int) -> None:
    from json import dumps

    from regard.atomic_write import write_text
    from regard.checker.grading import gradescope

    write_text(path, dumps(gradescope(report, hints=hints), indent=1) + "\n")


def _sheet(path: str, json: bool) -> int:
    from regard.checker.worked_sheet import check_sheet

    result = check_sheet(path)
    if json:
        show_json(result.to_dict())
    else:
        from regard.view.terminal.check_text import draw_sheet

        show(draw_sheet(result))
    return result.status


def _saved_file(path: str, json: bool) -> int:
    """Compare every array of a file with its checksum; a damaged file is a FileError."""
    from regard.watcher.files.watched_file import load

    load(path, verify=True)
    if json:
        show_json({"file": path, "verdict": "right"})
    else:
        show_text(f"RIGHT: {path}. Every array has the checksum that was saved with it.")
    return 0


def _operator(target: str, seconds: float, memory: float, json: bool) -> int:
    from regard.checker.operator_suite import Suite
    from regard.checker.sandbox import Limits, run_apart

    result = run_apart("operator", target, {}, Limits(seconds, memory))
    if "error" in result:
        raise ArgumentError(f"{target} could not be checked: {result['error']}")
    if json:
        show_json(result)
    else:
        show_text(Suite.from_dict(result).markdown())
    return int(result["status"])

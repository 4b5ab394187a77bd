"""regard check: the first wrong step in attention code or in a sheet; a saved file's checksums."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.atomic_write import check_writable, write_text
from regard.cli.io import show, show_json, show_text
from regard.errors import ArgumentError

if TYPE_CHECKING:
    from regard.checker.report import Report

SUITES = ("", "operator")
SHEETS = (".toml", ".json", ".csv", ".tsv", ".txt", ".md")
_FUNCTION, _LIMITS, _OUTPUT = "The function", "Limits", "Report"


def check(  # noqa: PLR0913 (each is an option of the command)
    context: typer.Context,
    target: Annotated[
        str,
        typer.Argument(
            help="file.py:function, module:function, a sheet (TOML, JSON, CSV), or a .regard file."
        ),
    ],
    *,
    call: Annotated[
        str,
        typer.Option(
            help="A call that works, e.g. 'Attention(32, 4)(x, context=c)'; with the shape of each "
            "array: --x 2,7,32 --c 2,9,32.",
            rich_help_panel=_FUNCTION,
        ),
    ] = "",
    like: Annotated[
        str,
        typer.Option(
            help="'textbook': every difference from the textbook is a mistake.",
            rich_help_panel=_FUNCTION,
        ),
    ] = "auto",
    suite: Annotated[
        str,
        typer.Option(help="'operator': test every feature of a kernel.", rich_help_panel=_FUNCTION),
    ] = "",
    signature: Annotated[
        str,
        typer.Option(help="Arguments and axes, e.g. 'q k v as bthd'.", rich_help_panel=_FUNCTION),
    ] = "auto",
    feature: Annotated[
        list[str] | None,
        typer.Option(
            help="What the function promises, e.g. causal; repeatable.", rich_help_panel=_FUNCTION
        ),
    ] = None,
    dtype: Annotated[
        str,
        typer.Option(help="float64, float32, float16 or bfloat16.", rich_help_panel=_FUNCTION),
    ] = "auto",
    device: Annotated[
        str,
        typer.Option(help="Where PyTorch's tensors are put, e.g. cuda.", rich_help_panel=_FUNCTION),
    ] = "cpu",
    strict: Annotated[
        bool,
        typer.Option(
            "--strict",
            help="Require zeros for a row that may see nothing.",
            rich_help_panel=_FUNCTION,
        ),
    ] = False,
    seed: Annotated[
        int,
        typer.Option(min=0, help="Random seed, e.g. one per student.", rich_help_panel=_FUNCTION),
    ] = 0,
    seconds: Annotated[
        float, typer.Option(help="Time limit in seconds.", rich_help_panel=_LIMITS)
    ] = 60.0,
    memory: Annotated[
        float, typer.Option(help="Memory limit in GB.", rich_help_panel=_LIMITS)
    ] = 8.0,
    hints: Annotated[
        int,
        typer.Option(
            min=0,
            max=3,
            help="Detail of hints: 0 = failing step only, 1 = name, 2 = effect, 3 = the fix.",
            rich_help_panel=_OUTPUT,
        ),
    ] = 3,
    gradescope: Annotated[
        Path | None,
        typer.Option(
            help="Save points by step as Gradescope's results.json.", rich_help_panel=_OUTPUT
        ),
    ] = None,
    points: Annotated[
        list[str] | None,
        typer.Option(
            help="Points of a step with --gradescope, e.g. scores=4; repeatable.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON.", rich_help_panel=_OUTPUT)
    ] = False,
) -> None:
    """Find the first wrong step in attention code, or in numbers worked by hand.

    The file is your own code and is EXECUTED, in a separate process with a time and a memory limit.
    A sheet (regard check sheet.toml) is only read, and of a saved file (regard check run.regard)
    the checksums are compared. Exit status: 0 right, 1 wrong, 2 not judged.
    """
    arrays = _read_arrays(context, call)
    if suite not in SUITES:
        raise ArgumentError(f"--suite must be operator, got {suite!r}.")
    if target.lower().endswith(SHEETS):
        status = _check_sheet(target, json)
    elif target.lower().endswith(".regard"):
        status = _check_saved_file(target, json)
    elif suite:
        status = _run_suite(target, (seconds, memory), dtype, device, json)
    else:
        options = {
            "signature": signature,
            "dtype": dtype,
            "device": device,
            "strict": strict,
            "seed": seed,
            "features": feature or "auto",
            "like": like,
            "call": call,
            "arrays": arrays,
        }
        shares = _read_points(points)
        if gradescope is not None:
            check_writable(gradescope)
        if gradescope is not None and like == "auto":
            options["like"] = "textbook"  # a layer's own process must not excuse it
        report = _check_function(target, options, seconds, memory)
        _show_report(report, hints, json)
        if gradescope is not None:
            _save_grades(report, gradescope, hints, shares)
        status = report.status
    if status:
        raise typer.Exit(status)


def _read_arrays(context: typer.Context, call: str) -> dict[str, tuple[int, ...]]:
    """The arrays of a call by name, from words such as --x 2,7,32; any other option is refused."""
    words = context.args
    if words and not call:
        known = [x for p in context.command.params for x in p.opts]
        near = "".join(f" Did you mean {x}?" for x in get_close_matches(words[0], known, 1))
        kind = "No such option" if words[0][0] == "-" else "Got unexpected extra argument"
        context.fail(f"{kind}: {words[0]}{near}")
    arrays = {}
    for name, shape in zip(words[::2], [*words[1::2], ""], strict=False):
        sizes = shape.split(",")
        if not name.startswith("--") or not all(x.isdecimal() and len(x) < 7 for x in sizes):
            raise ArgumentError(
                f"an array of --call is its name and its shape, such as --x 2,7,32, "
                f"got {name} {shape}".rstrip()
                + "."
            )
        arrays[name[2:].replace("-", "_")] = tuple(map(int, sizes))
    return arrays


def _check_function(target: str, options: dict[str, Any], seconds: float, memory: float) -> Report:
    from regard.checker.sandbox import Limits, check_apart

    return check_apart(target, options, Limits(seconds, memory))


def _show_report(report: Report, hints: int, json: bool) -> None:
    """Print the report in the detail that the hints allow."""
    if json:
        show_json(report.to_dict())
    elif hints < 3 and not report.right:
        show_text(f"{report.verdict.upper()}: {report.function}\n{report.hint(hints)}")
    else:
        from regard.view.terminal.check import draw_report

        show(draw_report(report))


def _read_points(points: list[str] | None) -> dict[str, float] | None:
    from regard.checker.grading import read_points

    return read_points(points) if points else None


def _save_grades(report: Report, path: Path, hints: int, points: dict[str, float] | None) -> None:
    from json import dumps

    from regard.checker.grading import gradescope

    write_text(path, dumps(gradescope(report, hints=hints, points=points), indent=1) + "\n")


def _check_sheet(path: str, json: bool) -> int:
    from regard.sheets import check_sheet

    result = check_sheet(path)
    if json:
        show_json(result.to_dict())
    else:
        from regard.view.terminal.check import draw_sheet

        show(draw_sheet(result))
    return result.status


def _check_saved_file(path: str, json: bool) -> int:
    """Compare every array of a file with its checksum; a damaged file is a FileError."""
    from regard.watcher.files.watched_file import load

    load(path, verify=True)
    if json:
        show_json({"file": path, "verdict": "right"})
    else:
        show_text(f"RIGHT: {path}. Every array has the checksum that was saved with it.")
    return 0


def _run_suite(
    target: str, limits: tuple[float, float], dtype: str, device: str, json: bool
) -> int:
    from regard.checker.sandbox import Limits, run_suite_apart

    suite = run_suite_apart(target, Limits(*limits), dtype, device)
    if json:
        show_json(suite.to_dict())
    else:
        show_text(suite.markdown())
    return suite.status

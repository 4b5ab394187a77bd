"""regard check: the first wrong step in attention code or in a sheet; a saved file's checksums."""

from typing import Annotated, Any

import typer

from regard.cli.output import show, show_json, show_text
from regard.errors import ArgumentError

SUITES = ("", "operator")


def check(
    target: Annotated[
        str,
        typer.Argument(
            help="file.py:function, module:function, a sheet (TOML, JSON), or a .regard file."
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
    json: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Find the first wrong step in attention code, or in numbers worked by hand.

    The file is your own code and is EXECUTED, in a process of its own with a time and a memory
    limit. A sheet (regard check sheet.toml) is only read, and of a saved file (regard check
    run.regard) the checksums are compared. Exit status: 0 right, 1 wrong, 2 could not be checked.
    """
    if suite not in SUITES:
        raise ArgumentError(f"--suite needs to be operator, but it is {suite!r}.")
    if target.lower().endswith((".toml", ".json")):
        status = _sheet(target, json)
    elif target.lower().endswith(".regard"):
        status = _saved_file(target, json)
    elif suite:
        status = _operator(target, seconds, memory, json)
    else:
        options: dict[str, Any] = {"signature": signature, "dtype": dtype, "strict": strict}
        options["features"] = feature or "auto"
        status = _function(target, options, (seconds, memory), json)
    if status:
        raise typer.Exit(status)


def _function(target: str, options: dict[str, Any], limits: tuple[float, float], json: bool) -> int:
    from regard.checker.sandbox import Limits, check_apart

    report = check_apart(target, options, Limits(*limits))
    if json:
        show_json(report.to_dict())
    else:
        from regard.view.terminal.check_text import draw_report

        show(draw_report(report))
    return report.status


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
    from regard.watcher.watched_file import load

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

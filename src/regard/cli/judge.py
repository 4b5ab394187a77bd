"""regard judge: whether every head of a model computes what it was asked for."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from regard.cli.io import (
    check_bounds,
    check_output_file,
    notice,
    progress_bars,
    show_json,
    text_or_file,
)
from regard.errors import ArgumentError, BackendError

if TYPE_CHECKING:
    from regard.watcher.files.model_folder import Loaded
    from regard.watcher.verdict import Verdict

_MODEL = typer.Argument(help="Folder of the model, a .gguf file, or a name in the local Hub cache.")
_TEXT = typer.Argument(help="A text in quotes, or @file.")
_DTYPES = ("float32", "float16", "bfloat16", "float64")
_KERNEL = typer.Option("--attention", help="Attention to load: eager, sdpa, flash_attention_2 ...")


def judge(
    model: Annotated[Path, _MODEL],
    text: Annotated[str, _TEXT],
    *,
    generate: Annotated[int, typer.Option(help="Generate this many tokens.")] = 0,
    rows: Annotated[int, typer.Option(help="Queries of each head redone at each call.")] = 32,
    calls: Annotated[int, typer.Option(help="Judge one call of so many of each layer.")] = 1,
    seed: Annotated[int, typer.Option(help="Random seed of the rows.")] = 0,
    dtype: Annotated[str, typer.Option(help="Compute in float32, float16, bfloat16 ...")] = "",
    attention: Annotated[str, _KERNEL] = "",
    spec: Annotated[
        bool, typer.Option("--spec", help="Compare what was asked for with the model's config.")
    ] = False,
    dense: Annotated[
        bool, typer.Option("--dense", help="Say what windows and sparse masks give up.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print all heads as JSON.")] = False,
    save: Annotated[
        Path | None, typer.Option(help="Save the run with its verdict as x.regard.")
    ] = None,
) -> None:
    """Redo rows of every head in exact arithmetic, and say which heads are right.

    Exit status: 0 right, 1 wrong, 2 nothing could be judged.
    """
    import torch

    from regard.watcher.files.model_folder import load_folder

    if save is not None:
        check_output_file("--save", save, (".regard",))
    for option, number, least in (
        ("generate", generate, 0),
        ("rows", rows, 1),
        ("calls", calls, 1),
    ):
        check_bounds(f"--{option}", number, least)
    if dtype and dtype not in _DTYPES:
        raise ArgumentError(f"--dtype must be one of {', '.join(_DTYPES)}, got {dtype!r}.")
    content = text_or_file(text)
    with progress_bars() as progress:
        step = progress.add_task("loading the model", total=None)
        loaded = load_folder(model)
        progress.remove_task(step)
    loaded.check_writes(generate)
    if dtype:
        loaded.model.to(getattr(torch, dtype))
    if attention:
        loaded.model.set_attn_implementation(attention)
    inputs = loaded.inputs(content, generate)
    options: dict[str, Any] = {"rows": rows, "calls": calls, "seed": seed, "dense": dense}
    options["spec"] = loaded.model.config if spec else None
    verdict = _judged(loaded, inputs, generate, options, save)
    if json:
        show_json({"ok": verdict.ok, "text": str(verdict), "heads": list(verdict.to_dicts())})
    else:
        print(verdict)
    if not verdict.ok:
        raise typer.Exit(1 if verdict.faults or verdict.against_spec else 2)


def _judged(
    loaded: Loaded, inputs: Any, generate: int, options: dict[str, Any], save: Path | None
) -> Verdict:
    """Run the model once; a run that is saved is watched too."""
    import torch

    from regard.judging.judge import judge as judging
    from regard.watcher.watch import watch

    model, wrong = loaded.model, False
    block = nullcontext(model) if save is None else watch(model, tokenizer=loaded.tokenizer)
    judged: list[Verdict] = []
    try:
        with torch.no_grad(), block as seen, judging(seen, **options) as verdict:
            judged.append(verdict)
            if generate:
                model.generate(**inputs, max_new_tokens=generate, do_sample=False, num_beams=1)
            else:
                loaded.read(inputs)
    except BackendError:
        wrong = bool(judged and judged[0].faults)
        if not wrong:
            raise
    if save is not None:
        (judged[0] if wrong else seen).save(save)
        alone = ", the verdict alone: attention that is wrong has no weights to show" * wrong
        notice(f"Saved as {save}{alone}.")
    return judged[0]

"""Walks through the code: which files of regard a call passes, in the order it first enters them.

Run ``python tools/walks.py``; ``make docs`` writes them into docs/all-of-regard.md.
"""

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

SOURCE = Path(__file__).parent.parent / "src" / "regard"
PREFIX = f"{SOURCE}/"
SENTENCE = "A dog ate the food because it was hungry"


def walk(call: Callable[[], object]) -> list[str]:
    """Files under src/regard whose functions ran during a call, in order of first entry."""
    entered: dict[str, None] = {}
    known: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in known:
            return
        if not code.co_filename.startswith(PREFIX):
            known.add(code)
        elif not _is_import(frame):
            known.add(code)
            entered.setdefault(code.co_filename.removeprefix(PREFIX).removesuffix(".py"))

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(entered)


def _is_import(frame: FrameType | None) -> bool:
    """Whether a module body is on the stack: what an import runs is not part of the walk."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(PREFIX):
            return True
        frame = frame.f_back
    return False


def sentence() -> list[str]:
    """The walk of ``regard "A dog ate ..."``."""
    import contextlib
    import io

    from regard.cli import main

    def command() -> None:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            main([SENTENCE])

    return walk(command)


def checked() -> list[str]:
    """The walk of ``regard.check`` on a three-line NumPy function."""
    import numpy as np

    import regard

    def attention(q: Any, k: Any, v: Any) -> Any:
        scores = q @ k.swapaxes(-1, -2) / q.shape[-1]
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ v

    return walk(lambda: regard.check(attention))


def watched() -> list[str]:
    """The walk of ``regard.watch`` around one forward of a small BERT, and of one fact read."""
    import torch
    from transformers import BertConfig, BertModel

    import regard

    sizes = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 32}
    model = BertModel(BertConfig(vocab_size=50, num_hidden_layers=2, **sizes)).eval()

    def block() -> None:
        with regard.watch(model) as seen, torch.no_grad():
            model(torch.arange(8)[None])
        _ = seen[1].entropy

    return walk(block)


def monitored() -> list[str]:
    """The walk of one observed step of ``regard.monitor``, into a folder."""
    import tempfile

    import torch

    import regard

    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def training(folder: str) -> None:
        with regard.monitor(layer, every=1, to=folder):
            layer(torch.randn(2, 4, 8)).square().mean().backward()
            optimizer.step()

    with tempfile.TemporaryDirectory() as folder:
        return walk(lambda: training(f"{folder}/training"))


def answered() -> list[str]:
    """The walk of the page's answer to a sentence, from its path to the bytes."""
    from regard.view.page.answers import Sources, Stop
    from regard.view.page.routes import all_answers

    answers = all_answers(Sources())
    return walk(lambda: answers["/api/read"]({"sentence": SENTENCE}, Stop()))


WALKS = {
    'regard "A dog ate ..."': sentence,
    "regard.watch": watched,
    "regard.check": checked,
    "regard.monitor": monitored,
    "/api/read": answered,
}


def line(name: str) -> str:
    """One walk as an item of a Markdown list, files in order of first entry."""
    command = [sys.executable, __file__, name]
    trace = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    steps = (
        f"{folder or 'regard'}: {', '.join(map(_name, paths))}"
        for folder, paths in groupby(trace, lambda path: path.rpartition("/")[0])
    )
    text = f"- **`{name}`**, {len(trace)} files. {'; '.join(steps)}."
    return textwrap.fill(text, 120, subsequent_indent="  ", break_on_hyphens=False)


def _name(path: str) -> str:
    """The name of a file; Markdown would take the underscores of ``__init__`` for bold type."""
    name = path.rpartition("/")[2]
    return f"`{name}`" if name.startswith("__") else name


def all_walks() -> str:
    """The walks as docs/all-of-regard.md shows them."""
    return "\n".join(map(line, WALKS))


if __name__ == "__main__":
    # Each walk in a fresh interpreter: caches and imports depend on what ran before.
    if len(sys.argv) > 1:
        print("\n".join(WALKS[sys.argv[1]]()))
    else:
        print(all_walks())

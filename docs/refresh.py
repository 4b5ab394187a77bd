"""Write the parts of the README and of docs/files.md that are made from the project itself.

Run ``make readme``. A test runs the same functions and compares, so captures, tree and figures
stay true.
"""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs/files.md")
WIDTH = 36
HIDDEN = ("__pycache__", "results", "shipped")
SENTENCE = "A dog ate the food because it was hungry"


def capture(*arguments: str) -> str:
    """What a command prints at 80 columns without colour, as a reader would see it."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "regard", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)  # noqa: S603
    words = " ".join(f'"{word}"' if " " in word else word for word in arguments)
    return f"```\n$ regard {words}\n{done.stdout.rstrip()}\n```"


def tree() -> str:
    """The path of a sentence: every folder of the package, and the first line of what it says."""
    lines = ["```", "src/regard/"]
    for folder in sorted((ROOT / "src/regard").rglob("__init__.py"), key=_as_the_path_goes):
        parts = folder.parent.relative_to(ROOT / "src/regard").parts
        if parts:
            name = "  " * len(parts) + parts[-1] + "/"
            lines.append(f"{name:<{WIDTH // 2 + 4}}{first_sentence(folder)}")
    return "\n".join([*lines, "```"])


def _as_the_path_goes(path: Path) -> tuple[int, tuple[str, ...]]:
    """Folders in the order a sentence meets them, as tests/test_layers.py holds it."""
    order = ("inputs", "self_attention", "transformer", "models", "check", "survey", "view", "cli")
    parts = path.parent.relative_to(ROOT / "src/regard").parts
    return order.index(parts[0]) if parts else -1, parts


def files() -> str:
    """Every source file with the first sentence of its docstring."""
    lines = ["```"]
    for folder in ("src/regard", "benchmarks"):
        lines.append(f"{folder}/")
        lines += _branch(ROOT / folder, 1)
    return "\n".join([*lines, "```"])


def _branch(folder: Path, depth: int) -> list[str]:
    lines = []
    for path in sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name)):
        name = "  " * depth + path.name
        if path.is_dir() and path.name not in HIDDEN:
            lines += [f"{name}/", *_branch(path, depth + 1)]
        elif path.suffix in SAYS:
            lines.append(f"{name:<{WIDTH}}{first_sentence(path)}")
    return lines


def first_sentence(path: Path) -> str:
    """What a file says of itself first, without its full stop: a docstring, or a comment."""
    return SAYS[path.suffix](path.read_text(encoding="utf-8")).split("\n")[0].strip().rstrip(".")


def _comment(text: str) -> str:
    found = re.match(r"\s*(?:/\*+|//|<!--)\s*(.*?)\s*(?:\*/|-->|\n)", text)
    return found[1] if found else ""


SAYS = {".py": lambda text: ast.get_docstring(ast.parse(text)) or "", ".js": _comment}


def attention_figures() -> str:
    """The measured table of ``make bench``, with the peak memory below it."""
    text = (ROOT / "benchmarks/results/attention.md").read_text().strip()
    figures = json.loads((ROOT / "benchmarks/results/attention.json").read_text())
    peaks = [
        f"{row['n']:,} tokens, one head: {row['megabytes']:.0f} MB beyond inputs and outputs "
        f"(the weights would be {row['weights_megabytes'] / 1e3:,.1f} GB)"
        for row in figures["memory"]
    ]
    return f"{text}\n\nPeak memory of `observe`: {'; '.join(peaks)}."


def reading_figures() -> str:
    """What reading a sentence costs, and how good the shipped model is."""
    figures = json.loads((ROOT / "benchmarks/results/reading.json").read_text())
    found, limits = figures["figures"], figures["limits"]
    model = json.loads((ROOT / "src/regard/transformer/shipped/model.json").read_text())
    names = {
        "command_seconds": '`regard "A dog ate ..."`, the whole command, cold (seconds)',
        "command_over_imports": f"the same, over importing {figures['imports']}",
        "one_over_torch": "translating one sentence, over the same parameters in PyTorch",
        "many_over_torch": f"translating {figures['sentences']} sentences, over PyTorch",
        "command_megabytes": "peak memory of the command (MB)",
    }
    rows = [f"| {text} | {found[name]:g} | {limits[name]:g} |" for name, text in names.items()]
    scores = model["scores"]["int8, float32"]
    return "\n".join(
        [
            "| reading a sentence | measured | to reach |",
            "|---|--:|--:|",
            *rows,
            f"| BLEU of the model on held-out everyday sentences | {scores['bleu']:g} | 56 |",
            f"| chrF of the same | {scores['chrf']:g} | 71 |",
        ]
    )


PARTS = {
    "sentences": reading_figures,
    "reading": lambda: capture(SENTENCE),
    "robots": lambda: capture("example", "robots"),
    "tree": tree,
    "files": files,
    "attention": attention_figures,
}


def with_parts(text: str) -> str:
    """A page with every made part put in anew."""
    for name, make in PARTS.items():
        pattern = rf"(<!-- {name} -->\n).*?(\n?<!-- /{name} -->)"
        if re.search(pattern, text, flags=re.DOTALL):
            made = make()
            end = f"\n<!-- /{name} -->"
            text = re.sub(
                pattern,
                lambda found, made=made, end=end: found[1] + made + end,
                text,
                flags=re.DOTALL,
            )
    return text


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(with_parts(page.read_text()))

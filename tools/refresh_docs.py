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
from typing import Any

ROOT = Path(__file__).parent.parent
PAGES = (ROOT / "README.md", ROOT / "docs/files.md")
WIDTH = 36
HIDDEN = ("__pycache__", "results", "shipped")
SENTENCE = "A dog ate the food because it was hungry"


def capture(*arguments: str) -> str:
    """What a command prints at 80 columns without colour, as a reader would see it."""
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "regard", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
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
    order = (
        "text", "engine", "textbook", "heads", "transformer", "watcher", "checker", "corpus",
        "view", "cli",
    )  # fmt: skip
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


def other_figures() -> str:
    """Watching, the page, surveys and the ring: what was measured beside what was to be reached."""
    watch, page, survey, ring = (_results(name) for name in ("watch", "page", "survey", "ring"))
    at = {row["tokens"]: row for row in watch["rows"]}
    strong = next(x for x in ring["strong"] if x["facts"] == "all" and x["causal"])
    found, limits = page["figures"], page["limits"]
    rows = [
        ("a 6-layer BERT at 512 tokens, watched, over its default sdpa",
         at[512]["watch_to_sdpa"], 1.5),
        ("eager with all weights over watched, at 4,096 tokens (more is better)",
         at[4096]["eager_to_watch"], 2),
        *((text, found[name], limits[name]) for name, text in PAGE.items()),
        ("a survey on Ray over the same on processes, documents a second (more is better)",
         survey["figures"]["ray_over_local"], 0.85),
        ("the same on one core over eager with all weights, batches of 32 as they come (more is "
         f"better; sorted by length {survey['figures']['survey_over_eager_sorted']})",
         survey["figures"]["survey_over_eager"], 2),
        ("8,192 tokens, causal, all facts, on two processes over one (more is better)",
         strong["times_faster"], 1.7),
    ]  # fmt: skip
    lines = [f"| {text} | {measured:.3g} | {limit:g} |" for text, measured, limit in rows]
    return "\n".join(["| | measured | to reach |", "|---|--:|--:|", *lines])


PAGE = {
    "file_512_megabytes": "a saved file of 12 x 12 heads at 512 tokens (MB; bertviz: 1,720)",
    "first_picture_512_seconds": "its first picture (s; bertviz at 256 tokens: 76)",
    "hover_512_milliseconds": "a hover, median (ms; bertviz at 256 tokens: 3,153)",
    "page_kilobytes": "the page, as sent (kB)",
    "sentence_milliseconds": "a typed sentence of 10 words to its picture (ms)",
    "map_first_view_seconds": "a map of 131,072 tokens, first view (s)",
    "zoom_milliseconds": "a zoom step there, median (ms)",
}


def gpu_figures() -> str:
    """Times on a GPU as multiples of the fastest SDPA forward."""
    held = _results("h200")
    lengths = [8192, 32768, 131072]
    names = {
        "regard: attention": "`attention`",
        "regard: output, entropy, received, map 512": "output, entropy, received, map 512 (1.6)",
        "the same and top 8": "and top 8 (2.2)",
        "SDPA flash": "PyTorch's flash, output alone",
    }
    head = f"| x cuDNN's forward (to reach) | {' | '.join(f'{n:,}' for n in lengths)} |"
    lines = [head, "|---|" + "--:|" * len(lengths)]
    for name, text in names.items():
        cells = [f"{held[f'times at {n}'][name]['x']:.2f}" for n in lengths]
        lines.append(f"| {text} | {' | '.join(cells)} |")
    eager = held["times at 8192"]["eager with weights"]["x"]
    lines.append(f"| eager with all weights | {eager:.1f} | | |")
    return "\n".join([*lines, "", *_gpu_facts(held), "", *_gpu_watched(held["a watched model"])])


def _gpu_facts(held: dict[str, Any]) -> list[str]:
    """What else the run says, beside what it should be."""
    parts = ("errors", "errors of other calls", "errors at 131072, one head")
    errors = [x for part in parts for name, x in held[part].items() if "sums to" not in name]
    sums = [held[part]["received sums to n within"] for part in (parts[0], parts[2])]
    times = held["times at 8192"]
    ours = times["regard: output, entropy, received, map 512"]["x"]
    same = all(held["the same twice at 16384"].values())
    rows = {
        "largest relative error of any fact, against float64": (f"{max(errors):.0e}", "1e-3"),
        "received sums to n within": (f"{max(sums):.0e}", "1e-4"),
        "two calls agree to the bit": ("yes" if same else "no", "yes"),
        "eager over output, entropy, received, map 512 at 8,192 tokens (more is better)": (
            f"{times['eager with weights']['x'] / ours:.1f}", "15"),
        "memory beyond inputs and outputs over eager's at 8,192 tokens": (
            f"{100 * held['memory at 8192']['share of eager']:.2f} %", "1 %"),
        "1,048,576 tokens with their map, one call (s)": (
            f"{held['a million tokens']['seconds']:.1f}", "it works"),
    }  # fmt: skip
    lines = [f"| {name} | {found} | {wanted} |" for name, (found, wanted) in rows.items()]
    return ["| | reached | to reach |", "|---|--:|--:|", *lines]


def _gpu_watched(held: dict[str, Any]) -> list[str]:
    """A model's forward, watched, as a multiple of the plain one."""
    lengths = [2048, 8192, 32768]
    names = {"watched": "watched", "proven": "watched, a second time in the same block",
             "eager": "eager with all weights"}  # fmt: skip
    lines = [f"| x a small Llama's forward | {' | '.join(f'{n:,}' for n in lengths)} |",
             "|---|" + "--:|" * len(lengths)]  # fmt: skip
    for name, text in names.items():
        times = [held[f"ms at {n}"] for n in lengths]
        cells = [f"{ms[name] / ms['sdpa']:.1f}" if name in ms else "" for ms in times]
        lines.append(f"| {text} | {' | '.join(cells)} |")
    return lines


def _results(name: str) -> dict[str, Any]:
    held: dict[str, Any] = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text())
    return held


PARTS = {
    "others": other_figures,
    "gpu": gpu_figures,
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

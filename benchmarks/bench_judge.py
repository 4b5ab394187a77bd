"""regard.judge: planted faults found and named, clean runs without alarm, and what it costs.

    python benchmarks/bench_judge.py                 # all on this machine, results/judge.json
    python benchmarks/bench_judge.py --device cuda   # the same where a GPU is

Faults are planted in a kernel that a model of transformers gets by name: the judge sees what the
model asked that kernel for. Models are small, with random parameters; cost is processor time of a
forward of SmolLM2's layers (576 wide, 9 heads over 3), in turns with the plain forward.
"""

# ruff: noqa: E501 (each fault of the table on its line)
import argparse
import json
import math
import os
import time

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import torch
import transformers as hf
from machine import RESULTS, describe
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS, sdpa_mask

import regard
from regard.judging.hypotheses import quantise

SIZES = {"vocab_size": 300, "hidden_size": 256, "intermediate_size": 256, "num_hidden_layers": 2,
         "num_attention_heads": 4, "max_position_embeddings": 1024, "pad_token_id": 0}  # fmt: skip
GROUPED = SIZES | {"num_key_value_heads": 2}
MODELS = {
    "llama": (hf.LlamaForCausalLM, hf.LlamaConfig, GROUPED),
    "llama 128 wide": (hf.LlamaForCausalLM, hf.LlamaConfig, GROUPED | {"head_dim": 128}),
    "qwen2": (hf.Qwen2ForCausalLM, hf.Qwen2Config, GROUPED),
    "qwen3": (hf.Qwen3ForCausalLM, hf.Qwen3Config, GROUPED | {"head_dim": 64}),
    "mistral (window)": (hf.MistralForCausalLM, hf.MistralConfig, GROUPED | {"sliding_window": 90}),
    "gemma2 (softcap)": (hf.Gemma2ForCausalLM, hf.Gemma2Config,
                         GROUPED | {"head_dim": 64, "attn_logit_softcapping": 50.0,
                                    "query_pre_attn_scalar": 64, "sliding_window": 90}),
    "gpt_oss (sinks)": (hf.GptOssForCausalLM, hf.GptOssConfig,
                        GROUPED | {"head_dim": 64, "num_local_experts": 2,
                                   "num_experts_per_tok": 1, "sliding_window": 90}),
    "gpt2": (hf.GPT2LMHeadModel, hf.GPT2Config,
             {"vocab_size": 300, "n_embd": 256, "n_layer": 2, "n_head": 4, "pad_token_id": 0}),
    "bert": (hf.BertModel, hf.BertConfig, SIZES),
    "starcoder2": (hf.Starcoder2ForCausalLM, hf.Starcoder2Config, GROUPED),
}  # fmt: skip
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
KERNEL = {"fault": None}
TURNS = 4  # of plain and judged forwards; the best of each counts


def attend(query, key, value, seen, scale, softcap=None, sinks=None, bias=None, cast=None):  # noqa: PLR0917
    """The definition in float32, weights cast to the dtype before they meet the values."""
    repeat = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(repeat, 1).float() for x in (key, value))
    scores = query.float() @ key.mT * scale
    scores = softcap * (scores / softcap).tanh() if softcap else scores
    scores = scores if bias is None else scores + bias
    scores = scores.masked_fill(~seen, -math.inf)
    top = scores.amax(-1, keepdim=True)
    top = top.masked_fill(top == -math.inf, 0.0)
    exp = (scores - top).exp()
    total = exp.sum(-1, keepdim=True)
    if sinks is not None:
        total = total + (sinks.float().view(1, -1, 1, 1) - top).exp()
    return ((exp.to(cast or query.dtype).float() @ value) / total).to(query.dtype)


def planted(module, query, key, value, attention_mask, **options):
    """What a model of transformers calls: sound, or with the fault that is set."""
    q, k = query.shape[2], key.shape[2]
    at_k = torch.arange(k, device=query.device)
    at_q = torch.arange(q, device=query.device)[:, None] + k - q
    if attention_mask is not None:
        seen = attention_mask if attention_mask.dtype == torch.bool else attention_mask > -1e4
    elif getattr(module, "is_causal", False):
        seen = (at_k <= at_q)[None, None]
    else:
        seen = torch.ones(1, 1, q, k, dtype=torch.bool, device=query.device)
    call = {"query": query, "key": key, "value": value, "seen": seen,
            "scale": options.get("scaling") or query.shape[-1] ** -0.5,
            "softcap": options.get("softcap"), "sinks": options.get("s_aux")}  # fmt: skip
    if KERNEL["fault"]:
        change = FAULTS[KERNEL["fault"]][0]
        output = change(call, at_q, at_k)
    else:
        output = attend(**call)
    return output.transpose(1, 2).contiguous(), None


def changed(**changes):
    """A fault: some arguments of the call, each by a function of the call and its places."""

    def run(call, at_q, at_k):
        return attend(**call | {x: f(call, at_q, at_k) for x, f in changes.items()})

    return run


def held(name, bits, axes):
    return {name: lambda c, i, j: quantise(c[name].float(), bits, axes).to(c[name].dtype)}


def put(name, row, source, size=1):
    def moved(c, i, j):
        x = c[name].clone()
        x[:, :, row : row + size] = c[name][:, :, source : source + size]
        return x

    return {name: moved}


def roll(name, by, axis):
    return {name: lambda c, i, j: c[name].roll(by, axis)}


def one_head(c, i, j):
    right = attend(**c)
    other = attend(**c | {x: c[x].roll(1, 1) for x in ("key", "value")})
    right[:, 1] = other[:, 1]
    return right


FAULTS = {
    "no mask": (changed(seen=lambda c, i, j: torch.ones_like(c["seen"])), ("no mask at all", "ahead seen", "mask ignored", "hidden are seen")),
    "mask ignored past 128": (changed(seen=lambda c, i, j: c["seen"] | (j >= 128)), ("mask ignored from key 128", "no mask at all")),
    "one key ahead": (changed(seen=lambda c, i, j: c["seen"] | (j == i + 1)), ("moved by +1", "ahead seen")),
    "own key dropped": (changed(seen=lambda c, i, j: c["seen"] & (j != i) | ((i == 0) & (j == 0))), ("moved by -1", "key", "dropped")),
    "last 40 keys": (changed(seen=lambda c, i, j: c["seen"] & (j > i - 40)), ("only the last 40 keys",)),
    "key 0 dropped": (changed(seen=lambda c, i, j: c["seen"] & ((j > 0) | (i == 0))), ("key 0 dropped", "key 0 left out")),
    "keys from 160 dropped": (changed(seen=lambda c, i, j: c["seen"] & (j < 160)), ("keys before 160 only",)),
    "own tile of 32 dropped": (changed(seen=lambda c, i, j: c["seen"] & ((j // 32 != i // 32) | (i < 32))), ("own tile of 32",)),
    "one head reads another": (one_head, ("reads key head", "gives the output of head")),
    "key heads shifted": (changed(**roll("key", 1, 1)), ("reads the keys of key head",)),
    "values of another head": (changed(**roll("value", 1, 1)), ("reads the values of key head",)),
    "cache shifted": (changed(**roll("key", 1, 2), **roll("value", 1, 2)), ("keys and values shifted by +1",)),
    "keys shifted": (changed(**roll("key", 1, 2)), ("keys shifted by +1",)),
    "stale row": (changed(**put("key", 100, 93), **put("value", 100, 93)), ("cache row 100 holds row 93",)),
    "stale page": (changed(**put("key", 96, 80, 16), **put("value", 96, 80, 16)), ("cache page 6 of 16 keys holds page 5",)),
    "scale 1 / width": (changed(scale=lambda c, i, j: 1 / c["query"].shape[-1]), ("scale",)),
    "scale 1 % off": (changed(scale=lambda c, i, j: c["scale"] * 1.01), ("times 1.01",)),
    "scale for powers of two": (changed(scale=lambda c, i, j: c["scale"] * math.log2(math.e)), ("log2 e twice", "times 1.443")),
    "softcap 15": (changed(softcap=lambda c, i, j: 15.0), ("softcap 15",)),
    "softcap dropped": (changed(softcap=lambda c, i, j: None), ("softcap dropped",)),
    "sinks dropped": (changed(sinks=lambda c, i, j: None), ("sinks dropped",)),
    "sink 2": (changed(sinks=lambda c, i, j: torch.full((c["query"].shape[1],), 2.0)), ("sink of logit 2",)),
    "bias by distance": (changed(bias=lambda c, i, j: -0.02 * (i - j).abs()), ("a bias of -0.02", "a bias of -0.01")),
    "int8 keys": (changed(**held("key", 8, (-1,))), ("keys in int8, a scale per token",)),
    "int8 values": (changed(**held("value", 8, (-1,))), ("values in int8, a scale per token",)),
    "int8 keys by channel": (changed(**held("key", 8, (-2,))), ("keys in int8, a scale per channel",)),
    "int4 keys": (changed(**held("key", 4, (-1,))), ("keys in int4, a scale per token",)),
    "int4 values": (changed(**held("value", 4, (-1,))), ("values in int4, a scale per token",)),
    "int6 keys": (changed(**held("key", 6, (-1,))), ("keys in int6, a scale per token",)),
    "weights in fp8": (changed(cast=lambda c, i, j: torch.float8_e4m3fn), ("weights cast to fp8 e4m3",)),
    "output times 1.02": (lambda c, i, j: (attend(**c).float() * 1.02).to(c["query"].dtype), ("output times 1.02",)),
    "features reversed": (changed(value=lambda c, i, j: torch.cat([c["value"][..., :-8], c["value"][..., -8:].flip(-1)], -1)), ("8 of",)),
    # no name fits these: they must be found, and get none
    "noise on keys": (changed(key=lambda c, i, j: (c["key"] * (1 + 0.02 * torch.randn(c["key"].shape, generator=torch.Generator().manual_seed(3)).to(c["key"].device))).to(c["key"].dtype)), ()),
    "scale and window": (changed(scale=lambda c, i, j: c["scale"] * 1.05, seen=lambda c, i, j: c["seen"] & (j > i - 40)), ()),
}  # fmt: skip
ONLY = {"softcap dropped": "gemma2 (softcap)", "sinks dropped": "gpt_oss (sinks)"}
NOT_IN_DECODING = (
    "cache shifted",
    "own tile of 32 dropped",
    "one key ahead",
    "no mask",
    "mask ignored past 128",
)
ONE_SIDED = ("one key ahead", "no mask", "mask ignored past 128", "own key dropped", "last 40 keys")


def register():
    hf.AttentionInterface.register("planted", planted)
    ALL_MASK_ATTENTION_FUNCTIONS.register("planted", sdpa_mask)


def made(name, dtype, device, kernel="planted"):
    kind, config, sizes = MODELS[name]
    torch.manual_seed(0)
    model = kind(config(**sizes)).eval()
    for parameter_name, parameter in model.named_parameters():
        if parameter.ndim > 1:
            wild = any(x in parameter_name for x in ("q_proj", "k_proj", "query", "key.", "c_attn"))
            torch.nn.init.normal_(parameter, std=0.12 if wild else 0.06)
    model.config._attn_implementation = kernel
    return model.to(dtype).to(device)


def judged(model, ids, decoding, rows, spec=None):
    with torch.no_grad():
        if not decoding:
            with regard.judge(model, rows=rows, spec=spec) as verdict:
                model(ids)
            return verdict
        fault, KERNEL["fault"] = KERNEL["fault"], None
        cache = model(ids[:, :-4], use_cache=True).past_key_values
        KERNEL["fault"] = fault
        with regard.judge(model, rows=rows, spec=spec) as verdict:
            for at in range(ids.shape[1] - 4, ids.shape[1]):
                cache = model(ids[:, at : at + 1], past_key_values=cache).past_key_values
        return verdict


def plant(device, tokens=200):
    """Every fault in three models, a dtype each in turn, and decoding; and the models without."""
    ids = torch.randint(1, 300, (1, tokens), generator=torch.Generator().manual_seed(1)).to(device)
    results, clean, names = [], {"heads": 0, "alarms": 0}, list(MODELS)
    for dtype in DTYPES.values():
        for name in names:
            for decoding in (False, True) if name != "bert" else (False,):
                KERNEL["fault"] = None
                verdict = judged(made(name, dtype, device), ids, decoding, 32)
                clean["heads"] += sum(p.calls * p.heads for p in verdict.places.values())
                clean["alarms"] += len(verdict.faults)
    for number, (fault, (_, words)) in enumerate(FAULTS.items()):
        for turn in range(1 if fault in ONLY else 4):
            name = ONLY.get(fault) or names[(3 * number + turn * 2 + turn) % len(names)]
            decoding = turn == 3
            if decoding and (fault in NOT_IN_DECODING or name == "bert"):
                continue
            if name == "bert" and fault in ONE_SIDED[:3]:
                continue  # it has no mask that could be lost
            if "head" in fault and name in ("gpt2", "bert") and "key" in fault:
                name = "llama"
            dtype = list(DTYPES)[(number + turn) % 3]
            KERNEL["fault"] = fault
            rows = 64 if fault == "stale row" else 32
            model = made(name, DTYPES[dtype], device)
            with torch.no_grad():
                verdict = judged(model, ids, decoding, rows)
            KERNEL["fault"] = None
            given = sorted({x.name for x in verdict.faults if x.name})
            named = any(word in x for x in given for word in words)
            other = [x for x in given if not any(word in x for word in words)]
            results.append({"fault": fault, "model": name, "dtype": dtype, "decoding": decoding,
                            "found": bool(verdict.faults), "named": named, "other names": other,
                            "has a name": bool(words)})  # fmt: skip
            print(json.dumps(results[-1]), flush=True)
    return results, clean


def cost(device, layers=6):
    """Processor time of a forward with each call judged, over that of the plain one."""
    config = hf.LlamaConfig(vocab_size=2000, hidden_size=576, intermediate_size=1536,
                            num_hidden_layers=layers, num_attention_heads=9,
                            num_key_value_heads=3, max_position_embeddings=8192)  # fmt: skip
    clock = time.process_time if device == "cpu" else time.perf_counter
    rows = []
    for dtype in ("float32", "bfloat16"):
        torch.manual_seed(0)
        model = hf.LlamaForCausalLM(config).to(DTYPES[dtype]).to(device).eval()
        for tokens in (512, 2048) if device == "cpu" else (512, 2048, 8192):
            ids = torch.randint(0, 2000, (1, tokens)).to(device)
            options = {"plain": None, "seen alone": {"calls": 10**9}, "32 rows": {},
                       "8 rows": {"rows": 8}, "calls=4": {"calls": 4}}  # fmt: skip
            times = {name: [] for name in options}
            for _ in range(TURNS):
                for name, option in options.items():
                    start = clock()
                    with torch.no_grad():
                        if option is None:
                            model(ids, logits_to_keep=1)
                        else:
                            with regard.judge(model, **option) as verdict:
                                model(ids, logits_to_keep=1)
                            assert not verdict.faults, verdict
                    if device != "cpu":
                        torch.cuda.synchronize()
                    times[name].append(clock() - start)
            best = {name: min(x) for name, x in times.items()}
            ratios = {x: round(best[x] / best["plain"], 3) for x in best if x != "plain"}
            rows.append(
                {"dtype": dtype, "tokens": tokens, "plain s": round(best["plain"], 3)} | ratios
            )
            print(json.dumps(rows[-1]), flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", choices=("faults", "cost"))
    device, only = (options := parser.parse_args()).device, options.only
    torch.set_num_threads(1)
    hf.logging.set_verbosity_error()
    register()
    result = {"machine": describe()}
    if only != "cost":
        results, clean = plant(device)
        nameable = [x for x in results if x["has a name"]]
        result |= {
            "clean": clean, "planted": len(results), "found": sum(x["found"] for x in results),
            "nameable": len(nameable), "named": sum(x["named"] for x in nameable),
            "given another name": [x for x in results if x["other names"]],
            "not found": [x for x in results if not x["found"]],
            "not named": [x for x in nameable if x["found"] and not x["named"]],
        }  # fmt: skip
    if only != "faults":
        result["cost"] = cost(device)
    print(json.dumps(result, indent=1))
    name = "judge.json" if device == "cpu" else f"judge_{device}.json"
    path = RESULTS / name
    if only is not None and path.exists():  # the other half stays that of an earlier run
        result = json.loads(path.read_text(encoding="utf-8")) | result
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

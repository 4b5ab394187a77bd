"""Table of the model types of transformers that mix positions without a softmax, built small.

    python tools/mixer_families.py              # every type of TYPES; prints each
    python tools/mixer_families.py qwen3_next   # only these
    python tools/mixer_families.py --write docs/mixer_families.md

Each type is built from its config with small sizes and random parameters, the matrices five times
as large, so that what is mixed is not small beside what is passed on. It is watched in one forward,
token by token with a cache, in a batch with padding on the left, and in bfloat16.
"""

import argparse
import contextlib
import warnings
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
import transformers
import watch_families as families
from transformers import AutoConfig, AutoModel

import regard
from regard.errors import RegardError

TOKENS, STEPS, PADDING = 40, 3, 9
SCALE = 5.0
COMMON = {
    "hidden_size": 32, "vocab_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
# Types whose config derives sizes from others: given whole.
WHOLE: dict[str, dict[str, Any]] = {
    "zamba2": {
        "layers_block_type": ["linear_attention", "hybrid"], "mamba_d_state": 8, "chunk_size": 8,
        "n_mamba_heads": 4, "intermediate_size": 48, "num_key_value_heads": 4,
    },
    "xlstm": {
        "num_heads": 4, "hidden_size": 128, "embedding_dim": 128, "num_blocks": 2, "chunk_size": 16,
        "autocast_kernel_dtype": "float32", "qk_dim_factor": 0.5,
    },
    "qwen4_exp_text": {
        "layer_types": ["linear_attention", "indexed_attention"], "num_key_value_heads": 2,
        "head_dim": 8, "linear_key_head_dim": 8, "linear_value_head_dim": 8,
        "linear_num_key_heads": 2, "linear_num_value_heads": 4, "moe_intermediate_size": 16,
        "shared_expert_intermediate_size": 16, "num_experts": 4, "num_experts_per_tok": 2,
        "hc_count": 4, "hc_lowrank": 8, "ple_embed_dim": 8, "ngram_vocab_size_base": 64,
        "ple_layer_ids": [], "indexer_n_heads": 4, "indexer_kv_heads": 1, "indexer_head_dim": 8,
        "indexer_budget": 8, "indexer_compress_ratio": 2,
    },
}  # fmt: skip
MAMBA = ["linear_attention", "full_attention"]
SIZES: dict[str, dict[str, Any]] = {
    "mamba": {"time_step_rank": 4, "expand": 2}, "falcon_mamba": {"time_step_rank": 4, "expand": 2},
    "mamba2": {"num_heads": 4, "head_dim": 16, "n_groups": 2, "expand": 2},
    "jamba": {}, "bamba": {},
    "zamba": {
        "attention_head_dim": 16, "num_hidden_layers": 5, "n_mamba_heads": 2, "mamba_dt_rank": 4,
        "layers_block_type": ["linear_attention", "linear_attention", "hybrid", "linear_attention",
                              "hybrid"],
        "use_mamba_kernels": False, "num_key_value_heads": 4, "attention_hidden_size": 64,
    },
    "zamba2": {
        "mamba_headdim": 16, "mamba_expand": 2, "n_mamba_heads": 4, "mamba_ngroups": 1,
        "use_mamba_kernels": False, "attention_hidden_size": 64, "attention_head_dim": 16,
        "num_key_value_heads": 4,
    },
    "nemotron_h": {
        "mamba_num_heads": 4, "mamba_head_dim": 16, "n_groups": 2, "ssm_state_size": 8,
        "layers_block_type": [*MAMBA, "linear_attention"], "num_hidden_layers": 3,
        "use_mamba_kernels": False,
    },
    "granitemoehybrid": {"layer_types": MAMBA},
    "falcon_h1": {"mamba_d_ssm": 64},
    "qwen3_next": {}, "qwen3_5_text": {}, "qwen3_5_moe_text": {}, "qwen4_exp_text": {},
    "olmo_hybrid": {},
    "kimi_linear": {"linear_num_heads": 4, "linear_head_dim": 8, "layer_types": MAMBA,
                    "mlp_layer_types": ["dense", "dense"]},
    "bailing_hybrid": {"num_key_value_heads": 4, "linear_head_dim": 8},
    "glm5_next": {"linear_num_heads": 4, "linear_head_dim": 8},
    "minimax": {}, "lfm2": {"layer_types": ["conv", "full_attention"],
                            "block_auto_adjust_ff_dim": False},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 2}, "lfm3": {},
    "recurrent_gemma": {"block_types": ["recurrent", "attention"]},
    "rwkv": {"attention_hidden_size": 32, "context_length": 64}, "xlstm": {}, "fnet": {},
    "inkling2": {},
}  # fmt: skip
TYPES = tuple(SIZES)
HEADER = """\
# Model types of transformers that mix without a softmax

Written by `python tools/mixer_families.py --write docs/mixer_families.md` with transformers
{transformers} and torch {torch}, on a CPU without the kernels of other packages. Each type was
built small with random parameters and watched with `mixers=True` ([mixers.md](mixers.md)) on
{tokens} tokens; its output was the same to the bit.

- *rows*: a row of weights for each head, or for each channel where every channel has its own.
- *columns*: tokens, through a short convolution where one stands before the value; or positions of
  the value, where what enters it is made of several tokens in another way.
- *error*: the largest of all proofs over layers, as a part of the sizes: the replayed output with
  the model's, the weights times the value with its output, what the tokens wrote with the value.
- *cache*: the same after a cache was filled and {steps} more tokens were read one by one; *padded*:
  of a sentence with {padding} tokens of padding before it in a batch; *bfloat16*: the output of the
  model rounds to 8 bits there, and what is replayed does not.

| type | layer | rows | columns | error | cache | padded | bfloat16 |
|---|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Verdict:
    """One kind of mixer of a model type, with an error or a reason of each run."""

    model_type: str
    kind: str = ""
    rows: str = ""
    columns: str = ""
    errors: tuple[str, ...] = field(default=())

    def line(self) -> str:
        cells = (self.model_type, self.kind, self.rows, self.columns, *self.errors)
        return f"| {' | '.join(cells)} |"


def small_model(model_type: str) -> Any:
    """A small model of a type; the error of the first variant where none is built."""
    first: Exception | None = None
    families.SMALL.update(kda_head_dim=8, linear_num_heads=2, linear_head_dim=8, expand=2)
    for variant in families.VARIANTS:
        try:
            config = _config(model_type, variant)
            torch.manual_seed(0)
            model = AutoModel.from_config(config).eval()
            with torch.no_grad():
                for name, x in model.named_parameters():
                    if x.ndim >= 2 and "A_log" not in name and "norm" not in name:
                        x.mul_(SCALE)
                model(input_ids=ids())
        except Exception as error:
            first = first or error
        else:
            return model
    raise first or ValueError(model_type)


def _config(model_type: str, variant: dict[str, Any]) -> Any:
    if model_type in WHOLE:
        config = AutoConfig.for_model(model_type, **(COMMON | WHOLE[model_type]))
    else:
        config = families.small_config(model_type, variant)
    for name, value in SIZES.get(model_type, {}).items():
        with contextlib.suppress(Exception):
            setattr(config, name, value)
    return config


def ids(sentences: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randint(3, 58, (sentences, TOKENS), generator=generator)


def one_forward(model: Any) -> Any:
    return model(input_ids=ids())[0]


def with_cache(model: Any) -> Any:
    name = {"mamba": "cache_params", "rwkv": "state"}
    kind = model.config.model_type
    given = name.get(kind, "cache_params" if kind in CACHE_PARAMS else "past_key_values")
    cache, outputs = None, []
    for start, stop in [(0, TOKENS - STEPS)] + [(i, i + 1) for i in range(TOKENS - STEPS, TOKENS)]:
        arguments = {} if cache is None else {given: cache}
        step = model(input_ids=ids()[:, start:stop], use_cache=True, **arguments)
        cache = step.get(given)
        outputs.append(step[0])
    if cache is None:
        raise ValueError("takes no cache")
    return torch.cat(outputs, dim=1)


CACHE_PARAMS = ("mamba", "mamba2", "falcon_mamba", "xlstm")


def padded(model: Any) -> Any:
    mask = torch.ones(2, TOKENS, dtype=torch.long)
    mask[1, :PADDING] = 0
    return model(input_ids=ids(2), attention_mask=mask)[0]


def watched(model: Any, run: Any, sentence: int = 0) -> tuple[list[Any], bool]:
    """The mixers of a run, and whether its output was the same to the bit."""
    with torch.no_grad():
        expected = run(model)
        with regard.watch(model, map=0, top=0, mixers=True) as seen:
            output = run(model)
    mixers = seen.mixers if sentence == 0 else seen.sentence(sentence).mixers
    same = torch.equal(output, expected) or bool(expected.isnan().any())
    return list(mixers), same


def error_of(mixers: list[Any]) -> str:
    problem = next((x.problem for x in mixers if x.problem), "")
    if problem:
        return f"refused: {line(problem)}"
    return f"{max(x.proofs.error for x in mixers):.0e}"


def line(text: Any) -> str:
    return " ".join(str(text).split())[:110].replace("|", "/")


def verdicts_of(model_type: str) -> list[Verdict]:
    """A verdict for each class of mixers in a type."""
    try:
        model = small_model(model_type)
    except Exception as error:
        return [Verdict(model_type, f"not built small: {line(error)}")]
    runs = [(one_forward, 0), (with_cache, 0), (padded, 1)]
    results = [_by_kind(model_type, model, run, sentence) for run, sentence in runs]
    results.append(_by_kind(model_type, model.to(torch.bfloat16), one_forward, 0))
    first = results[0]
    if isinstance(first, str):
        return [Verdict(model_type, first)]
    none = [Verdict(model_type, "no layer mixes without a softmax")]
    return [replace(first[kind], errors=_short(_errors(kind, results))) for kind in first] or none


def _errors(kind: str, results: list[dict[str, Verdict] | str]) -> tuple[str, ...]:
    return tuple(x if isinstance(x, str) else _error(x, kind) for x in results)


def _error(found: dict[str, Verdict], kind: str) -> str:
    return found[kind].errors[0] if kind in found else "not seen"


def _short(errors: tuple[str, ...]) -> tuple[str, ...]:
    """A reason once; where the output is another when the module runs alone, only that."""
    first, *others = ("refused: another output" if ANOTHER in x else x for x in errors)
    return (first, *("refused" if x == first and "refused" in x else x for x in others))


ANOTHER = "run again without a cache it returns"


def _by_kind(model_type: str, model: Any, run: Any, sentence: int) -> dict[str, Verdict] | str:
    """A verdict for each class of mixers of a run, or what is wrong with it."""
    try:
        mixers, same = watched(model, run, sentence)
    except (RegardError, ValueError, RuntimeError, TypeError, AttributeError, KeyError) as error:
        return line(error)
    if not same:
        return "OTHER OUTPUT"
    kinds: dict[str, list[Any]] = {}
    for mixer in mixers:
        kinds.setdefault(mixer.kind, []).append(mixer)
    return {kind: _verdict(model_type, kind, some) for kind, some in kinds.items()}


def _verdict(model_type: str, kind: str, mixers: list[Any]) -> Verdict:
    mixer, errors = mixers[0], (error_of(mixers),)
    if mixer.problem:
        return Verdict(model_type, kind, "", "", errors)
    rows = f"{mixer.heads} heads of {mixer.width}" if mixer.width > 1 else f"{mixer.heads} channels"
    columns = mixer.columns + (", through a convolution" if mixer.convolved else "")
    return Verdict(model_type, kind, rows, columns, errors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("types", nargs="*")
    parser.add_argument("--write", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    verdicts = []
    for model_type in options.types or TYPES:
        found = verdicts_of(model_type)
        print(*(x.line() for x in found), sep="\n", flush=True)
        verdicts += found
    if options.write:
        header = HEADER.format(
            transformers=transformers.__version__, torch=torch.__version__.split("+")[0],
            tokens=TOKENS, steps=STEPS, padding=PADDING,
        )  # fmt: skip
        options.write.write_text(header + "\n".join(x.line() for x in verdicts) + "\n")


if __name__ == "__main__":
    main()

"""Table of the model types of transformers: built small, watched, and compared.

    python tools/watch_families.py             # every type; prints those that are not exact
    python tools/watch_families.py bert llama  # only these
    python tools/watch_families.py --write docs/watch_families.md
    python tools/watch_families.py --compare docs/watch_families.md  # fails if a verdict changed

Each type is built from its config with small sizes and random parameters and run with and without
``watch``, on more tokens than its window, chunk or index has, with padding on the left, and with a
cache where it takes one, one and two tokens at a time. The recorded weights are compared with the
model's own ``output_attentions``, the facts of a cached text with those of the text at once.
"""

import argparse
import contextlib
import inspect
import os
import signal
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers
from transformers import AutoConfig, AutoModel
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES

import regard
from regard.errors import RegardError

SECONDS = 30
TOKENS, CACHED_STEPS = 40, 3  # beyond every window, chunk and budget of SMALL
PADDING = 7  # tokens on the left of the first sentence
SAME_ENTROPY = 1e-3  # nats: another kernel's rounding of weights is far below, another key above
SAME_OUTPUT = 1e-3  # of the largest number
MOST_PARAMETERS = 30_000_000
SMALL = {
    "hidden_size": 32, "d_model": 32, "n_embd": 32, "dim": 32, "embed_dim": 32, "hidden_dim": 32,
    "embed_dims": 32, "encoder_hidden_dim": 32, "decoder_hidden_dim": 32,
    "num_hidden_layers": 2, "num_layers": 2, "n_layer": 2, "n_layers": 2, "encoder_layers": 2,
    "decoder_layers": 2, "num_encoder_layers": 2, "num_decoder_layers": 2, "depth": 2,
    "num_attention_heads": 4, "num_heads": 4, "n_head": 4, "n_heads": 4,
    "encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_key_value_heads": 2,
    "head_dim": 8, "d_kv": 8, "intermediate_size": 48, "d_ff": 48, "d_inner": 48, "ffn_dim": 48,
    "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "vocab_size": 64, "embedding_size": 16,
    "max_position_embeddings": 64, "image_size": 32, "patch_size": 8, "num_experts": 4,
    "num_local_experts": 4, "n_routed_experts": 4, "moe_num_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 16, "n_group": 1, "topk_group": 1, "moe_topk": 2,
    "n_shared_experts": 1, "shared_expert_intermediate_size": 16, "first_k_dense_replace": 1,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1,
    "rotary_dim": 4, "query_pre_attn_scalar": 8, "projection_dim": 16, "max_source_positions": 64,
    "max_target_positions": 64, "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8,
    "qk_nope_head_dim": 8, "v_head_dim": 12, "index_topk": 6, "index_n_heads": 2,
    "index_head_dim": 16, "index_block_size": 4, "index_topk_blocks": 2,
    "sliding_window": 6, "attention_chunk_size": 8, "local_attention": 8,
    "sliding_window_size": 6, "attention_window_size": 6, "local_window_size": 6,
    "mamba_d_state": 8, "mamba_d_conv": 4, "mamba_expand": 2, "mamba_n_heads": 4,
    "mamba_d_head": 16, "mamba_n_groups": 1, "mamba_chunk_size": 8, "state_size": 8,
    "chunk_size": 8, "linear_num_key_heads": 2, "linear_num_value_heads": 2,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8, "lru_width": 32,
    "vocab_size_per_layer_input": 64, "hidden_size_per_layer_input": 8, "num_kv_shared_layers": 0,
    "num_global_key_value_heads": 2, "global_head_dim": 8, "num_channels": 3,
    "out_hidden_size": 32, "spatial_merge_size": 2,
    "temporal_patch_size": 1, "image_token_id": 60, "video_token_id": 61, "audio_token_id": 62,
    "vision_start_token_id": 58, "vision_end_token_id": 59,
    "router_hidden_size": 16, "expert_intermediate_size": 16, "num_queries": 8,
    "num_query_tokens": 4, "num_positions": 64, "n_positions": 64, "rope_head_dim": 4,
}  # fmt: skip

HEADER = """\
# Model types of transformers, watched

Made by `tools/watch_families.py` with transformers {transformers} and torch {torch}: each type is built
small, with random parameters, and run with and without `watch`: text of {tokens} tokens, more than
its window (6), its chunk (8) or its index (6 keys) holds, and {steps} tokens more with a cache.

- *exact*: the output is the same to the bit, and every weight equals the model's own
  `output_attentions` within 1e-4 (the fused kernel and eager round in a different order).
- *seen*: the output is the same to the bit, but the model returns no weights of that shape.
- Path *interface*: the attention interface, with padding cut off; *operators*: the operators that
  run.
"""  # noqa: E501 (the versions are shorter than their names)


@dataclass(frozen=True)
class Verdict:
    """Result for one model type."""

    model_type: str
    path: str
    verdict: str
    detail: str = ""


class TooSlowError(Exception):
    """A model type took more than SECONDS of processor time."""


@contextlib.contextmanager
def time_limit():
    def stop(*_):
        raise TooSlowError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of processor time: others run besides
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


# What some types need beside SMALL, tried in turn: as many keys as heads, a head width of its own.
VARIANTS = (
    {},
    {"num_key_value_heads": 4},
    {"num_key_value_heads": 4, "head_dim": 16},
    {"num_key_value_heads": 4, "head_dim": 8, "partial_rotary_factor": 1.0},
    {"num_key_value_heads": 2, "head_dim": 16},
    {"num_mel_bins": 16},
)
ASSUMED = ("head_dim", "partial_rotary_factor")  # set where a config says None


def small_config(model_type: str, variant: dict[str, Any]) -> Any:
    """The config of a type with small sizes, including its sub-configs."""
    config = AutoConfig.for_model(model_type)
    for part in _with_parts(config):
        for name, value in (SMALL | variant).items():
            with contextlib.suppress(Exception):
                before = getattr(part, name, 0.5)
                if isinstance(before, int) or (name in variant and name in ASSUMED):
                    setattr(part, name, value)
        for name in LAYER_KINDS:
            kinds = list(getattr(part, name, None) or ())
            if kinds:  # one of each kind, so that attention is among them
                each = list(dict.fromkeys(kinds))
                with contextlib.suppress(Exception):
                    setattr(part, name, (each[:1] + each[-1:])[:2] if len(each) > 1 else kinds[:2])
        scaling = getattr(part, "rope_parameters", None) or {}
        if "mrope_section" in scaling:
            scaling["mrope_section"] = [2, 1, 1]
        for name, value in OWN_SIZES.get(part.model_type, {}).items():
            with contextlib.suppress(Exception):
                setattr(part, name, value)
    return config


# What single types need: other sizes, or kinds of layers that only checkpoints name.
SECTIONS = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]}
SWIN = {"embed_dim": 16, "depths": [2, 1], "num_heads": [2, 4], "window_size": 4, "patch_size": 2}
OWN_SIZES: dict[str, dict[str, Any]] = {
    "minimax_m3_vl_text": {"layer_types": ["full_attention", "minimax_m3_sparse"]},
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "layer_types": ["mamba", "attention"],
              "use_mamba_kernels": False, "mamba_dt_rank": 4},
    "bamba": {"attn_layer_indices": [1], "layer_types": ["mamba", "attention"]},
    **{name: {"rope_parameters": SECTIONS}
       for name in ("qwen2_vl_text", "qwen2_5_vl_text", "glm4v_text")},
    "esm": {"vocab_size": 64, "mask_token_id": 3, "pad_token_id": 0},
    "squeezebert": {"embedding_size": 32},
    "luke": {"entity_vocab_size": 64, "entity_emb_size": 16}, "lilt": {"hidden_size": 48},
    "xmod": {"default_language": "en_XX"}, "swin": SWIN, "swinv2": SWIN,
}  # fmt: skip
LAYER_KINDS = ("layer_types", "mlp_layer_types", "layers_block_type", "indexer_types")


def _with_parts(config: Any) -> list[Any]:
    """A config and the configs inside it."""
    inside = [getattr(config, name, None) for name in config.sub_configs]
    return [config, *(x for part in inside if part is not None for x in _with_parts(part))]


def small_run(model_type: str) -> tuple[Any, dict[str, torch.Tensor], torch.Tensor]:
    """A model that was built small, its input and its output; the error of the first variant."""
    first: Exception | None = None
    for variant in VARIANTS:
        try:
            model = small_model(model_type, variant)
            for inputs in inputs_of(model):
                with contextlib.suppress(Exception):
                    return model, inputs, output_of(model, inputs)
            output_of(model, inputs_of(model)[0])
        except Exception as error:
            first = first or error
            if "configuration class" in str(error) or "parameters" in str(error):
                break
    raise first or ValueError("no input")


def small_model(model_type: str, variant: dict[str, Any]) -> Any:
    """A model with random parameters; raises ValueError if it is too large."""
    config = small_config(model_type, variant)
    with torch.device("meta"):
        size = sum(x.numel() for x in AutoModel.from_config(config).parameters())
    if size > MOST_PARAMETERS:
        raise ValueError(f"{size / 1e6:.0f} M parameters")
    torch.manual_seed(0)
    return AutoModel.from_config(config).eval()


def inputs_of(model: Any) -> list[dict[str, torch.Tensor]]:
    """Small inputs of the kind the model takes; of one with two towers also text and image."""
    inputs = main_input(model)
    if (
        "input_ids" not in inputs
        or "pixel_values" not in inspect.signature(model.forward).parameters
    ):
        return [inputs]
    vision = getattr(model.config, "vision_config", model.config)
    size, generator = getattr(vision, "image_size", 32), torch.Generator().manual_seed(1)
    size = size if isinstance(size, int) else 32
    return [inputs, inputs | {"pixel_values": torch.randn(2, 3, size, size, generator=generator)}]


def main_input(model: Any) -> dict[str, torch.Tensor]:
    """A small input of the model's main kind."""
    generator, name = torch.Generator().manual_seed(1), model.main_input_name
    config, inputs = model.config, {}
    if name == "input_ids":
        inputs = {name: torch.randint(3, 58, (2, TOKENS), generator=generator)}
        inputs["attention_mask"] = torch.ones(2, TOKENS, dtype=torch.long)
    elif name == "pixel_values":
        size = getattr(config, "image_size", 32)
        size = size if isinstance(size, int) else 32
        channels = getattr(config, "num_channels", 3)
        inputs = {name: torch.randn(2, channels, size, size, generator=generator)}
    elif name == "input_values":
        inputs = {name: torch.randn(2, 4000, generator=generator)}
    elif name == "input_features":
        bins = getattr(config, "num_mel_bins", 80)
        frames = getattr(config, "max_source_positions", None)
        shape = (2, 64, bins) if frames is None else (2, bins, 2 * frames)
        inputs = {name: torch.randn(shape, generator=generator)}
    else:
        raise ValueError(f"its input is {name}")
    if config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.randint(3, 58, (2, 20), generator=generator)
    return inputs


def output_of(model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    torch.manual_seed(2)
    with torch.no_grad():
        output = model(**inputs)
    tensors = [x for x in output.to_tuple() if isinstance(x, torch.Tensor)]
    return tensors[0]


def cached_output(model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor | None:
    """Outputs of a text read into a cache and of a few more tokens; None where there is none."""
    if set(inputs) != {"input_ids", "attention_mask"}:
        return None
    ids, outputs, cache = inputs["input_ids"], [], None
    edges = [0, TOKENS - CACHED_STEPS, TOKENS - CACHED_STEPS + 1, TOKENS]  # one, then two
    torch.manual_seed(2)
    with torch.no_grad():
        for start, stop in pairwise(edges):
            step = model(ids[:, start:stop], past_key_values=cache, use_cache=True)
            cache = getattr(step, "past_key_values", None)
            if cache is None:
                return None
            outputs.append(step[0])
    return torch.cat(outputs, dim=1)


def with_cache(model: Any, inputs: dict[str, torch.Tensor]) -> str:
    """The verdict of a run with a cache, beside the one without; nothing where it has none."""
    try:
        expected = cached_output(model, inputs)
    except Exception:
        return ""
    if expected is None:
        return ""
    try:
        with regard.watch(model, map=64) as seen:
            output = cached_output(model, inputs)
    except RegardError as error:
        return f"; with a cache refused: {_line(error)}"
    assert output is not None
    if not torch.equal(output, expected) and not bool(expected.isnan().any()):
        return "; OTHER OUTPUT with a cache"
    if seen.runs != 1:
        return f"; with a cache {seen.runs} texts"
    with regard.watch(model, map=64) as whole:
        at_once = output_of(model, inputs | {"use_cache": False})
    if (at_once - expected).abs().max() > SAME_OUTPUT * at_once.abs().max():
        return "; with a cache its own output is another"
    return f"; with a cache {facts_beside(seen, whole)}"


def facts_beside(seen: Any, whole: Any) -> str:
    """'too', or how the facts of a cached text differ from those of the text at once."""
    worst = 0.0
    for path in seen.paths:  # without what was left out, as attention over depth
        key = whole.paths[path]
        pair = [x.sentence(1)[path].entropy for x in (seen, whole)]
        if pair[0].shape != pair[1].shape:
            return f"OTHER ROWS, {pair[0].shape} of {pair[1].shape} in {key}"
        worst = max(worst, float(np.abs(pair[0] - pair[1]).max()))
    return "too" if worst < SAME_ENTROPY else f"OTHER FACTS, {worst:.2g} nats"


def with_padding(model: Any, inputs: dict[str, torch.Tensor]) -> str:
    """Whether padding on the left is cut off; nothing where the model takes none."""
    if set(inputs) != {"input_ids", "attention_mask"}:
        return ""
    mask = inputs["attention_mask"].clone()
    mask[0, :PADDING] = 0
    padded = inputs | {"attention_mask": mask}
    try:
        expected = output_of(model, padded)
    except Exception:
        return ""
    try:
        with regard.watch(model, map=64) as seen:
            output = output_of(model, padded)
    except RegardError as error:
        return f"; with padding refused: {_line(error)}"
    if not torch.equal(output.nan_to_num(), expected.nan_to_num()):
        return "; OTHER OUTPUT with padding"
    rows = {seen.sentence(0)[key].queries for key in seen.names}
    return "" if rows == {TOKENS - PADDING} else "; padding kept"


def verdict_of(model_type: str) -> Verdict:
    """Run one type and compare its output and weights."""
    try:
        with time_limit():
            model, inputs, expected = small_run(model_type)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return Verdict(model_type, "", "not built small", _line(error))
    path = ""
    try:
        with time_limit():
            with regard.watch(model, map=64) as seen:
                output = output_of(model, inputs)
            if not seen.names:
                return Verdict(model_type, path, "no attention", seen.advice)
            kind = type(seen._recorder.source).__name__
            path = "operators" if kind == "OperatorSource" else "interface"
            same = torch.equal(output, expected) or bool(expected.isnan().any())
            if not same:
                size = (output - expected).abs().max()
                return Verdict(model_type, path, "other output", f"{size:.2g}")
            verdict, detail = compared(model, inputs, expected, seen)
            cached = with_cache(model, inputs) + with_padding(model, inputs)
            verdict = "other output" if "OTHER OUTPUT" in cached else verdict
            verdict = (
                "OTHER CACHE" if "OTHER FACTS" in cached or "OTHER ROWS" in cached else verdict
            )
            return Verdict(model_type, path, verdict, detail + cached)
    except (RegardError, TooSlowError) as error:
        nothing = "no attention was seen" in str(error)
        return Verdict(model_type, path, "no attention" if nothing else "refused", _line(error))
    except Exception as error:
        return Verdict(model_type, path, "ERROR", f"{type(error).__name__}: {_line(error)}")


def compared(
    model: Any, inputs: dict[str, torch.Tensor], expected: torch.Tensor, seen: Any
) -> tuple[str, str]:
    """Compare the weights with those the model returns."""
    layers = f"{len(seen.names)} layers"
    try:
        eager = AutoModel.from_config(model.config, attn_implementation="eager").eval()
        eager.load_state_dict(model.state_dict())
        torch.manual_seed(2)
        with torch.no_grad():
            output = eager(**inputs, output_attentions=True)
    except Exception:
        return "seen", f"{layers}; gives out no weights to compare"
    own_output = next(x for x in output.to_tuple() if isinstance(x, torch.Tensor))
    if (own_output - expected).abs().max() > 1e-4:
        return "seen", f"{layers}; its eager attention gives another output"
    names = ("encoder_attentions", "decoder_attentions", "attentions", "cross_attentions")
    own = [w for name in names
           for w in getattr(output, name, None) or () if getattr(w, "ndim", 0) == 4]  # fmt: skip
    maps = []
    for key in seen.names:
        with contextlib.suppress(RegardError):
            maps.append(np.asarray(seen.sentence(0)[key].map))
    if not own or len(own) != len(maps):
        return "seen", f"{layers}; gives out {len(own)} weights to compare"
    worst = 0.0
    for weights, map_hqk in zip(own, maps, strict=True):
        one = weights[0].double().numpy()
        if one.shape != map_hqk.shape:
            return "seen", f"{layers}; its weights have another shape"
        if (one < 0).any():
            return "seen", f"{layers}; gives out scores, not weights"
        if len(one) > 1 and (one == one[:1]).all():  # some return the mean of all heads
            map_hqk = map_hqk.mean(axis=0, keepdims=True)
        worst = max(worst, float(np.abs(one - map_hqk).max()))
    return ("exact", layers) if worst < 1e-4 else ("DIFFERS", f"{worst:.2g}")


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:90].replace("|", "/") or type(error).__name__


def table(verdicts: list[Verdict]) -> str:
    """The verdicts as a Markdown page."""
    counts = Counter(x.verdict for x in verdicts)
    lines = [
        HEADER.format(
            transformers=transformers.__version__,
            torch=torch.__version__.split("+")[0],
            tokens=TOKENS,
            steps=CACHED_STEPS,
        ),
        ", ".join(f"{name}: {number}" for name, number in counts.most_common()) + ".",
        "",
        "| type | path | verdict | |",
        "|---|---|---|---|",
    ]
    rows = [x for x in verdicts if x.verdict != "not built small"]
    lines += [f"| {x.model_type} | {x.path} | {x.verdict} | {x.detail} |" for x in rows]
    rest = ", ".join(x.model_type for x in verdicts if x.verdict == "not built small")
    return "\n".join([*lines, "", f"Not built small by this script: {rest}.", ""])


def verdicts_in(page: str) -> dict[str, tuple[str, str]]:
    """Path and verdict of every model type in a table that this script wrote."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines()]
    rows = [row for row in rows if len(row) == 4 and row[0] not in ("type", "---")]
    return {model_type: (path, verdict) for model_type, path, verdict, _ in rows}


def changes(before: dict[str, tuple[str, str]], verdicts: list[Verdict]) -> list[str]:
    """A line for every type whose path or verdict changed."""
    unbuilt = ("", "not built small")
    lines = []
    for x in verdicts:
        then, now = before.get(x.model_type, unbuilt), (x.path, x.verdict)
        if then != now:
            lines.append(f"{x.model_type}: {' '.join(then)} before, {' '.join(now)} now {x.detail}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("types", nargs="*")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--compare", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    verdicts = []
    for model_type in options.types or sorted(CONFIG_MAPPING_NAMES):
        verdicts.append(verdict_of(model_type))
        if options.types or verdicts[-1].verdict not in ("exact", "not built small"):
            print(*vars(verdicts[-1]).values(), sep=" | ", flush=True)
    if options.write:
        options.write.write_text(table(verdicts))
    print(Counter(x.verdict for x in verdicts))
    if options.compare:
        lines = changes(verdicts_in(options.compare.read_text()), verdicts)
        print(*lines, sep="\n")
        sys.exit(1 if lines else 0)


if __name__ == "__main__":
    main()

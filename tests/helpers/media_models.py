"""Tiny models of images with random parameters, and what eager says of each of their layers."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import tokenizers
import torch
import transformers as hf
from tests.helpers.shared_modules import sharp

VISION = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
          "intermediate_size": 24, "image_size": 8, "patch_size": 2}  # fmt: skip
TEXT = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 24, "vocab_size": 60, "max_position_embeddings": 64,
        "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}  # fmt: skip
LLAMA = TEXT | {"num_attention_heads": 4, "num_key_value_heads": 2}
QWEN_VISION = {"depth": 2, "embed_dim": 16, "hidden_size": 16, "num_heads": 2, "mlp_ratio": 2,
               "patch_size": 2, "spatial_merge_size": 2, "temporal_patch_size": 2}  # fmt: skip
ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 0]}}
IMAGE, BEGIN, END = 50, 52, 53

WORDS = ["<pad>", "<s>", "</s>", "what", "is", "this", "a", "cat", "?"]
SPECIAL = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
CROP = {"size": {"shortest_edge": 8}, "crop_size": {"height": 8, "width": 8}}


def recipes(heading: str) -> list[str]:
    """The examples under a heading of docs/watch-details.md."""
    page = (Path(__file__).parents[2] / "docs" / "watch-details.md").read_text(encoding="utf-8")
    section = page.split(f"## {heading}\n")[1].split("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)


def pixels(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(4))


def clip() -> hf.CLIPModel:
    return hf.CLIPModel(hf.CLIPConfig(text_config=TEXT, vision_config=VISION, projection_dim=8))


def llava(**options: object) -> hf.LlavaForConditionalGeneration:
    config = hf.LlavaConfig(
        vision_config=hf.CLIPVisionConfig(**VISION), text_config=hf.LlamaConfig(**LLAMA),
        image_token_index=IMAGE, **options,
    )  # fmt: skip
    return sharp(hf.LlavaForConditionalGeneration(config))


def swin(size: int = 16) -> hf.SwinModel:
    return sharp(hf.SwinModel(hf.SwinConfig(
        image_size=size, patch_size=2, embed_dim=8, depths=[2, 2], num_heads=[2, 2], window_size=4,
    )))  # fmt: skip


@cache
def qwen(windows: bool) -> object:
    """Qwen2-VL, or Qwen2.5-VL whose first layer of vision attends in windows of 4 x 4 patches."""
    tokens = {"image_token_id": IMAGE, "video_token_id": 51, "vision_start_token_id": BEGIN,
              "vision_end_token_id": END}  # fmt: skip
    if not windows:
        config = hf.Qwen2VLConfig(text_config=LLAMA | ROPE, vision_config=QWEN_VISION, **tokens)
        return sharp(hf.Qwen2VLForConditionalGeneration(config))
    vision = {name: x for name, x in QWEN_VISION.items() if name not in ("embed_dim", "mlp_ratio")}
    vision |= {"window_size": 8, "fullatt_block_indexes": [1], "out_hidden_size": 16,
               "intermediate_size": 24}  # fmt: skip
    config = hf.Qwen2_5_VLConfig(text_config=LLAMA | ROPE, vision_config=vision, **tokens)
    return sharp(hf.Qwen2_5_VLForConditionalGeneration(config))


def packed(*grids: tuple[int, int]) -> dict[str, torch.Tensor]:
    """A text with images of so many patches; four patches make a token."""
    patches = [high * wide for high, wide in grids]
    ids = [5, 6]
    for number in patches:
        ids += [BEGIN, *[IMAGE] * (number // 4), END, 7]
    tokens = torch.tensor([[*ids, 8, 9]])
    return {
        "input_ids": tokens,
        "pixel_values": pixels(sum(patches), 24),
        "image_grid_thw": torch.tensor([[1, *grid] for grid in grids]),
        "mm_token_type_ids": (tokens == IMAGE).long(),
    }


def on_grid(weights_k: np.ndarray, positions: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """The weights of keys at some positions, as rows and columns."""
    return np.asarray(weights_k)[positions].reshape(size)


def image_tokenizer() -> hf.PreTrainedTokenizerFast:
    """Words of a text, and a token for an image."""
    words = {f"w{number}": number for number in range(60)}
    words = {word: i for i, word in enumerate([*WORDS, *list(words)[len(WORDS) : 50], "<image>"])}
    words |= {f"w{number}": number for number in range(51, 60)}
    plain = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, "a"))
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=plain, extra_special_tokens={"image_token": "<image>"}, **SPECIAL
    )


def llava_processor() -> hf.LlavaProcessor:
    """A processor that resizes the shorter side to 8 pixels and crops the longer one."""
    return hf.LlavaProcessor(
        hf.CLIPImageProcessorPil(**CROP), image_tokenizer(), patch_size=2,
        vision_feature_select_strategy="default", num_additional_image_tokens=1,
    )  # fmt: skip


def paligemma(pools: bool) -> hf.PaliGemmaForConditionalGeneration:
    """With the head that pools patches, whose output is not used, or without as it is published."""
    gemma = LLAMA | {"model_type": "gemma", "head_dim": 4, "num_key_value_heads": 1}
    vision = VISION | {"model_type": "siglip_vision_model", "vision_use_head": pools}
    config = hf.PaliGemmaConfig(
        text_config=gemma, vision_config=vision, image_token_id=IMAGE, projection_dim=16
    )
    return sharp(hf.PaliGemmaForConditionalGeneration(config))


def blip() -> hf.BlipForConditionalGeneration:
    config = hf.BlipConfig(
        text_config=TEXT | {"encoder_hidden_size": 16}, vision_config=VISION, projection_dim=16
    )
    return sharp(hf.BlipForConditionalGeneration(config))


def smolvlm() -> hf.SmolVLMForConditionalGeneration:
    """Tiles of 8 x 8 patches, of which 2 x 2 become one token."""
    config = hf.SmolVLMConfig(
        vision_config=VISION | {"image_size": 16}, scale_factor=2, image_token_id=IMAGE,
        text_config=LLAMA | {"model_type": "llama", "max_position_embeddings": 256},
    )  # fmt: skip
    return sharp(hf.SmolVLMForConditionalGeneration(config))


RATIOS = [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]]


def mllama() -> hf.MllamaForConditionalGeneration:
    """Llama 3.2: up to four tiles of 4 x 4 patches, which the second layer of text looks at."""
    vision = {"hidden_size": 16, "num_hidden_layers": 2, "num_global_layers": 1, "patch_size": 2,
              "attention_heads": 2, "intermediate_size": 24, "image_size": 8, "max_num_tiles": 4,
              "intermediate_layers_indices": [1], "vision_output_dim": 32,
              "supported_aspect_ratios": RATIOS}  # fmt: skip
    rope = {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}
    text = LLAMA | rope | {"num_hidden_layers": 3, "cross_attention_layers": [1]}
    config = hf.MllamaConfig(vision_config=vision, text_config=text, image_token_index=IMAGE)
    model = sharp(hf.MllamaForConditionalGeneration(config))
    for name, parameter in model.named_parameters():
        if "gate" in name:  # at 0 nothing of an image reaches the text
            parameter.data.fill_(1.0)
    return model

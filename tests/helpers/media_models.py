"""Tiny models of images with random parameters, and what eager says of each of their layers."""

from functools import cache

import numpy as np
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

"""A model of images and its processor from a folder, and images as the model takes them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from regard.errors import ArgumentError, FileError
from regard.watcher.files.model_folder import LOCAL, Loaded, check_folder, loading
from regard.watcher.media.picture_bytes import PictureBytes, need_pillow, pillow_image
from regard.watcher.watch import need_extra

PROCESSORS = ("preprocessor_config.json", "processor_config.json")
VISUAL = ("vision_config", "patch_size", "num_channels")


def load_image_folder(folder: Path) -> Loaded:
    """Load a model that takes images; ``tokenizer`` is None where it reads no text."""
    need_extra("watching a model")
    need_pillow("--image")
    import transformers

    if not (folder / "config.json").is_file():
        raise FileError(
            f"a model of images needs to be a folder with a config.json, but {folder} is none."
        )
    check_folder(folder, tokenizer=False)
    with loading(folder):
        config = transformers.AutoConfig.from_pretrained(folder, **LOCAL)
    _check_visual(folder, config)
    with loading(folder):
        processor = transformers.AutoProcessor.from_pretrained(folder, **LOCAL)
        writes = _writes(config)
        kind = transformers.AutoModelForImageTextToText if writes else transformers.AutoModel
        model = kind.from_pretrained(folder, **LOCAL, use_safetensors=True)
    tokenizer = getattr(processor, "tokenizer", None)
    two_sided = bool(getattr(config, "is_encoder_decoder", False))
    return Loaded(model.eval(), tokenizer, writes, two_sided, processor)


def _check_visual(folder: Path, config: Any) -> None:
    """Refuse models of text, and folders without the processor that says how images are read."""
    encoder = getattr(config, "encoder", config)
    if not any(hasattr(encoder, name) for name in VISUAL):
        raise ArgumentError(
            f"--image needs a model that takes images, but {folder} is a model of type "
            f"{config.model_type!r}: leave --image out, or take another folder."
        )
    if not any((folder / name).is_file() for name in PROCESSORS):
        raise FileError(
            f"{folder} needs the processor of its images beside the model, but it has none of "
            f"{', '.join(PROCESSORS)}: save it there with processor.save_pretrained."
        )


def _writes(config: Any) -> bool:
    names = " ".join(config.architectures or ())
    return "ForConditionalGeneration" in names or getattr(config, "is_encoder_decoder", False)


def image_inputs(loaded: Loaded, pictures: Sequence[PictureBytes], text: str) -> Any:
    """Images, and a text where the model reads one, as the model takes them."""
    images = [pillow_image(picture.data).convert("RGB") for picture in pictures]
    if loaded.tokenizer is None:
        if text:
            raise ArgumentError(
                f"{type(loaded.model).__name__} reads no text, but one is given: leave it out."
            )
        return loaded.processor(images=images, return_tensors="pt")
    if not text and not loaded.two_sided:
        raise ArgumentError(
            f"{type(loaded.model).__name__} needs a text beside its image, as in "
            'regard watch FOLDER "What is this?" --image cat.jpg.'
        )
    if loaded.two_sided:
        return loaded.processor(images=images, return_tensors="pt")
    return loaded.processor(
        text=_prompt(loaded.processor, text, len(images)), images=images, return_tensors="pt"
    )


def _prompt(processor: Any, text: str, images: int) -> str:
    """The text with a token for each image before it, in the model's form of a conversation."""
    token = getattr(processor, "image_token", None)
    if token is None or token in text:
        return text
    if getattr(processor, "chat_template", None):
        content = [{"type": "image"}] * images + [{"type": "text", "text": text}]
        message = [{"role": "user", "content": content}]
        return str(processor.apply_chat_template(message, add_generation_prompt=True))
    return f"{token * images}\n{text}"

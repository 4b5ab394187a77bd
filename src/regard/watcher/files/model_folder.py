"""A model, its tokenizer and its processor from a local folder or .gguf file.

Nothing is fetched, and no code of the folder is run.
"""

from __future__ import annotations

import contextlib
import importlib.util
import inspect
import io
import json
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from regard.errors import ArgumentError, FileError
from regard.watcher.media.picture_bytes import PictureBytes, need_pillow, pillow_image
from regard.watcher.seen import Seen
from regard.watcher.watch import Watching, need_extra, watch

TRANSLATION_TOKENS = 50  # that a translator writes where no number is given

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.txt", "vocab.json", "spiece.model",
              "source.spm", "tekken.json")  # fmt: skip
CONFIGS = ("config.json", "tokenizer_config.json", "preprocessor_config.json",
           "processor_config.json")  # fmt: skip
PICKLES = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
INDEX = ".safetensors.index.json"
LAYER_COUNTS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers",
                "decoder_layers", "num_decoder_layers")  # fmt: skip
MAX_LAYERS = 10_000  # far above any model's

# Nothing is fetched, and no code of the folder runs: transformers would ask on the terminal.
LOADING_OPTIONS = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True)
class Loaded:
    """A model and its tokenizer; ``writes`` if it generates, ``two_sided`` if it has an encoder."""

    model: Any
    tokenizer: Any
    writes: bool
    two_sided: bool
    processor: Any = None

    @property
    def layers(self) -> int:
        """Layers that one forward passes, as far as the configuration tells."""
        layers = getattr(self.model.config, "num_hidden_layers", 0) or 1
        return int(layers) * (2 if self.two_sided else 1)

    def check_writes(self, generate: int) -> None:
        if generate and not self.writes:
            raise ArgumentError(
                f"--generate needs a model that generates text; {type(self.model).__name__} only "
                "reads it."
            )

    def in_chat(self, text: str) -> str:
        """The text as a user's message in the model's chat template, up to where it answers."""
        if not getattr(self.tokenizer, "chat_template", None):
            raise ArgumentError("--chat needs a tokenizer with a chat template; this one has none.")
        from jinja2 import TemplateError

        messages = [{"role": "user", "content": text}]
        template = self.tokenizer.apply_chat_template
        try:
            return str(template(messages, tokenize=False, add_generation_prompt=True))
        except TemplateError as error:  # its sandbox's SecurityError too
            raise FileError(
                f"the model's chat template cannot be used: {error or type(error).__name__}. "
                "Leave out --chat."
            ) from None

    def inputs(self, text: str, more: int = 0, *, special: bool = True) -> Any:
        """The text as the model takes it, with room for ``more`` tokens; too long a one raises.

        ``special`` adds the tokenizer's own tokens, which a chat template has already.
        """
        inputs = self.tokenizer(
            text, return_tensors="pt", verbose=False, add_special_tokens=special
        )
        inputs.pop("token_type_ids", None)
        tokens = inputs["input_ids"].shape[1]
        most = getattr(self.model.config, "max_position_embeddings", None) or tokens + more
        name = type(self.model).__name__
        if more >= most:
            raise ArgumentError(
                f"--generate must be less than {most:,}, the tokens that {name} can read and "
                f"write, got {more:,}."
            )
        if not 0 < tokens <= most - more:
            raise ArgumentError(
                f"the text must have 1 to {most - more:,} tokens, as many as {name} can read"
                f"{' and write' if more else ''}, got {tokens:,}."
            )
        return inputs

    def read(self, inputs: Any) -> tuple[Any, Any]:
        """Logits (v) after a text, or the last hidden states (t, e) of a model that only reads."""
        parameters = inspect.signature(self.model.forward).parameters
        # Logits of every token of a long text would fill the memory.
        last = {"logits_to_keep": 1} if "logits_to_keep" in parameters else {}
        output = self.model(**inputs, **last)
        if self.writes and getattr(output, "logits", None) is not None:
            return output.logits[0, -1].detach(), None
        vectors_bte = getattr(output, "last_hidden_state", None)
        return None, None if vectors_bte is None else vectors_bte[0].detach()


@dataclass(frozen=True)
class TextRun:
    """A watched run of a text: what was seen, what was written, and what came out at its end.

    ``logits_v`` are those of the token after the text, None of a model that only reads; that one
    has ``vectors_te``, its last hidden states.
    """

    seen: Seen
    written: str
    logits_v: Any = None
    vectors_te: Any = None


def run_text(
    loaded: Loaded,
    text: str,
    generate: int = 0,
    *,
    chat: bool = False,
    changed: Callable[[Watching], Watching] = lambda block: block,
    **options: Any,
) -> TextRun:
    """Watch a model read a text and generate, the likeliest token each time.

    With ``chat`` the text is a message in the model's chat template. ``changed`` adds changes to
    the block, ``options`` are those of ``watch``.
    """
    import torch

    loaded.check_writes(generate)
    if loaded.two_sided:
        generate = generate or TRANSLATION_TOKENS
    text = loaded.in_chat(text) if chat else text
    inputs = loaded.inputs(text, 0 if loaded.two_sided else generate, special=not chat)
    block = changed(watch(loaded.model, tokenizer=loaded.tokenizer, **options))
    with torch.no_grad(), block as seen:
        if not generate:
            return TextRun(seen.with_text(text), "", *loaded.read(inputs))
        output = loaded.model.generate(
            **inputs, max_new_tokens=generate, do_sample=False, num_beams=1,
            return_dict_in_generate=True, output_logits=True,
        )  # fmt: skip
    start = 0 if loaded.two_sided else inputs["input_ids"].shape[1]
    written = loaded.tokenizer.decode(output.sequences[0][start:], skip_special_tokens=True)
    return TextRun(seen.with_text(text), str(written), output.logits[0][0])


def load_folder(path: str | Path) -> Loaded:
    """Load from a folder with config.json, or from a .gguf file (or a folder that holds one)."""
    need_extra("watching a model")
    from transformers import AutoTokenizer

    folder, options = _folder_and_file(Path(path))
    if not options:
        check_folder(folder)
    with loading(folder):
        tokenizer = AutoTokenizer.from_pretrained(folder, **LOADING_OPTIONS, **options)
        if options and asks_for_beginning(folder / options["gguf_file"]):
            tokenizer = with_beginning(tokenizer)
        model, writes, two_sided = _model(folder, options)
    return Loaded(model.eval(), tokenizer, writes, two_sided)


@contextlib.contextmanager
def loading(folder: Path) -> Iterator[None]:
    """A block in which transformers loads without a word, and what goes wrong is one sentence."""
    from safetensors import SafetensorError
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # progress bars without a switch
            yield
    except SafetensorError as error:
        raise FileError(
            f"{folder} cannot be loaded as a model: a file of its weights is cut short or damaged "
            f"({error}). Copy or fetch the folder again."
        ) from None
    except Exception as error:  # whatever transformers makes of the files of a folder
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if "ignore_mismatched_sizes" in first:  # points at a report that was silenced
            first = "its config.json and its weights differ in a size"
        raise FileError(f"{folder} cannot be loaded as a model: {first}") from None


def is_gguf(path: Path) -> bool:
    """Whether a path is a file of llama.cpp."""
    return path.is_file() and path.suffix.lower() == ".gguf"


def _folder_and_file(path: Path) -> tuple[Path, dict[str, Any]]:
    """The folder, and the options that name a .gguf file in it."""
    if is_gguf(path):
        return _gguf(path)
    path = path if path.exists() else hub_folder(path)
    if not path.is_dir():
        raise FileError(
            f"a model must be a folder on this machine or a name in the local Hugging Face cache, "
            f"and {path} {'is a file' if path.exists() else 'does not exist'}. Save one first, for "
            "instance with model.save_pretrained; regard downloads nothing."
        )
    if (path / "config.json").is_file():
        return path, {}
    files = sorted(path.glob("*.gguf"))
    if len(files) == 1:
        return _gguf(files[0])
    raise FileError(
        f"{path} must have a config.json (or one .gguf file) to be a model, and it has "
        f"{'several .gguf files: name one' if files else 'neither'}."
    )


def hub_folder(name: Path) -> Path:
    """The folder of a model by its Hub name, such as org/model, where it was fetched before."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name.as_posix(), local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError, OSError):
        return name


def _gguf(file: Path) -> tuple[Path, dict[str, Any]]:
    missing = [x for x in ("gguf", "accelerate") if importlib.util.find_spec(x) is None]
    if missing:
        raise FileError(
            f"{file.name} needs {' and '.join(missing)} to be read, not installed here: "
            f"pip install {' '.join(missing)}."
        )
    return file.parent, {"gguf_file": file.name}


def check_folder(folder: Path, tokenizer: bool = True) -> None:
    """Refuse code and pickled weights, which run code when read, before anything is loaded."""
    configs = {name: _json(folder / name) for name in CONFIGS if (folder / name).is_file()}
    if any(config.get("auto_map") for config in configs.values()):
        raise FileError(
            f"{folder} cannot be loaded as a model: it needs Python code of its own, which regard "
            "does not run."
        )
    if tokenizer and not any((folder / name).is_file() for name in TOKENIZERS):
        raise FileError(
            f"{folder} must hold a tokenizer with the model, and it has none of "
            f"{', '.join(TOKENIZERS)}: save it there with tokenizer.save_pretrained."
        )
    weights = _weight_files(folder, configs["config.json"])
    _check_layers(folder, configs["config.json"])
    pickled = [name for name in weights if not name.endswith(".safetensors")]
    if pickled or not weights:
        given = f"{pickled[0]}, a pickle that can run code when it is read" if pickled else "none"
        raise FileError(
            f"{folder} must hold its weights as safetensors, and it has {given}. Save the model "
            "again with model.save_pretrained, which writes safetensors."
        )


def _check_layers(folder: Path, config: dict[str, Any]) -> None:
    """Refuse a number of layers that would be built for minutes before the weights are compared."""
    for name in LAYER_COUNTS:
        layers = config.get(name)
        if isinstance(layers, int) and layers > MAX_LAYERS:
            raise FileError(
                f"{folder} cannot be loaded as a model: its config.json has {name} = {layers:,}, "
                f"more than the {MAX_LAYERS:,} layers that regard builds."
            )


def _weight_files(folder: Path, config: dict[str, Any]) -> list[str]:
    """The files that the weights are read from; pickles only where there are no safetensors."""
    explicit = config.get("transformers_weights")
    name = str(explicit) if explicit is not None else "model.safetensors"
    if not name.endswith(INDEX) and (explicit is not None or (folder / name).is_file()):
        return [name]
    index = folder / (name if name.endswith(INDEX) else f"model{INDEX}")
    if index.is_file():
        shards = _json(index).get("weight_map")
        return sorted(map(str, shards.values())) if isinstance(shards, dict) else []
    return sorted(path.name for path in folder.iterdir() if path.suffix.lower() in PICKLES)


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FileError(
            f"{path} must be a JSON file of a model, and it cannot be read: {error}."
        ) from None
    if not isinstance(content, dict):
        raise FileError(f"{path} must be a JSON object, got {type(content).__name__}.")
    return content


def _model(folder: Path, options: dict[str, Any]) -> tuple[Any, bool, bool]:
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder, **LOADING_OPTIONS, **options)
    if any(hasattr(config, name) for name in ("num_mel_bins", "feat_extract_norm")):
        raise FileError(
            f"a model of type {config.model_type!r} takes sound, not text. Watch it in Python, as "
            "docs/watch-details.md shows: regard.watch(model, processor=processor)."
        )
    # A .gguf file names no class; what llama.cpp runs are models that write.
    names = " ".join(config.architectures or ()) or ("CausalLM" if options else "")
    writes = any(x in names for x in ("CausalLM", "LMHead", "ForConditionalGeneration", "MTModel"))
    kind = transformers.AutoModel
    if config.is_encoder_decoder:
        kind = transformers.AutoModelForSeq2SeqLM
    elif writes:
        kind = transformers.AutoModelForCausalLM
    safe = {} if options else {"use_safetensors": True}
    model = kind.from_pretrained(folder, **LOADING_OPTIONS, **safe, **options)
    return model, writes or config.is_encoder_decoder, bool(config.is_encoder_decoder)


NUMBER_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q",
           11: "<q", 12: "<d"}  # fmt: skip
STRING, ARRAY = 8, 9
# Of a file that does not say it, llama.cpp reads these with a beginning-of-text token.
WITH_BEGINNING = frozenset({"llama", "llama-bpe"})


def asks_for_beginning(path: Path) -> bool:
    """Whether a text begins with the beginning-of-text token, as the header of a file says."""
    header = read_header(path)
    kinds = {header.get(f"tokenizer.ggml.{name}") for name in ("model", "pre")}
    default = bool(kinds & WITH_BEGINNING)
    return bool(header.get("tokenizer.ggml.add_bos_token", default))


def read_header(path: Path) -> dict[str, Any]:
    """The fields of a header that are one number or one string; arrays are skipped."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                raise FileError(f"{path} must be a .gguf file, and it does not begin as one.")
            _read(file, "<I")
            _read(file, "<Q")
            fields = (_field(file) for _ in range(_read(file, "<Q")))
            return {name: value for name, value in fields if value is not None}
    except (EOFError, struct.error, UnicodeDecodeError, OverflowError, RecursionError):
        raise FileError(
            f"{path} must have the header of a .gguf file, and it is cut short or damaged."
        ) from None


def with_beginning(tokenizer: Any) -> Any:
    """A tokenizer that puts the beginning-of-text token before every text, once."""
    begins = tokenizer("a")["input_ids"][:1] == [tokenizer.bos_token_id]
    if not begins and tokenizer.bos_token_id is not None:
        tokenizer.add_bos_token = True
        tokenizer.update_post_processor()
    return tokenizer


def _field(file: BinaryIO) -> tuple[str, Any]:
    name, kind = _string(file), _read(file, "<I")
    return name, _value(file, kind)


def _value(file: BinaryIO, kind: int) -> Any:
    if kind == STRING:
        return _string(file)
    if kind != ARRAY:
        return _read(file, NUMBER_FORMATS.get(kind, "?<"))
    inner, length = _read(file, "<I"), _read(file, "<Q")
    if inner in NUMBER_FORMATS:
        size = struct.calcsize(NUMBER_FORMATS[inner]) * length
        _check_size(file, size)
        file.seek(size, 1)
    else:
        for _ in range(length):
            _value(file, inner)
    return None


def _string(file: BinaryIO) -> str:
    return _bytes(file, _read(file, "<Q")).decode("utf-8")


def _read(file: BinaryIO, form: str) -> Any:
    return struct.unpack(form, _bytes(file, struct.calcsize(form)))[0]


def _bytes(file: BinaryIO, number: int) -> bytes:
    _check_size(file, number)
    return file.read(number)


def _check_size(file: BinaryIO, number: int) -> None:
    """Raise where a file does not have so many bytes left."""
    if file.tell() + number > os.fstat(file.fileno()).st_size:
        raise EOFError


PROCESSORS = ("preprocessor_config.json", "processor_config.json")
VISUAL_SETTINGS = ("vision_config", "patch_size", "num_channels")


def load_image_folder(folder: Path) -> Loaded:
    """Load a model that takes images; ``tokenizer`` is None where it reads no text."""
    need_extra("watching a model")
    need_pillow("--image")
    import transformers

    if not (folder / "config.json").is_file():
        raise FileError(
            f"a model of images must be a folder with a config.json, and {folder} has none."
        )
    check_folder(folder, tokenizer=False)
    with loading(folder):
        config = transformers.AutoConfig.from_pretrained(folder, **LOADING_OPTIONS)
    _check_visual(folder, config)
    with loading(folder):
        processor = transformers.AutoProcessor.from_pretrained(folder, **LOADING_OPTIONS)
        writes = _writes(config)
        kind = transformers.AutoModelForImageTextToText if writes else transformers.AutoModel
        model = kind.from_pretrained(folder, **LOADING_OPTIONS, use_safetensors=True)
    tokenizer = getattr(processor, "tokenizer", None)
    two_sided = bool(getattr(config, "is_encoder_decoder", False))
    return Loaded(model.eval(), tokenizer, writes, two_sided, processor)


def _check_visual(folder: Path, config: Any) -> None:
    """Refuse models of text, and folders without the processor that says how images are read."""
    encoder = getattr(config, "encoder", config)
    if not any(hasattr(encoder, name) for name in VISUAL_SETTINGS):
        raise ArgumentError(
            f"--image needs a model that takes images, and {folder} is a model of type "
            f"{config.model_type!r}: leave --image out, or take another folder."
        )
    if not any((folder / name).is_file() for name in PROCESSORS):
        raise FileError(
            f"{folder} must hold the processor of its images with the model, and it has none of "
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
                f"{type(loaded.model).__name__} reads no text, and one is given: leave it out."
            )
        return loaded.processor(images=images, return_tensors="pt")
    if not text and not loaded.two_sided:
        raise ArgumentError(
            f"{type(loaded.model).__name__} needs a text with its image, as in "
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

"""A model and its tokenizer from a folder on this machine; nothing is fetched from anywhere."""

from __future__ import annotations

import contextlib
import importlib.util
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from regard.errors import FileError
from regard.watcher.watch import need_extra

TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.txt", "vocab.json", "spiece.model",
              "source.spm", "tekken.json")  # fmt: skip


# Nothing is fetched, and no code of the folder runs: transformers would ask on the terminal.
LOCAL = {"local_files_only": True, "trust_remote_code": False}


@dataclass(frozen=True)
class Loaded:
    """A model, its tokenizer, and whether it can go on writing."""

    model: Any
    tokenizer: Any
    writes: bool
    two_sided: bool


def load_folder(place: str | Path) -> Loaded:
    """Load from a folder with config.json, or from a .gguf file (or a folder that holds one)."""
    need_extra("watching a model")
    from transformers import AutoTokenizer
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    folder, options = _found(Path(place))
    if not options and not any((folder / name).is_file() for name in TOKENIZERS):
        raise FileError(
            f"{folder} needs a tokenizer beside the model, but it has none of "
            f"{', '.join(TOKENIZERS)}: save it there with tokenizer.save_pretrained."
        )
    try:
        with contextlib.redirect_stderr(io.StringIO()):  # bars that cannot be told to be quiet
            tokenizer = AutoTokenizer.from_pretrained(folder, **LOCAL, **options)
            model, writes, two_sided = _model(folder, options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        if "trust_remote_code" in str(error):
            first = "it needs Python code of its own, which regard does not run."
        raise FileError(f"{folder} cannot be loaded as a model: {first}") from None
    return Loaded(model.eval(), tokenizer, writes, two_sided)


def _found(place: Path) -> tuple[Path, dict[str, Any]]:
    """The folder, and which file in it where it is of llama.cpp's kind."""
    if place.is_file() and place.suffix == ".gguf":
        return _gguf(place)
    if not place.is_dir():
        raise FileError(
            f"a model needs to be a folder on this machine, but {place} is not there. Fetch one "
            "first, for instance with model.save_pretrained; regard fetches nothing."
        )
    if (place / "config.json").is_file():
        return place, {}
    files = sorted(place.glob("*.gguf"))
    if len(files) == 1:
        return _gguf(files[0])
    raise FileError(
        f"{place} needs a config.json (or one .gguf file) to be a model, but it has "
        f"{'several .gguf files: name one' if files else 'neither'}."
    )


def _gguf(file: Path) -> tuple[Path, dict[str, Any]]:
    missing = [x for x in ("gguf", "accelerate") if importlib.util.find_spec(x) is None]
    if missing:
        raise FileError(
            f"{file.name} needs {' and '.join(missing)} to be read, not installed here: "
            f"pip install {' '.join(missing)}."
        )
    return file.parent, {"gguf_file": file.name}


def _model(folder: Path, options: dict[str, Any]) -> tuple[Any, bool, bool]:
    import transformers

    config = transformers.AutoConfig.from_pretrained(folder, **LOCAL, **options)
    # A .gguf file names no class; what llama.cpp runs are models that write.
    names = " ".join(config.architectures or ()) or ("CausalLM" if options else "")
    writes = any(x in names for x in ("CausalLM", "LMHead", "ForConditionalGeneration", "MTModel"))
    kind = transformers.AutoModel
    if config.is_encoder_decoder:
        kind = transformers.AutoModelForSeq2SeqLM
    elif writes:
        kind = transformers.AutoModelForCausalLM
    model = kind.from_pretrained(folder, **LOCAL, **options)
    return model, writes or config.is_encoder_decoder, bool(config.is_encoder_decoder)

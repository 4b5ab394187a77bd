"""A small model with real sub-words, made once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from regard.text.subwords import UnigramModel
from regard.transformer.checkpoint import save_model
from regard.transformer.model import Transformer

TEXT = (
    "A dog ate the food because it was hungry.",
    "The hungry dogs drank cold water, and they were happy!",
    "Un chien a mangé la nourriture parce qu'il avait faim.",
    "Les chiens affamés ont bu de l'eau froide; ils étaient heureux.",
    "I am good.",
    "Je suis bon.",
)


@pytest.fixture
def one_torch() -> Iterator[Any]:
    """PyTorch on one thread: on a busy machine two would mostly wait for each other."""
    torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[train]'")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield torch
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def tokens_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import sentencepiece

    from train.pieces import write_pieces

    path = tmp_path_factory.mktemp("tokens") / "tokens.model"
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(TEXT * 4), model_writer=file, vocab_size=340,
            hard_vocab_limit=False, byte_fallback=True, pad_id=0, unk_id=1, bos_id=2, eos_id=3,
            user_defined_symbols=list('.,?!;:"()'), minloglevel=2,
        )  # fmt: skip
    write_pieces(path, path.with_suffix(".txt"))
    return path.with_suffix(".txt")


@pytest.fixture(scope="session")
def model(tokens_path: Path) -> Transformer:
    """Untrained; what it says means nothing, but every number must still add up."""
    tokens = UnigramModel.from_file(tokens_path)
    return Transformer.random(
        layers=3, heads=4, width=32, feed_forward_width=48, seed=5, tokenizer=tokens, vocabulary=340
    )


@pytest.fixture(scope="session")
def folder(model: Transformer, tokens_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model as model/train would write it."""
    place = tmp_path_factory.mktemp("model")
    save_model(place, model.config, model.parameters(), {"name": "tiny"})
    (place / "tokens.txt").write_bytes(tokens_path.read_bytes())
    return place

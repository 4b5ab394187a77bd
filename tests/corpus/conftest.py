"""Small corpora and a small model, and surveys of them, made once."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import regard
from regard.text.subwords import UnigramModel
from regard.transformer.checkpoint import save_model
from regard.transformer.model import Transformer

pytest.importorskip("pyarrow", reason="needs pyarrow: pip install '.[survey]'")


WORDS = ("dog", "cat", "robot", "teacher", "child", "river")
TEMPLATES = (
    "The {a} saw the {b}.",
    "A {a} and a {b} went to the {c}, and the {a} came back.",
    "Why did the {a} leave the {b} with the {c}?",
    "{a} {b}",
)


def sentences(number: int) -> list[str]:
    """So many sentences, all of them different in some word or other."""
    found = []
    for i in range(number):
        a, b, c = (WORDS[(i * step + i // 7) % len(WORDS)] for step in (1, 2, 5))
        found.append(TEMPLATES[i % len(TEMPLATES)].format(a=a, b=b, c=c))
    return found


@pytest.fixture(autouse=True)
def _workers_without_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of a pool that need not import what started them, which is pytest."""
    program = sys.modules["__main__"]
    monkeypatch.setattr(program, "__spec__", None)
    monkeypatch.delattr(program, "__file__", raising=False)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small untrained model with real sub-words, as model/train would write it."""
    import sentencepiece

    from train.pieces import write_pieces

    folder = tmp_path_factory.mktemp("model")
    with (folder / "tokens.model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences(60) * 4), model_writer=file, vocab_size=320,
            hard_vocab_limit=False, byte_fallback=True, pad_id=0, unk_id=1, bos_id=2, eos_id=3,
            minloglevel=2,
        )  # fmt: skip
    write_pieces(folder / "tokens.model", folder / "tokens.txt")
    model = Transformer.random(
        layers=2, heads=4, width=32, feed_forward_width=48, seed=5,
        tokenizer=UnigramModel.from_file(folder / "tokens.txt"), vocabulary=320,
    )  # fmt: skip
    save_model(folder, model.config, model.parameters(), {"name": "tiny"})
    return folder


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """120 documents, some of which cannot be read and one of which is far too long."""
    lines = [sentence.encode() for sentence in sentences(120)]
    lines[17], lines[40], lines[77] = b"", b"\xff\xfe no text", b"the river and the dog " * 200
    lines[99] = b"\xe2\x80\x8b\xe2\x80\x8b"
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_bytes(b"\n".join(lines))
    return path


@pytest.fixture(scope="session")
def surveyed(
    corpus: Path, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Any]:
    """A survey of the corpus by the small model into a new folder."""

    def run(out: Path | None = None, **options: Any) -> Any:
        target = tmp_path_factory.mktemp("survey") / "out" if out is None else out
        given = {"model": folder, "workers": 1, "batch": 8, **options}
        return regard.survey(given.pop("corpus", corpus), out=target, **given)

    return run


@pytest.fixture(scope="session")
def undisturbed(surveyed: Callable[..., Any]) -> Any:
    """What every other way must equal: the plain loop, from start to end."""
    return surveyed()

"""Made pairs: those that are aligned are drawn evenly from files sorted by length."""

import pytest

from regard.train.data import read_marked, write_pairs

pytest.importorskip("torch", reason="needs PyTorch: pip install '.[train]'")


@pytest.mark.parametrize(("most", "linked"), [(100, 14), (7, 7)])
def test_pairs_are_aligned_up_to_a_number_drawn_evenly(tmp_path, monkeypatch, most, linked):
    from regard.train import made as made_pairs

    monkeypatch.setattr(made_pairs, "ALIGNED_AT_MOST", most)
    texts = {"a": [("dog " * n, "chien " * n) for n in range(1, 11)], "b": [("cat", "chat")] * 4}
    for name, pairs in texts.items():
        write_pairs(tmp_path / f"{name}.tsv", pairs)
    files = {tmp_path / f"{name}.marked.tsv": tmp_path / f"{name}.tsv" for name in texts}
    made_pairs.make_aligned(files)
    marked = [read_marked(path) for path in files]
    assert [[pair.source for pair in pairs] for pairs in marked] == [
        [source.strip() for source, _ in pairs] for pairs in texts.values()
    ]
    rows = [row for row, pair in enumerate(marked[0]) if pair.links]
    assert rows[0] == 0
    assert rows[-1] == 9
    assert len(rows) + sum(bool(pair.links) for pair in marked[1]) == linked


def test_preferences_come_of_all_sources_of_a_recipe_and_have_no_labels(tmp_path):
    """From the pairs' sources and the text in one language; only padding is to be predicted."""
    from regard.train.data import load_tokens
    from regard.train.dataset import gather
    from regard.train.made import make_marked
    from regard.train.recipe import read_recipe
    from regard.transformer.checkpoint import SHIPPED, TOKENS
    from regard.transformer.config import PAD

    animals = [f"The {x} was barking at me." for x in ("dog", "puppy", "wolf", "fox")]
    things = [f"I opened the {x} yesterday." for x in ("door", "window", "box", "drawer")]
    write_pairs(tmp_path / "pairs.tsv", [(x, "Il aboyait.") for x in animals])
    (tmp_path / "english.txt").write_text("\n".join(things), encoding="utf-8")
    (tmp_path / "recipe.toml").write_text(
        """
        [text]
        source = ["english.txt"]
        [[taught]]
        part = "encoder"
        layer = 1
        head = 0
        of = "anaphora"
        [[round]]
        name = "only"
        steps = 1
        corpus = [{ path = "pairs.tsv" }, { made = "preferences" }]
        """,
        encoding="utf-8",
    )
    job = read_recipe(tmp_path / "recipe.toml", tmp_path / "out")
    job.folder.mkdir()
    make_marked(job)
    marked = read_marked(job.folder / "preferences.tsv")
    assert any("barking" in x.source for x in marked)
    assert any("opened" in x.source for x in marked)
    pairs = gather(job.rounds[0], load_tokens(SHIPPED / TOKENS), job.hyperparameters).pairs
    labels = [set(x) for x in pairs.target.padded(PAD).tolist()]
    assert sum(x == {PAD} for x in labels) == len(marked)
    assert len(labels) == len(marked) + len(animals)
    assert pairs.links.lengths.tolist() == [0] * len(animals) + [1] * len(marked)

"""Made pairs: those that are aligned are drawn evenly from files sorted by length."""

import pytest

from regard.transformer.train.data import read_marked, write_pairs

pytest.importorskip("torch", reason="needs PyTorch: pip install '.[train]'")


@pytest.mark.parametrize(("most", "linked"), [(100, 14), (7, 7)])
def test_pairs_are_aligned_up_to_a_number_drawn_evenly(tmp_path, monkeypatch, most, linked):
    from regard.transformer.train import made_pairs

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

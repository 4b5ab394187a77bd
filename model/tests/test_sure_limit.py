"""The limit of 'sure' is chosen on text of its own: kept back, and unlike any that judges."""

from anaphora.stories import stories, story_pairs
from judge.everyday import everyday_pairs
from judge.frames import all_sentences
from judge.sure_limit import Row, kept_back_stories, rows, table


def test_the_stories_are_out_of_training_and_not_the_judges():
    told = {x.source for x in kept_back_stories()}
    taught = [x for x in stories() if not x.is_kept_back]
    assert len(told) > 1000
    assert not told & {x.source for x in story_pairs(taught, 48, 1)}
    assert not told & {x.sentence for x in all_sentences(everyday_pairs())}


def test_a_row_is_right_on_its_link(model):
    marked = kept_back_stories()[:2]
    for row, one in zip(rows(model, marked, (0, 0)), marked, strict=True):
        assert row.pronoun in (
            "it",
            "they",
            "he",
            "she",
            "its",
            "their",
            "his",
            "her",
            "them",
            "him",
        )
        assert 0 < row.largest <= 1, one


def test_the_table_counts_by_limit():
    told = [Row("it", 0.9995, True, True), Row("it", 0.995, True, False)]
    shown = table(told, [Row("it", 0.9999, True, False), Row("it", 1.0, False, True)])
    by_limit = {x.split()[0]: x for x in shown.splitlines()[1:] if " it " in x}
    assert "1 of    2 100.0 %   1 of 2" in by_limit["0.999"]
    assert "2 of    2  50.0 %   1 of 2" in by_limit["0.99"]

"""Worksheets: the key follows from the printed numbers, and the HTML prints."""

import math
import re
from decimal import ROUND_HALF_UP, Decimal
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from regard.errors import ArgumentError, FileError
from regard.textbook.examples import EXAMPLES, run_example
from regard.textbook.steps import Steps, attend, self_attention
from regard.view.worksheet.arithmetic import half_up
from regard.view.worksheet.worksheet import by_hand

HOSTILE = "</script><img src=x onerror=alert(1)>"


class Printed(HTMLParser):
    """The text of a document, and its tags."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.texts = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_data(self, text):
        self.texts.append(text)

    @property
    def text(self) -> str:
        return "".join(self.texts)


def by_calculator(expression: str, decimals: int) -> str:
    """Work an expression out as a reader would, and round it half up."""
    text = expression.replace("−", "-").replace("·", "*").replace("/ √", "/ root ")
    text = re.sub(r"\* -", "* -", text)
    power = re.fullmatch(r"e\^\(?(-?[\d.]+)(?: - \(?(-?[\d.]+)\)?)?\)?", text)
    if power:
        value = math.exp(float(Decimal(power[1]) - Decimal(power[2] or "0")))
    elif "root" in text:
        top, _, width = text.partition(" / root ")
        value = float(top) / math.sqrt(float(width))
    elif " / " in text:
        part, _, whole = text.partition(" / ")
        value = float(Decimal(part) / Decimal(whole))
    else:
        value = float(sum(_product(term) for term in text.split(" + ")))
    unit = Decimal(1).scaleb(-decimals)
    exact = Decimal(repr(round(value, 9)))
    return str(exact.quantize(unit, ROUND_HALF_UP)).replace("-", "−")


def _product(term: str) -> Decimal:
    return math.prod((Decimal(factor) for factor in term.split(" * ")), start=Decimal(1))


def decimals_of(text: str) -> int:
    return len(text.partition(".")[2])


def unsigned_zero(text: str) -> str:
    return text.lstrip("−") if not text.strip("−0.") else text


def assert_key_follows(sheet) -> None:
    for blank in sheet.blanks:
        found = by_calculator(blank.expression, decimals_of(blank.answer))
        assert unsigned_zero(found) == blank.answer, blank


def printed_numbers(sheet, stage: str) -> set[str]:
    """What a reader has of a stage: printed, or worked out before."""
    digits = sheet.printed.decimals_of[stage]
    return {f"{x:.{digits}f}".replace("-", "−") for x in sheet.printed.array(stage).ravel()}


@pytest.mark.parametrize("every_row", [False, True])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_key_of_each_example_follows_from_the_sheet(name, every_row):
    sheet = run_example(name).steps.worksheet(every_row=every_row)
    assert len(sheet.blanks) >= 13
    assert_key_follows(sheet)


@settings(max_examples=40, deadline=None)
@given(
    words=st.integers(1, 6),
    width=st.integers(1, 5),
    causal=st.booleans(),
    size=st.sampled_from([0.3, 2.0, 9.0]),
    seed=st.integers(0, 999),
)
def test_the_key_follows_for_any_steps(words, width, causal, size, seed):
    rng = np.random.default_rng(seed)
    matrices = [rng.normal(0, 1, (width, width)) for _ in range(3)]
    steps = self_attention(rng.normal(0, size, (words, width)), *matrices, causal=causal)
    assert_key_follows(steps.worksheet(every_row=True))


@pytest.mark.parametrize("name", EXAMPLES)
def test_operands_stand_on_the_sheet(name):
    """Each operand of the key is printed in the table that the step takes it from."""
    sheet = run_example(name).steps.worksheet(every_row=True)
    of = {"scaled": ["scores"], "output": ["weights", "value"], "scores": ["query", "key"]}
    for blank in sheet.blanks:
        stages = of.get(blank.stage)
        if stages:
            known = set().union(*(printed_numbers(sheet, stage) for stage in stages))
            operands = re.findall(r"(?<!√)(?<!\d)−?\d+(?:\.\d+)?", blank.expression)
            assert set(operands) <= known | {"64", "8"}, blank


def test_the_row_of_the_second_document_is_put_right():
    """On paper *robots* gets what two decimals can say of the true row, not what was printed."""
    sheet = run_example("robots").steps.worksheet("robots")
    answers = {blank.cell: blank.answer for blank in sheet.blanks}
    words = ("Smart", "robots", "perform", "complex", "tasks")
    found = [answers[f"weights[robots, {word}]"] for word in words]
    assert found == ["0.10", "0.20", "0.20", "0.10", "0.40"]
    assert [answers[f"output[robots, {i}]"] for i in (0, 1)] == ["0.50", "1.20"]


def test_blanks_are_boxes_and_their_answers_are_in_the_key_alone():
    sheet = run_example("robots").steps.worksheet("robots")
    with_key, without = Printed(sheet.html()), Printed(sheet.html(answers=False))
    boxes = [tag for tag, attributes in without.tags if attributes.get("class") == "box"]
    assert len(boxes) == len(sheet.blanks) == 29
    for blank in sheet.blanks:
        assert f"{blank.cell} = {blank.expression} = {blank.answer}" in with_key.text
        assert blank.expression not in without.text or len(blank.expression) < 4
    assert "Key" not in without.text
    assert "size: A4" in sheet.html()
    assert "article { break-before: page" in sheet.html()


def test_the_key_says_how_far_rounding_led_astray():
    steps = run_example("good").steps
    sheet = steps.worksheet()
    drift = np.abs(sheet.printed.steps.weights - steps.weights).max()
    assert f"weights differ by at most {drift:.3f}" in Printed(sheet.html()).text
    # Three of its steps round to 0.005 at most; a share of a row moves by less than twice that.
    assert drift < 0.01


@pytest.mark.parametrize("sentence", ["I am good", "the cat and the dog", "A dog ate the food"])
def test_a_sentence_gets_small_whole_numbers(sentence):
    steps = by_hand(sentence)
    x = steps.stages()["x"]
    assert (x == x.round()).all()
    assert np.abs(x).max() <= 4
    assert np.abs(steps.scaled).max() <= 8
    assert_key_follows(steps.worksheet(every_row=True))
    of = dict(zip(steps.words, x.tolist(), strict=True))
    assert [of[word] for word in steps.words] == x.tolist()
    np.testing.assert_array_equal(by_hand(sentence).output, steps.output)
    assert not np.array_equal(by_hand(sentence, seed=1).output, steps.output)


def test_a_causal_sheet_hides_what_comes_after():
    steps = self_attention(*[np.eye(2)] * 4, words=["yes", "no"], causal=True)
    sheet = steps.worksheet("yes")
    assert not any(blank.cell == "weights[yes, no]" for blank in sheet.blanks)
    assert "hidden" in sheet.html()
    assert_key_follows(sheet)


def test_one_head_of_several():
    rng = np.random.default_rng(0)
    matrices = [rng.normal(0, 1, (4, 4)) for _ in range(3)]
    steps = self_attention(rng.normal(0, 1, (3, 4)), *matrices, heads=2)
    first, second = (steps.worksheet(0, head=head) for head in (0, 1))
    assert_key_follows(second)
    assert first.blanks != second.blanks
    # Rounded at six places by at most 0.005 each, on numbers below 10: within a few hundredths.
    gap = np.abs(second.printed.steps.output - steps.sums[1]).max()
    assert gap == second.printed.drift["output"] < 0.1


def test_another_scale_is_said():
    sheet = attend(np.eye(2), np.eye(2), np.eye(2), scale=0.3).worksheet()
    assert "1 · 0.3" in {blank.expression for blank in sheet.blanks}
    assert_key_follows(sheet)


def test_text_is_shown_as_what_it_is():
    steps = self_attention(*[np.eye(2)] * 4, words=[HOSTILE, "مرحبا🙂" * 40])
    html = steps.worksheet(every_row=True, note=HOSTILE).html()
    found = Printed(html)
    assert "<img" not in html
    assert {tag for tag, _ in found.tags}.isdisjoint({"img", "script", "iframe"})
    assert HOSTILE in found.text


def test_what_cannot_be_done_by_hand_is_refused():
    many = self_attention(np.eye(13), *[np.eye(13)] * 3)
    with pytest.raises(ArgumentError) as error:
        many.worksheet()
    assert str(error.value) == (
        "a worksheet has room for 12 words, got 13: choose a shorter sentence."
    )
    with pytest.raises(ArgumentError, match="digits must be 1 to 4, got 9"):
        by_hand("I am").worksheet(digits=9)
    with pytest.raises(ArgumentError, match="width must be 1 to 4, to be worked out by hand"):
        by_hand("I am", width=9)


def test_saving(tmp_path):
    sheet = by_hand("I am good").worksheet()
    path = sheet.save(tmp_path / "sheet.html", answers=False)
    assert path.read_text(encoding="utf-8") == sheet.html(answers=False)
    with pytest.raises(FileError, match=r"nowhere.sheet.html cannot be written: its folder does"):
        sheet.save(tmp_path / "nowhere" / "sheet.html")


def test_half_up_is_not_to_even():
    assert half_up(np.array([0.125, 0.135, 2.675, -0.125]), 2).tolist() == [0.13, 0.14, 2.68, -0.13]


def test_steps_know_their_worksheet():
    assert isinstance(run_example("robots").steps, Steps)
    assert regard.Steps.worksheet.__doc__


A4 = (595, 842)  # points


def pages(pdf: bytes) -> list[tuple[int, int]]:
    """The sizes of the pages, in points."""
    boxes = re.findall(rb"/MediaBox\s*\[\s*0 0 ([\d.]+) ([\d.]+)\s*\]", pdf)
    return [(round(float(width)), round(float(height))) for width, height in boxes]


@pytest.mark.parametrize("name", ["robots", "good"])
def test_it_prints_on_a4_with_the_key_apart(offline_page, name):
    steps = run_example(name).steps
    page = offline_page(steps.worksheet().html())
    with_key = pages(page.pdf(prefer_css_page_size=True))
    page = offline_page(steps.worksheet().html(answers=False))
    without = pages(page.pdf(prefer_css_page_size=True))
    assert len(with_key) > len(without) >= 1
    assert all(abs(a - b) <= 1 for size in with_key for a, b in zip(size, A4, strict=True))


def test_nothing_is_wider_than_the_paper(offline_page, sideways):
    """Twelve long words, 182 mm of room: 688 pixels."""
    sentence = " ".join(f"extraordinarily{letter}" for letter in "abcdefghijkl")
    page = offline_page(by_hand(sentence).worksheet(every_row=True).html(), width=720)
    page.emulate_media(media="print")
    assert sideways(page) == 0

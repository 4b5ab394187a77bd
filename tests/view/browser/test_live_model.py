"""A model that stays loaded, in a real browser: type, write, switch a head off, turn a row."""

import re
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install '.[models]'")
hf = pytest.importorskip("transformers", reason="needs it: pip install '.[models]'")

from tests.helpers.planted_model import planted_model, planted_tokenizer  # noqa: E402

import regard  # noqa: E402
from regard.view.page.live import LiveModel  # noqa: E402
from regard.watcher.files.model_folder import Loaded  # noqa: E402

TEXT = "the lighthouse number is seven nine four . what a river sang . the lighthouse number is"
WORDS = TEXT.split()
LAST = len(WORDS) - 1
SHOWN = ".text-frame:visible"


@pytest.fixture(scope="module")
def home(serve) -> str:
    loaded = Loaded(planted_model(), planted_tokenizer(), True, False)
    return serve(live=LiveModel(loaded, "planted", TEXT))


@pytest.fixture
def live_page(home, new_page, noticed):
    """A function that opens the model at a state."""
    noticed.homes.append(home)

    def opened(fields: str = "", **options: Any) -> Any:
        page = new_page(**options)
        page.goto(f"{home}/#map{fields}")
        settled(page)
        return page

    return opened


def settled(page: Any) -> None:
    page.locator(".view.map:not(.loading) .row-list li").first.wait_for()
    page.locator(".odds-list li").first.wait_for()


# The middles of elements, once all are there and none has moved for ten frames.
MIDDLES = """(selectors) => {
  const boxes = selectors.map((one) => document.querySelector(one)?.getBoundingClientRect());
  if (!boxes.every((box) => box?.width)) return null;
  const found = boxes.map(({ x, y, width, height }) => [x + width / 2, y + height / 2]);
  const same = JSON.stringify(found) === JSON.stringify(window.formerMiddles);
  window.sameFrames = same ? window.sameFrames + 1 : 0;
  window.formerMiddles = found;
  return window.sameFrames < 10 ? null : found;
}"""


def drag(page: Any, start: str, end: str) -> None:
    first, last = page.wait_for_function(MIDDLES, arg=[start, end]).json_value()
    page.mouse.move(*first)
    page.mouse.down()
    page.mouse.move(*last, steps=5)
    page.mouse.up()


def odds(page: Any) -> dict[str, tuple[float, ...]]:
    """The next tokens with the shares that the page tells: before and after, or one."""
    found = {}
    for item in page.locator(".odds-list li").all():
        shares = item.locator(".number").all_inner_texts()
        numbers = [float(re.search(r"[\d.]+", share)[0]) / 100 for share in shares]
        found[item.locator(".token").inner_text()] = tuple(numbers)
    return found


def expected(*changes: Any) -> dict[str, tuple[float, float]]:
    block = regard.watch(planted_model(), tokenizer=planted_tokenizer())
    for change in changes:
        block = change(block)
    with torch.no_grad(), block as seen:
        planted_model()(**planted_tokenizer()(TEXT, return_tensors="pt"))
    return {one.word: (one.before, one.after) for one in seen.outcome.next_tokens(8)}


def compare(shown: dict, true: dict) -> None:
    assert len(shown) >= 5
    for word, shares in shown.items():
        assert shares == pytest.approx(true[word], abs=0.006)  # whole percents are written


def test_a_round_of_experiments_gives_what_watch_gives(live_page, until):
    page = live_page(f"?layer=1&head=0&row={LAST}")
    assert page.locator(".statement").inner_text() == "is looks at seven, 100 %"
    assert next(iter(odds(page))) == "seven"
    page.get_by_role("button", name="Switch this head off").click()
    page.get_by_role("button", name="Switch this head on again").wait_for()
    page.locator(".odds-list.both").wait_for()
    compare(odds(page), expected(lambda block: block.ablate(1, 0)))
    assert "changes=ablate.decoder.1.0" in page.url
    assert page.locator(".run-about").inner_text().endswith("It is switched off.")
    page.locator(".tried li", has_text="layer 1, head 0 is switched off").wait_for()
    page.get_by_role("button", name="Undo").click()
    page.locator(".odds-list:not(.both)").wait_for()
    # The token that the row is to be turned to: chosen with Shift.
    page.locator(f'{SHOWN} [data-t="{WORDS.index("river")}"]').click(modifiers=["Shift"])
    page.get_by_role("button", name="Make is look at river").click()
    page.locator(".statement", has_text="is is made to look at river").wait_for()
    river = WORDS.index("river")
    turn = (LAST, LAST + 1), (river, river + 1), 1, 0
    compare(odds(page), expected(lambda block: block.redirect(*turn)))
    former = page.locator(".row-list .former").first.inner_text()
    assert former == "< 0.001 %"  # what river had before
    page.get_by_role("button", name="Let is look freely").click()
    page.locator(".odds-list:not(.both)").wait_for()
    seven = WORDS.index("seven")
    page.locator(f'{SHOWN} [data-t="{seven}"]').click(modifiers=["Shift"])
    page.get_by_role("button", name="Strike seven out").click()
    page.locator(f'{SHOWN} .struck[data-t="{seven}"]').wait_for()
    compare(odds(page), expected(lambda block: block.knock_out((seven, seven + 1))))
    assert page.locator(".tried li").count() == 3
    page.reload()
    settled(page)
    page.locator(f'{SHOWN} .struck[data-t="{seven}"]').wait_for()


def test_the_head_that_is_switched_off_stays_chosen(live_page):
    page = live_page()
    about = page.locator(".run-about").inner_text()
    assert about.startswith("Layer 1, head 0 ")  # its figures change with the run, it does not
    page.get_by_role("button", name="Switch this head off").click()
    page.locator(".odds-list.both").wait_for()
    page.get_by_role("button", name="Switch this head on again").wait_for()
    told = page.locator(".run-about", has_text="It is switched off.").inner_text()
    assert told.startswith("Layer 1, head 0 ")


def test_the_line_is_dragged_to_another_token(live_page):
    page = live_page(f"?layer=1&head=0&row={LAST}")
    drag(page, ".text-arcs .foot", f'.text-frame [data-t="{WORDS.index("river")}"]')
    page.locator(".statement", has_text="is is made to look at river").wait_for()
    assert f"changes=redirect.{LAST}.{WORDS.index('river')}.decoder.1.0" in page.url


def test_what_is_written_changes_with_a_head_and_what_was_written_stays_beneath(live_page, until):
    page = live_page("?generate=10&layer=1&head=0")
    written = page.locator(f"{SHOWN} .t.written").all_text_contents()
    assert [word.strip() for word in written[:3]] == ["seven", "nine", "four"]
    assert len(written) == 10
    page.locator(".next-tokens h2", has_text="After your text comes").wait_for()
    lengths = page.get_by_label("How many tokens to write").locator("option").all_inner_texts()
    assert lengths == ["0", "10", "20", "50"]  # of 64 that the model can read
    assert page.locator(f"{SHOWN} .asking").get_attribute("data-t") == str(LAST)
    page.get_by_role("button", name="Switch this head off").click()
    page.locator(".former", has_text="before:").wait_for()
    assert "seven nine four" in " ".join(page.locator(".former").inner_text().split())
    assert page.locator(".former s").count() > 0
    page.locator(f"{SHOWN} .written.changed").first.wait_for()
    page.locator(f"{SHOWN} .written").first.click()  # what the model wrote cannot be changed
    page.locator(
        ".questions button:disabled", has_text="only tokens that it was given"
    ).first.wait_for()


def test_another_text_is_typed(live_page, until):
    page = live_page()
    field = page.get_by_label("A text for the model", exact=True).last
    field.fill("what a river sang . what a")
    page.get_by_role("button", name="Read it").click()
    page.locator(".run-title", has_text="7 tokens").wait_for()
    until(page, "location.hash.includes('text=what')")
    page.locator(".odds-list li", has_text="river").first.wait_for()
    field.focus()  # what it says is the text that is shown, wherever the cursor is
    page.go_back()
    page.locator(".run-title", has_text=f"{len(WORDS)} tokens").wait_for()
    assert field.input_value() == TEXT


def test_a_text_that_cannot_be_read_is_told_and_the_page_goes_on(live_page, noticed):
    noticed.expect("400")
    page = live_page()
    field = page.get_by_label("A text for the model", exact=True).last
    field.fill("river " * 80)
    field.press("Control+Enter")
    told = page.locator(".trouble", has_text="the text must have 1 to 64 tokens")
    told.wait_for()
    field.fill("what a river sang . what a")
    field.press("Control+Enter")
    page.locator(".odds-list li", has_text="river").first.wait_for()
    page.locator(".trouble:empty").wait_for(state="attached")


def test_every_size_fits(live_page, sideways, until):
    page = live_page(f"?generate=10&changes=ablate.decoder.1.0&row={LAST}")
    page.locator(".odds-list.both").wait_for()
    for width in (1440, 1024, 390):
        page.set_viewport_size({"width": width, "height": 844})
        until(page, lambda: sideways(page) == 0)  # the map is drawn for it with the next frames


def test_without_a_text_one_is_asked_for(serve, new_page, noticed):
    loaded = Loaded(planted_model(), planted_tokenizer(), True, False)
    noticed.homes.append(serve(live=LiveModel(loaded, "planted")))
    page = new_page()
    page.goto(f"{noticed.homes[-1]}/#map")
    page.locator(".statement", has_text="What does your model look at?").wait_for()
    field = page.get_by_label("A text for the model", exact=True).last
    assert field.get_attribute("placeholder") == "Type a text for planted (GPT2LMHeadModel) to read"
    assert page.locator(".run-columns .map-canvas:visible").count() == 0
    assert field.evaluate("(one) => one === document.activeElement")
    example = page.locator(".model-examples button").first
    wanted = example.inner_text()
    example.click()
    settled(page)
    assert field.input_value() == wanted
    assert example.is_hidden()
    field.fill(TEXT)
    page.get_by_role("button", name="Read it").click()
    page.locator(".run-title", has_text=f"{len(WORDS)} tokens").wait_for()


def test_a_model_that_only_reads_says_so_and_shows_what_turned(serve, new_page, noticed):
    torch.manual_seed(0)
    config = hf.BertConfig(vocab_size=40, hidden_size=16, num_hidden_layers=2, intermediate_size=16,
                           num_attention_heads=2)  # fmt: skip
    loaded = Loaded(hf.BertModel(config).eval(), planted_tokenizer(), False, False)
    noticed.homes.append(serve(live=LiveModel(loaded, "bert", "the river sang to old hills")))
    page = new_page()
    page.goto(f"{noticed.homes[-1]}/#map?layer=0&head=1")
    told = page.locator(".next-tokens", has_text="BertModel only reads: it has no next token.")
    told.wait_for()
    assert page.get_by_label("How many tokens to write").is_hidden()
    page.get_by_role("button", name="Switch this head off").click()
    page.locator(".odds-list li", has_text="1 − cos").first.wait_for()

"""What holds in every view: hostile text, keyboard, phones, dark, tables, and nobody else asked."""

from itertools import product
from urllib.parse import quote_plus

import pytest

VIEWS = ("read", "steps", "map", "learn")
HOSTILE = "</script><img src=x onerror=alert(1)><b id='bold'>"
TEXTS = {
    "hostile": HOSTILE,
    "right to left": "مرحبا 👩‍👩‍👧 ﷽",
    "long": "Donaudampfschifffahrtselektrizitätenhauptbetriebswerk",
}
READY = {
    "read": ".arcs path",
    "steps": ".view.steps table, .view.steps canvas",
    "map": ".statement:not(:empty)",
    "learn": "[data-loaded] .choices button",
}

# Over when two frames have been drawn: whatever waited for the next one is there then.
NEXT_FRAMES = """() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(done));
})"""
# What has the focus: its tag, its id, and the name that is read aloud.
FOCUSED = """() => {
  const e = document.activeElement;
  if (!e || e === document.body) return "";
  const label = e.labels && e.labels[0] ? e.labels[0].textContent : "";
  const name = e.getAttribute("aria-label") || e.textContent.trim() || e.title || label || e.value;
  return [e.tagName, e.id, name].join("|").slice(0, 90);
}"""
# Text below 4.5 to 1 against what is behind it, or 3 to 1 where it is large.
TOO_FAINT = """() => {
  const light = (rgb) => {
    const [r, g, b] = rgb.match(/[\\d.]+/g).map((x) => {
      const c = Number(x) / 255;
      return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paper = light(getComputedStyle(document.documentElement).backgroundColor);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const faint = [];
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.checkVisibility()) continue;
    if (element.closest(":disabled, option, svg, [aria-hidden=true]")) continue;
    const style = getComputedStyle(element);
    const clear = style.backgroundColor === "rgba(0, 0, 0, 0)";
    const behind = clear ? paper : light(style.backgroundColor);
    const ink = light(style.color);
    const ratio = (Math.max(ink, behind) + 0.05) / (Math.min(ink, behind) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio >= (large ? 3 : 4.5)) continue;
    faint.push([ratio.toFixed(2), element.className, text.slice(0, 30)]);
  }
  return faint.map(String);
}"""

# What can be pressed and is smaller than 24 pixels; words of running text have a margin beyond.
TOO_SMALL = """() => [...document.querySelectorAll("button, select, summary, input, main a")]
  .filter((e) => e.checkVisibility() && !e.closest(".french, p, .only-read"))
  .map((e) => [e, (e.closest("label:has(> [type=checkbox])") || e).getBoundingClientRect()])
  .filter(([, box]) => box.width > 0 && (box.width < 23.9 || box.height < 23.9))
  .map(([e, box]) => `${e.className} ${e.textContent} ${box.width} x ${box.height}`)"""


# Controls whose name does not say what is seen of them: who speaks to the page could not call them.
MISNAMED = """() => [...document.querySelectorAll("button[aria-label], a[aria-label]")]
  .filter((e) => e.checkVisibility() && /[\\p{L}\\d]/u.test(e.innerText))
  .filter((e) => !e.getAttribute("aria-label").toLowerCase()
    .includes(e.innerText.trim().replace(/\\s+/g, " ").toLowerCase()))
  .map((e) => `${e.innerText}: ${e.getAttribute("aria-label")}`)"""


def shown(page, view: str, fields: str = "") -> None:
    """Open a view, and wait until it has drawn what it shows."""
    page.goto(f"/#{view}{fields}")
    page.locator(READY[view]).first.wait_for()
    page.evaluate(NEXT_FRAMES)  # the picture is drawn with the next frame


def sentence(text: str) -> str:
    return f"?sentence={quote_plus(text)}"


# Right to left is shown from a file in test_files.py.
@pytest.mark.parametrize(
    "kind", ["hostile", "long", pytest.param("right to left", marks=pytest.mark.nightly)]
)
def test_text_is_shown_as_what_it_is(new_page, sideways, kind):
    page = new_page(width=390, height=844)
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.message), dialog.dismiss()))
    for view in ("read", "steps", "map"):
        shown(page, view, sentence(TEXTS[kind]))
        assert asked == []
        assert page.locator("img, #bold, script:not([src])").count() == 0, view
        assert sideways(page) == 0, view


PAPER = "() => getComputedStyle(document.documentElement).backgroundColor"
# Pictures that nothing names.
SILENT = """() => [...document.querySelectorAll("canvas")].filter((c) => c.checkVisibility()
  && c.getAttribute("aria-hidden") !== "true" && !c.getAttribute("aria-label")
  && !c.closest("[aria-label], button[title]")).length"""


def test_every_view_fits_and_no_picture_is_silent_in_light_and_dark(page, sideways):
    """One page for all: a window made narrow and a scheme changed are what a reader does too."""
    for view, width, scheme in product(VIEWS, (1280, 390), ("light", "dark")):
        case = f"{view}, {width} wide, {scheme}"
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        shown(page, view)
        assert sideways(page) == 0, case
        red = int(page.evaluate(PAPER).split("(")[1].split(",")[0])
        assert (red < 128) is (scheme == "dark"), case
        assert page.evaluate(SILENT) == 0, case


def test_on_a_phone_everything_can_be_pressed_and_every_view_has_its_heading(new_page):
    page = new_page(width=390, height=844, has_touch=True)
    for view in VIEWS:
        shown(page, view)
        assert page.evaluate(TOO_SMALL) == [], view
        assert page.evaluate(MISNAMED) == [], view
        assert page.locator("h1").count() == 1, view


def test_what_stands_still_can_be_read(page):
    """Words that step back while others are chosen are left out: pointing brings them back."""
    for view, scheme in product(VIEWS, ("light", "dark")):
        page.emulate_media(color_scheme=scheme)
        shown(page, view, "?q=-" if view == "read" else "")
        assert page.evaluate(TOO_FAINT) == [], f"{view}, {scheme}"


def reached(page, most: int = 250) -> list[str]:
    """What Tab reaches, one after the other, until it comes round."""
    names = []
    for _ in range(most):
        page.keyboard.press("Tab")
        name = page.evaluate(FOCUSED)
        if not name:
            break
        names.append(name)
    return names


@pytest.mark.parametrize("view", VIEWS)
def test_the_keyboard_reaches_everything(page, view):
    shown(page, view)
    names = reached(page)
    assert names[0].startswith("A||Skip to the view")
    for link in ("Look", "Steps", "Map", "Learn"):
        assert f"A||{link}" in names
    # Whatever can be focused has a name that can be read aloud.
    assert [name for name in names if not name.split("|")[2].strip()] == []
    assert len(names) >= 9


def test_every_picture_has_a_table(page):
    """What a canvas shows, a table says too: by words, with headings that name rows and columns."""
    addresses = {"read": "?why=scores", "learn": "?answer=1"}
    for view in VIEWS:
        shown(page, view, addresses.get(view, ""))
        if view == "read":
            page.get_by_text("All numbers").click()
        opener, tables = page.get_by_text("As a table"), page.locator("main table")
        opener.or_(tables).first.wait_for()
        if opener.count():
            opener.first.click()
        table = tables.first
        for scope in ("col", "row"):  # waits, and fails where none comes
            table.locator(f"th[scope={scope}]").first.wait_for()


def test_what_is_said_reaches_listeners(page):
    shown(page, "read")
    page.locator("#announcement[role=status][aria-live=polite]:not(:empty)").wait_for(
        state="attached"
    )

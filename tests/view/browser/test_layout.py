"""No word is broken, no number parted from its %, no label over another, in four sizes."""

from typing import Any
from urllib.parse import urlencode

SENTENCE = "A dog ate the food because it was hungry"
REDIRECT = "redirect.6.4.encoder.3.6"
# The view, its state, and what is there when it is drawn.
VIEWS = {
    "read": ("read", {}, ".arcs text"),
    "why": ("read", {"why": "scores"}, ".bars text"),
    "shares": ("read", {"why": "weights"}, ".bars text"),
    "turn": ("read", {"why": "try"}, ".guesses"),
    "experiment": ("read", {"changes": REDIRECT}, ".tried .odds"),
    "space": ("map", {"as": "space", "layer": 3, "head": 6, "row": 6}, ".space .dot"),
    "flow": ("map", {"as": "flow", "row": 6}, ".flow-sums table"),
    "steps": ("steps", {}, ".path-map canvas"),
    "document": ("steps", {"from": "robots"}, ".claims table"),
    "map": ("map", {"row": 6}, ".row-list li"),
    "learn": ("learn", {"page": 3, "answer": 1}, ".verdict"),
}
FAULTS = """() => {
  const faults = [];
  const boxes = [];
  const lines = (range) => {
    const rects = [...range.getClientRects()].filter(({ width }) => width > 0.5);
    return new Set(rects.map(({ bottom }) => Math.round(bottom / 6))).size;
  };
  const isCut = (node, box) => {
    for (let one = node.parentElement; one; one = one.parentElement) {
      const { overflowX, overflowY, position } = getComputedStyle(one);
      if (position === "sticky" || position === "fixed") return true;
      const frame = one.getBoundingClientRect();
      const beyond =
        box.left < frame.left - 1 || box.right > frame.right + 1 || box.bottom > frame.bottom + 1;
      if (beyond && (overflowX !== "visible" || overflowY !== "visible")) return true;
    }
    return false;
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const parent = node.parentElement;
    if (!node.textContent.trim() || !parent.checkVisibility({ visibilityProperty: true })) continue;
    if (parent.closest("textarea, option, .skip, .only-read, .scene-title")) continue;
    const range = document.createRange();
    const over = ({ index, 0: text }) => {
      range.setStart(node, index);
      range.setEnd(node, index + text.length);
      return range;
    };
    for (const word of node.textContent.matchAll(/[^\\s\\-–—/…→]+/g)) {
      if (word[0].length < 18 && lines(over(word)) > 1) faults.push(`broken: ${word[0]}`);
      const box = over(word).getBoundingClientRect();
      if (box.width && !isCut(node, box)) boxes.push([word[0], node, box]);
    }
    for (const share of node.textContent.matchAll(/(< )?[\\d.]+ %/g))
      if (lines(over(share)) > 1) faults.push(`parted: ${share[0]}`);
  }
  boxes.sort(([, , a], [, , b]) => a.top - b.top);
  boxes.forEach(([one, node, a], at) => {
    for (let next = at + 1; next < boxes.length; next += 1) {
      const [other, second, b] = boxes[next];
      if (b.top > a.bottom) break; // and so are all that follow
      const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
      const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (node !== second && across > 2 && down > 5) faults.push(`${one} lies over ${other}`);
    }
  });
  for (const control of document.querySelectorAll("main :is(input, select, button)")) {
    let column = control.parentElement; // with a box of its own
    while (!column.matches("aside, section, main") || !column.clientWidth)
      column = column.parentElement;
    const [inner, outer] = [control, column].map((one) => one.getBoundingClientRect().right);
    const scrolls = control.closest(".wide, .path-map");
    if (control.checkVisibility() && !scrolls && inner > outer + 2)
      faults.push(`sticks out: ${control.textContent || control.className || control.title}`);
  }
  return [...new Set(faults)];
}"""


# On a phone every view; wider, those that are arranged in another way.
IN_WIDTH = {
    320: tuple(VIEWS),  # as a page enlarged four times on a desk of 1280
    390: tuple(VIEWS),
    1024: ("read", "why", "experiment", "space", "map"),
    1400: ("why", "space", "document", "map"),
}


SHIFTED = """(() => {
  globalThis.shifted = 0;
  new PerformanceObserver((list) => {
    for (const one of list.getEntries()) globalThis.shifted += one.value;
  }).observe({ type: "layout-shift", buffered: true });
})()"""

# Over when what a new width moves has been drawn.
NEXT_FRAMES = """() => new Promise((done) => {
  requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)));
})"""


def test_words_and_numbers_stay_in_one_piece_and_in_their_place(page, sideways):
    """Each view is opened once, on the narrowest phone, and made wider."""
    faults, shifted = {}, {}
    page.add_init_script(SHIFTED)
    for name, (view, state, ready) in VIEWS.items():
        page.set_viewport_size({"width": 320, "height": 900})
        page.goto("about:blank")  # another view of the same page would still show the one before
        page.goto(f"/#{view}?{urlencode({'sentence': SENTENCE, **state})}")
        page.locator(ready).first.wait_for()
        page.wait_for_load_state("networkidle")
        shifted[name] = page.evaluate("globalThis.shifted")
        for width in (width for width, names in IN_WIDTH.items() if name in names):
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(NEXT_FRAMES)
            assert sideways(page) == 0, f"{name}, {width} wide"
            faults[name, width] = page.evaluate(FAULTS)
    assert {case: some for case, some in faults.items() if some} == {}
    assert {case: most for case, most in shifted.items() if most >= 0.01} == {}


def test_labels_of_queries_and_keys_lie_apart_and_inside(page: Any):
    """A label without room is hidden; every dot has its name when it is pointed at."""
    page.goto("/#learn")
    labels = page.evaluate("""async () => {
      const { labelLayout } = await import("/run/space.js");
      const named = [0, 1, 2, 3, 4, 5].map((at) => ({ x: 100, y: 100 + 5 * at, text: "word" }));
      return labelLayout(named, { width: 400, height: 300, size: 14 });
    }""")
    shown = [label for label in labels if label]
    assert labels[0] is not None  # the first is the most important
    assert 0 < len(shown) < len(labels)

    # A label stays inside the picture.
    label = page.evaluate("""async () => {
      const { labelLayout } = await import("/run/space.js");
      const frame = { width: 200, height: 100, size: 14 };
      return labelLayout([{ x: 195, y: 50, text: "because" }], frame)[0];
    }""")
    assert label["anchor"] == "end"
    assert label["x"] == 195 - 8


def test_the_name_of_a_long_sentence_does_not_widen_its_map(page, sideways):
    sentence = "The cat that the old man saw near the house of his friend was hungry " * 3
    page.goto(f"/#map?{urlencode({'sentence': sentence.strip()})}")
    page.locator(".row-list li").first.wait_for()
    for width in (390, 1400):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(NEXT_FRAMES)
        assert sideways(page) == 0
        heads = page.locator(".heads-column").bounding_box()
        assert heads["x"] + heads["width"] <= width

"""What every view keeps: numbers readable, the focus where it was, what was pointed at early."""

from regard.transformer.reading import read

SENTENCE = "A dog ate the food because it was hungry"
POWERS = """async () => {
  const { powerParts, signedNumber } = await import("/lib/digits.js");
  const made = [];
  for (let exponent = 0; exponent >= -300; exponent -= 1)
    for (const first of [1, 4.96, 9.9999])
      for (const sign of [1, -1])
        for (const digits of [0, 1, 2, 4]) {
          const value = sign * Number(`${first}e${exponent}`);
          made.push([value, digits, ...powerParts(value, digits), signedNumber(value, digits)]);
        }
  return made;
}"""
REPLACED = """async () => {
  const { element, replace } = await import("/lib/dom.js");
  const button = (text) => element("button", { type: "button" }, text);
  const box = element("div");
  document.body.append(box);
  const kept = button("kept");
  const told = [];
  const focused = () => {
    const { activeElement: one } = document;
    told.push(one.matches("button") ? one.textContent : one.tagName);
  };
  replace(box, element("p", null, "above"), element("div", null, button("one"), button("two")));
  box.querySelectorAll("button")[1].focus();
  replace(box, element("p", null, "above"), element("div", null, button("one"), button("new two")));
  focused();
  replace(box, "and", kept);
  focused();
  kept.focus();
  replace(box, kept);
  focused();
  const other = button("elsewhere");
  document.body.append(other);
  other.focus();
  replace(box, button("not this"));
  focused();
  return told;
}"""


def test_powers_of_ten_are_the_number(page):
    """Weights from 1 to 1e-300, in every number of digits that the page writes."""
    page.goto("/#learn")
    for value, digits, written, exponent, plain in page.evaluate(POWERS):
        assert "NaN" not in written + exponent + plain
        number = float(f"{written}e{exponent or 0}".replace("−", "-"))
        if exponent or abs(value) >= 10**-digits:
            step = 0.5 * 10 ** (float(exponent.replace("−", "-")) - digits if exponent else -digits)
            # Half a step of the last digit, and the rounding of reading the text again.
            assert abs(number - value) <= step * (1 + 1e-9)
        assert float(plain.replace("−", "-")) == number


def test_what_had_the_focus_keeps_it_when_its_part_is_drawn_again(page):
    page.goto("/#learn")
    assert page.evaluate(REPLACED) == ["new two", "BODY", "kept", "elsewhere"]


def test_a_word_pointed_at_before_the_numbers_are_there_counts(page, until):
    waiting = []
    page.route("**/api/weights", lambda route: waiting.append(route), times=1)
    page.goto("/#read")
    until(page, lambda: bool(waiting))
    page.locator("button.word", has_text="food").hover()
    waiting[0].continue_()
    page.locator(".english .asking", has_text="food").wait_for()
    head = read(SENTENCE).highlight().link
    row = read(SENTENCE).weights(layer=head.layer, head=head.head)[4]
    page.locator(".arcs text", has_text=f"{100 * row.max():.0f} %").first.wait_for()


def test_a_drawing_that_changes_its_own_height_does_not_cut_its_motion(new_page, until):
    """At a fifth of the speed the line is seen on its way, between both nouns."""
    page = new_page(alone=True)
    page.emulate_media(reduced_motion="no-preference")
    page.add_init_script("""(() => {
      const [now, frame] = [performance.now.bind(performance), requestAnimationFrame];
      performance.now = () => now() / 5;
      globalThis.requestAnimationFrame = (draw) => frame((time) => draw(time / 5));
    })()""")
    page.goto(f"/#read?sentence={SENTENCE.replace(' ', '+')}")
    page.locator(".french .word").first.wait_for()
    page.locator(".foot").wait_for()
    page.evaluate("""() => {
      globalThis.seen = new Set();
      const look = () => {
        const arc = document.querySelector(".arc");
        if (arc) globalThis.seen.add(arc.getAttribute("d"));
        requestAnimationFrame(look);
      };
      look();
    }""")
    page.get_by_role("button", name="delicious").click()
    page.locator(".arcs text.two").wait_for()
    assert page.evaluate("globalThis.seen.size") > 10

// Pointing at words, clicking them, dragging over them, and all of it by keyboard.

const STEPS_OF_KEYS = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };

// lists { query, key }; returns a function that stops listening.
export function listenToWords(lists, handlers) {
  let drag = null; // where a drag began: { side, place, moved }
  let anchor = null; // where a span by keyboard began
  const placeOf = (event) => {
    const button = event.target.closest("button");
    return button ? Number(button.dataset.place) : null;
  };
  for (const [side, list] of Object.entries(lists)) {
    list.addEventListener("pointerover", (event) => {
      const place = placeOf(event);
      if (place === null) return;
      if (!drag) handlers.hover(side, place);
      else if (drag.side === side && event.buttons === 1 && place !== drag.place) {
        drag.moved = true;
        handlers.span(side, drag.place, place);
      }
    });
    list.addEventListener("pointerleave", () => handlers.hover(side, null));
    list.addEventListener("pointerdown", (event) => {
      const place = placeOf(event);
      if (place === null || event.button) return;
      drag = event.shiftKey || event.pointerType === "touch" ? null : { side, place, moved: false };
    });
    list.addEventListener("click", (event) => {
      const place = placeOf(event);
      if (place !== null && !(drag && drag.moved)) handlers.pick(side, place, event);
      drag = null;
    });
    list.addEventListener("focusin", (event) => {
      if (event.target.matches(":focus-visible")) handlers.hover(side, placeOf(event));
    });
    list.addEventListener("focusout", () => handlers.hover(side, null));
    list.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { handlers.clear?.(); return; }
      const place = placeOf(event);
      const next = place === null ? null : nextWord(event.key, lists, side, place);
      if (!next) return;
      event.preventDefault();
      event.target.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
      anchor = event.shiftKey ? anchor ?? place : null;
      if (event.shiftKey && next.dataset.side === side) handlers.span(side, anchor, Number(next.dataset.place));
    });
  }
  // A drag that ends elsewhere ends too; the click that may follow comes first.
  const lift = () => { if (drag) setTimeout(() => { drag = null; }); };
  window.addEventListener("pointerup", lift);
  return () => window.removeEventListener("pointerup", lift);
}

// The word that an arrow leads to: up and down a side, left and right between them.
function nextWord(key, lists, side, place) {
  const at = (list, to) => list.children[Math.max(0, Math.min(list.children.length - 1, to))].firstChild;
  if (key in STEPS_OF_KEYS) return at(lists[side], place + STEPS_OF_KEYS[key]);
  if (key === "ArrowRight" && side === "query") return at(lists.key, place);
  if (key === "ArrowLeft" && side === "key") return at(lists.query, place);
  return null;
}

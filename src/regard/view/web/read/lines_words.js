// Pointing at words, clicking them, dragging over them, and all of it by keyboard.

const STEPS_OF_KEYS = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity };

// lists { query, key }; returns a function that stops listening.
export function listenToWords(lists, handlers) {
  let drag = null; // where a drag began: { side, position, moved }
  let anchor = null; // where a span by keyboard began
  let pointer = null; // where it was moved to last
  const moved = (event) => {
    pointer = [event.clientX, event.clientY];
  };
  const positionOf = (event) => {
    const button = event.target.closest("button");
    return button ? Number(button.dataset.position) : null;
  };
  for (const [side, list] of Object.entries(lists)) {
    list.addEventListener("pointerover", (event) => {
      const position = positionOf(event);
      if (position === null) return;
      // A page that moves under a pointer at rest is not pointed at.
      if (pointer && pointer[0] === event.clientX && pointer[1] === event.clientY) return;
      if (!drag) handlers.hover(side, position);
      else if (drag.side === side && event.buttons === 1 && position !== drag.position) {
        drag.moved = true;
        handlers.span(side, drag.position, position);
      }
    });
    list.addEventListener("pointerleave", () => handlers.hover(side, null));
    list.addEventListener("pointerdown", (event) => {
      const position = positionOf(event);
      if (position === null || event.button) return;
      drag =
        event.shiftKey || event.pointerType === "touch" ? null : { side, position, moved: false };
    });
    list.addEventListener("pointerup", (event) => {
      const position = positionOf(event);
      if (position === null || !drag || drag.side !== "query" || side !== "key") return;
      handlers.drop?.(drag.position, position);
    });
    list.addEventListener("click", (event) => {
      const position = positionOf(event);
      if (position !== null && !(drag && drag.moved)) handlers.pick(side, position, event);
      drag = null;
    });
    list.addEventListener("focusin", (event) => {
      if (event.target.matches(":focus-visible")) handlers.hover(side, positionOf(event));
    });
    list.addEventListener("focusout", () => handlers.hover(side, null));
    list.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        handlers.clear?.();
        return;
      }
      const position = positionOf(event);
      const next = position === null ? null : nextWord(event.key, lists, side, position);
      if (!next) return;
      event.preventDefault();
      event.target.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
      anchor = event.shiftKey ? (anchor ?? position) : null;
      if (event.shiftKey && next.dataset.side === side)
        handlers.span(side, anchor, Number(next.dataset.position));
    });
  }
  // A drag that ends elsewhere ends too; the click that may follow comes first.
  const lift = () => {
    if (drag)
      setTimeout(() => {
        drag = null;
      });
  };
  window.addEventListener("pointerup", lift);
  window.addEventListener("pointermove", moved);
  return () => {
    window.removeEventListener("pointerup", lift);
    window.removeEventListener("pointermove", moved);
  };
}

// The word that an arrow leads to: up and down a side, left and right between them.
function nextWord(key, lists, side, position) {
  const at = (list, to) =>
    list.children[Math.max(0, Math.min(list.children.length - 1, to))].firstChild;
  if (key in STEPS_OF_KEYS) return at(lists[side], position + STEPS_OF_KEYS[key]);
  if (key === "ArrowRight" && side === "query") return at(lists.key, position);
  if (key === "ArrowLeft" && side === "key") return at(lists.query, position);
  return null;
}

// Every head as one mark, coloured by the word that the asking word looks at there; pointing at a
// mark shows it in the sentence, a click chooses it.

import { element, percent, replace, svgElement } from "../lib/dom.js";
import { carriedPosition } from "./choice.js";
import { buildGrid, largest } from "./weights.js";

const MARK_HEIGHT = 20;

// handlers: choose(part, layer, head, isStep), hover(part or null, layer, head)
/** @param {MarkHandlers} handlers */
export function headMarks(handlers) {
  const rows = element("div", { class: "mark-rows" });
  const slider = element(
    "div",
    { class: "mark-slider", role: "slider", tabindex: "0", "aria-label": "Head" },
    rows,
  );
  const caption = element("p", { class: "small quiet mark-caption" });
  const root = element("div", { class: "all-marks" }, slider, caption);
  /** @type {MarkPlace[]} */
  let places = [];
  let drawn = "";
  let shown = -1;
  /** @type {string[]} */
  let told = [];
  /** @param {EventTarget | null} target */
  const markOf = (target) => {
    const mark = target instanceof Element ? target.closest("rect") : null;
    return mark ? Number(mark.getAttribute("data-mark")) : -1;
  };
  slider.addEventListener("pointerover", (event) => {
    const at = markOf(event.target);
    if (at < 0 || event.pointerType !== "mouse") return;
    caption.textContent = told[at];
    handlers.hover(places[at].part, places[at].layer, places[at].head);
  });
  slider.addEventListener("pointerleave", () => {
    caption.textContent = told[shown] ?? "";
    handlers.hover(null);
  });
  slider.addEventListener("click", (event) => {
    const at = markOf(event.target);
    if (at >= 0) handlers.choose(places[at].part, places[at].layer, places[at].head, true);
  });
  slider.addEventListener("keydown", (event) => {
    const { heads } = places[shown] || { heads: 1 };
    /** @type {Record<string, number>} */
    const steps = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -heads, ArrowDown: heads };
    const to = { Home: 0, End: places.length - 1 }[event.key] ?? shown + (steps[event.key] || 0);
    if (!(event.key in steps || event.key === "Home" || event.key === "End")) return;
    event.preventDefault();
    const next = places[Math.max(0, Math.min(places.length - 1, to))];
    if (next) handlers.choose(next.part, next.layer, next.head, false);
  });
  return {
    root,
    /** @param {MarksModel} model */
    async show({ reading, source, choice, query, nouns }) {
      const key = JSON.stringify([reading.sentence, reading.changes, reading.quick, query, nouns]);
      shown = markAt(places, choice);
      if (key !== drawn) {
        drawn = key;
        const made = reading.parts.flatMap(partMarks);
        // The English side comes first: the marks of the other parts stay where they are.
        const isBegun = JSON.stringify(places.slice(0, made.length)) === JSON.stringify(made);
        if (!isBegun || (!reading.quick && made.length !== places.length)) {
          places = made;
          replace(rows, markRows(reading.parts, places));
          told = places.map((place) => markName(place, reading));
        }
        shown = markAt(places, choice);
        await Promise.all(
          reading.parts.map(async (part) => {
            const at = carriedPosition(reading, "encoder", part.name, query);
            const looks = at === null ? null : await whereItLooks(reading, source, part, at);
            if (drawn === key) colourMarks(rows, places, part, looks, nouns);
          }),
        );
      }
      const before = rows.querySelector(".shown");
      const mark = choice.show === "head" ? rows.querySelector(`[data-mark="${shown}"]`) : null;
      if (before && before === mark) return;
      before?.classList.remove("shown");
      mark?.classList.add("shown");
      if (!mark) return;
      caption.textContent = told[shown] ?? "";
      slider.setAttribute("aria-valuemin", "0");
      slider.setAttribute("aria-valuemax", String(places.length - 1));
      slider.setAttribute("aria-valuenow", String(shown));
      slider.setAttribute("aria-valuetext", told[shown] ?? "");
    },
  };
}

/** @param {MarkPlace[]} places @param {HeadChoice} choice */
function markAt(places, { part, layer, head }) {
  return places.findIndex((one) => one.part === part && one.layer === layer && one.head === head);
}

/** @param {Part} part */
function partMarks({ name, layers, heads }) {
  /** @type {MarkPlace[]} */
  const places = [];
  for (let layer = 0; layer < layers; layer++)
    for (let head = 0; head < heads; head++) places.push({ part: name, layer, head, heads });
  return places;
}

/** @param {Part[]} parts @param {MarkPlace[]} places */
function markRows(parts, places) {
  return parts.map((part) => {
    const many = part.layers * part.heads;
    const first = places.findIndex((place) => place.part === part.name);
    // A little more room after each layer.
    const x = (/** @type {number} */ at) => at * 4 + Math.floor(at / part.heads) * 3;
    return element(
      "figure",
      null,
      svgElement(
        "svg",
        { viewBox: `0 0 ${x(many)} ${MARK_HEIGHT}`, preserveAspectRatio: "none" },
        Array.from({ length: many }, (_, at) =>
          svgElement("rect", {
            ...{ x: x(at), y: 0, width: 3.4, height: MARK_HEIGHT, rx: 0.8 },
            "data-mark": first + at,
          }),
        ),
      ),
      element("figcaption", null, part.about),
    );
  });
}

/** @param {MarkPlace} place @param {PageReading} reading */
function markName({ part: name, layer, head }, reading) {
  const part = reading.parts.find((one) => one.name === name);
  const role = part?.roles ? part.roles[layer][head] : "";
  return `${part?.title ?? name}, layer ${layer}, head ${head}${role ? `: ${role}` : ""}`;
}

// Of each head of a part the key that a word looks at most; null where the small pictures are
// coarser than the words.
/**
 * @param {PageReading} reading
 * @param {Pick<Source, "thumbnails">} source
 * @param {Part} part
 * @param {number} query
 */
async function whereItLooks(reading, source, part, query) {
  const { rows, columns, weights } = await source.thumbnails(reading, part.name);
  if (rows !== part.query.tokens.length || columns !== part.key.tokens.length) return null;
  const size = rows * columns;
  return Array.from({ length: part.layers * part.heads }, (_, at) => {
    const table = { rows, columns, weights: weights.subarray(at * size, (at + 1) * size) };
    const grid = buildGrid(table, part, { by: "words", hide: false });
    const row = grid.weights.subarray(query * grid.columns, (query + 1) * grid.columns);
    const [key = 0] = largest(row, 1);
    return { key, weight: row[key] };
  });
}

/**
 * @param {HTMLElement} rows
 * @param {MarkPlace[]} places
 * @param {Part} part
 * @param {{ key: number, weight: number }[] | null} looks
 * @param {number[]} nouns
 */
function colourMarks(rows, places, part, looks, nouns) {
  const first = places.findIndex((place) => place.part === part.name);
  const names = part.key.words;
  for (let at = 0; at < part.layers * part.heads; at++) {
    const mark = rows.querySelector(`[data-mark="${first + at}"]`);
    const { key, weight } = looks?.[at] ?? { key: -1, weight: 0 };
    const colour = part.key.language === "English" ? nouns.indexOf(key) : -1;
    mark?.setAttribute("class", ["one", "two"][colour] ?? "");
    mark?.setAttribute("opacity", String(0.25 + 0.75 * weight));
    if (!mark || !looks) continue;
    replace(mark, svgElement("title", null, `${names[key]} ${percent(weight)}`));
  }
}

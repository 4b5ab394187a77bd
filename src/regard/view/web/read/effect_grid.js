// Effects of all heads on one French word: the sentence run again without each of them, a layer at
// a time. Fields of the address: effects (the number of the word), against (the word that it is
// compared with; without it the model's second choice).

import {
  asWord,
  choice,
  element,
  goTo,
  labelled,
  problem,
  prose,
  replace,
  tableHead,
  tableRow,
} from "../lib/dom.js";
import { largestSize, signedColour } from "../lib/draw.js";
import { writeChanges } from "./experiment.js";
import { walkHeads } from "../lib/heads.js";
import { choiceName } from "./sentences.js";

const CONCURRENT_LAYERS = 2; // layers that are asked for at a time: as many as the server works on
const UNCHANGED_LOGITS = 0.05; // logits: odds that change by 5 %
const LISTED_HEADS = 8;
const BAR_STEPS = 21;
/** @type {Record<string, string>} */
const PRONOUNS = { il: "elle", elle: "il" };

// The word of the translation that the chosen English word became, where the alignment knows one.
/** @param {Alignment} alignment @param {Part} part @param {Pick<Link, "query">} link */
export function wordToExplain({ words, sources }, part, link) {
  if (part.query.language === "French") {
    const at = link.query + (part.query.words[0] === "(start)" ? 0 : 1); // the word that it writes
    return at < words.length ? at : words.length - 1;
  }
  /** @param {Alignment["sources"][number]} one */
  const weightIn = (one) =>
    Math.max(0, ...one.filter(({ key }) => key === link.query).map(({ weight }) => weight));
  const made = [...words.keys()].filter((at) => weightIn(sources[at]) > 0);
  // Of several a pronoun, whose other gender can be asked for; else the one that came from it most.
  const pronoun = made.find((at) => rivalWord(words[at].toLowerCase()));
  const most = made.sort((one, other) => weightIn(sources[other]) - weightIn(sources[one]))[0];
  return pronoun ?? most ?? words.length - 1;
}

/** @param {string} word */
export function rivalWord(word) {
  return PRONOUNS[word] || null;
}

/** @param {ReadView} view */
export function drawEffects(view) {
  const { state, source, data, elements } = view;
  const { base, shown } = data;
  const { effects: box, drawnFrom } = elements;
  const number = state.number("effects", -1);
  const alignment = base?.alignment;
  const isShown = source.live && alignment && number >= 0 && number < alignment.words.length;
  box.hidden = !isShown;
  const against = state.get("against") || null;
  const request = isShown ? JSON.stringify([base.sentence, number, against]) : "";
  if (drawnFrom.effects !== request) {
    drawnFrom.effects = request;
    replace(box);
    const fields = isShown && { sentence: base.sentence, of: number, against };
    if (fields) runEffects(view, request, { base, words: alignment.words, fields });
  }
  for (const { part, layer, head, button } of drawnFrom.effectCells || []) {
    const now = shown?.choice;
    const isCurrent = now && part === now.part && layer === now.layer && head === now.head;
    if (isCurrent) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  }
}

/** @param {ReadView} view @param {string} request @param {EffectsRequest} asked */
async function runEffects(view, request, { base, words, fields }) {
  const { state, source, elements } = view;
  const { effects: box, drawnFrom } = elements;
  const isWanted = () => drawnFrom.effects === request && box.isConnected;
  const top = element(
    "div.effects-top",
    element("h2", prose(`Which heads decide ${asWord(words[fields.of])}?`)),
    wordChoice(state, words, fields),
  );
  const body = element("div.effects-body");
  drawnFrom.effectCells = [];
  replace(box, top, body);
  /** @param {Fields} more */
  const ask = (more) => {
    if (!source.effects) throw new Error("This needs the explorer: start it with regard open.");
    return source.effects({ ...fields, ...more });
  };
  try {
    /** @type {Effects} */
    const made = { ...(await ask({ choice: true })), effect: {} };
    if (!isWanted()) return;
    const drawn = effectGrids(view, base.parts, made);
    replace(body, drawn.root);
    await fillGrids({ parts: base.parts, ask, made, progress: drawn.progress, isWanted });
  } catch (error) {
    if (isWanted()) replace(body, problem(error));
  }
}

/** @param {EffectsRun} run */
async function fillGrids({ parts, ask, made, progress, isWanted }) {
  const rows = parts.flatMap(({ name, layers }) =>
    Array.from({ length: layers }, (_, layer) => ({ part: name, layer })),
  );
  const heads = parts.reduce((sum, part) => sum + part.layers * part.heads, 0);
  for (const { name } of parts) made.effect[name] = [];
  let done = 0;
  progress(0, heads);
  const work = async () => {
    for (let row = rows.shift(); row && isWanted(); row = rows.shift()) {
      const { part, layer } = row;
      const { effect } = await ask({ part, layer });
      made.effect[part][layer] = effect;
      done += effect.length;
      if (isWanted()) progress(done, heads);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_LAYERS }, work));
}

/** @param {State} state @param {string[]} words @param {EffectFields} fields */
function wordChoice(state, words, { of, against }) {
  /** @param {number} at */
  const pick = (at) =>
    state.set({ effects: at, against: rivalWord(words[at].toLowerCase()) }, true);
  /** @param {FieldEvent} event */
  const rival = ({ target }) => state.set({ against: target.value.trim() || null }, true);
  return element(
    "div.controls",
    { lang: "fr" },
    choice(
      "The word of the translation",
      words.map((word, at) => /** @type {[number, string]} */ ([at, word])),
      of,
      pick,
    ),
    labelled(
      element("span", { lang: "en" }, "against"),
      element("input.serif.rival", {
        type: "text",
        value: against || "",
        placeholder: "second choice",
        "aria-label": "The word that it is compared with",
        on: { change: rival },
      }),
    ),
  );
}

// -> { root, progress(done, of all heads) }
/** @param {ReadView} view @param {Part[]} parts @param {Effects} made */
function effectGrids(view, parts, made) {
  const bar = element("progress", { max: "1", value: 0, "aria-label": "Heads switched off" });
  const count = element("span.small.quiet");
  const caption = element("p.small.caption");
  const scale = element("div.effect-scale");
  const table = element("div.wide");
  let rest = "";
  /** @param {string} text */
  const say = (text) => replace(caption, prose(text || rest));
  const cells = parts.flatMap((part) => effectCells(view, part, made, say));
  view.elements.drawnFrom.effectCells = cells;
  const [of, against] = [made.of, made.against].map(asWord);
  const root = element(
    "div",
    element(
      "p.small",
      prose(
        `The sentence is run again without one head after the other (ablated). ` +
          `Blue: without it ${of} loses to ${against}, so the head speaks for it. ` +
          "Orange: the head speaks against it. Click one to see what it looks at, and the " +
          "translation without it.",
      ),
    ),
    element("div.effects-progress", bar, count),
    element(
      "div.effects-grids",
      parts.map((part) => partGrid(part, cells)),
    ),
    scale,
    caption,
    element("details", element("summary.small", "The largest effects"), table),
  );
  /** @param {number} done @param {number} all */
  const progress = (done, all) => {
    const most = paintCells(cells, made);
    Object.assign(bar, { value: done / all });
    count.textContent = done < all ? `${done} of ${all} heads switched off` : "";
    bar.hidden = done === all;
    replace(scale, done ? colourBar(most, made) : []);
    rest = done < all ? "" : effectSummary(cells, made);
    say("");
    if (done === all) replace(table, largestTable(parts, cells, made));
  };
  return { root, progress };
}

/**
 * @param {ReadView} view
 * @param {Part} part
 * @param {Effects} made
 * @param {(text: string) => void} say
 * @returns {EffectCell[]}
 */
function effectCells(view, part, made, say) {
  return Array.from({ length: part.layers * part.heads }, (_, at) => {
    const place = {
      part: part.name,
      layer: Math.floor(at / part.heads),
      head: at % part.heads,
    };
    const describe = () => say(effectSentence(place, made));
    const quiet = () => say("");
    const button = element("button", {
      tabindex: at ? "-1" : "0",
      on: {
        click: () => switchOff(view, place),
        pointerenter: describe,
        focus: describe,
        pointerleave: quiet,
        blur: quiet,
      },
    });
    return { ...place, button };
  });
}

/** @param {Part} part @param {EffectCell[]} cells */
function partGrid(part, cells) {
  const own = cells.filter((cell) => cell.part === part.name);
  const buttons = own.map((cell) => cell.button);
  const numbers = Array.from({ length: part.heads }, (_, head) => element("i", head));
  const rows = Array.from({ length: part.layers }, (_, layer) => [
    element("i", layer),
    buttons.slice(layer * part.heads, (layer + 1) * part.heads),
  ]);
  return element(
    "section",
    { "aria-label": `Effects: ${part.title}` },
    element("h3", part.title, " ", element("small.quiet", part.about)),
    element(
      "div.effect-cells",
      {
        style: { "--heads": String(part.heads) },
        on: { keydown: (event) => walkHeads(event, buttons) },
      },
      element("i", { title: "rows are layers, columns are heads" }),
      numbers,
      rows,
    ),
  );
}

/** @param {HeadPlace} place @param {Effects} made @returns {number | undefined} */
function headEffect({ part, layer, head }, { effect }) {
  const row = effect[part] && effect[part][layer];
  return row ? row[head] : undefined;
}

// Colours all cells against the largest effect so far, which is returned.
/** @param {EffectCell[]} cells @param {Effects} made */
function paintCells(cells, made) {
  const values = cells.map((cell) => headEffect(cell, made));
  const most = largestSize(values.filter((value) => value !== undefined));
  cells.forEach(({ part, layer, head, button }, at) => {
    const value = values[at];
    button.classList.toggle("waiting", value === undefined);
    if (value !== undefined)
      button.style.setProperty("background-color", signedColour(value, most));
    const said = value === undefined ? "not run yet" : `${signedLogits(value)} logits`;
    button.setAttribute("aria-label", `${part}, layer ${layer}, head ${head}: effect ${said}`);
  });
  return most;
}

// Effects in colours: what the strongest shade stands for, on both sides of 0.
/** @param {number} most @param {Effects} made */
function colourBar(most, { of, against }) {
  const steps = Array.from({ length: BAR_STEPS }, (_, at) => (2 * at) / (BAR_STEPS - 1) - 1);
  return [
    element("span.small", `${signedLogits(-most)} for `, element("i", against)),
    element(
      "span.ramp",
      { "aria-hidden": "true" },
      steps.map((share) =>
        element("i", { style: { "background-color": signedColour(share * most, most) } }),
      ),
    ),
    element("span.small", `${signedLogits(most)} logits for `, element("i", of)),
  ];
}

/** @param {HeadPlace} cell @param {Effects} made */
function effectSentence(cell, made) {
  const name = `${cell.part}, ${choiceName({ ...cell, show: "head" })}`;
  const effect = headEffect(cell, made);
  if (effect === undefined) return `${name}: not run yet.`;
  const formula = signedLogits(made.direct[cell.part][cell.layer][cell.head]);
  const figures = `effect ${signedLogits(effect)} logits; the formula alone says ${formula}`;
  return `${name}: without it ${oddsPhrase(effect, made)} (${figures}).`;
}

/** @param {number} effect @param {Effects} made */
function oddsPhrase(effect, { of, against }) {
  const odds = `the odds of ${asWord(of)} against ${asWord(against)}`;
  if (Math.abs(effect) < UNCHANGED_LOGITS) return `${odds} hardly change`;
  const times = Math.exp(Math.abs(effect));
  const written = times < 10 ? times.toFixed(1) : Math.round(times).toLocaleString("en");
  return `${odds} are ${written} times ${effect > 0 ? "smaller" : "larger"}`;
}

/** @param {EffectCell[]} cells @param {Effects} made */
function effectSummary(cells, made) {
  const [first] = byEffect(cells, made);
  const far = signedLogits(made.logit_difference);
  return (
    `With all heads ${asWord(made.of)} is ahead of ${asWord(made.against)} by ${far} logits. ` +
    `Most depends on ${effectSentence(first, made)}`
  );
}

/** @param {EffectCell[]} cells @param {Effects} made */
function byEffect(cells, made) {
  /** @param {EffectCell} cell */
  const size = (cell) => Math.abs(headEffect(cell, made) ?? 0);
  return [...cells].sort((one, other) => size(other) - size(one));
}

/** @param {Part[]} parts @param {EffectCell[]} cells @param {Effects} made */
function largestTable(parts, cells, made) {
  const agreement = correlation(
    cells.map((cell) => headEffect(cell, made) ?? 0),
    cells.map(({ part, layer, head }) => made.direct[part][layer][head]),
  );
  /** @param {EffectCell} cell */
  const row = (cell) => {
    const part = parts.find((one) => one.name === cell.part);
    const role = part?.roles ? part.roles[cell.layer][cell.head] : "";
    const direct = made.direct[cell.part][cell.layer][cell.head];
    const logits = [headEffect(cell, made) ?? 0, direct].map(signedLogits);
    return tableRow(`${cell.part} ${cell.layer}, ${cell.head}`, [...logits, role]);
  };
  return [
    element(
      "table.numbers",
      tableHead(["layer, head", "by a run without it", "by formula", "what it does"]),
      element("tbody", byEffect(cells, made).slice(0, LISTED_HEADS).map(row)),
    ),
    element(
      "p.small.quiet",
      "In logits. The formula (direct effect) takes all else as given; a real run without the " +
        `head is the judge. Over all ${cells.length} heads they correlate at ` +
        `${agreement.toFixed(2)}. Heads stand in for each other: one that can be missed ` +
        "may still do the work.",
    ),
  ];
}

/** @param {number[]} one @param {number[]} other */
export function correlation(one, other) {
  /** @param {number[]} values */
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [first, second] = [mean(one), mean(other)];
  /** @param {(a: number, b: number) => number} make */
  const sum = (make) => one.reduce((total, _, at) => total + make(one[at], other[at]), 0);
  const shared = sum((a, b) => (a - first) * (b - second));
  const sizes = sum((a) => (a - first) ** 2) * sum((_, b) => (b - second) ** 2);
  return shared / Math.sqrt(sizes);
}

// The head with its ablation applied.
/** @param {ReadView} view @param {HeadPlace} place */
function switchOff({ state, elements }, { part, layer, head }) {
  const changes = writeChanges([{ change: "ablate", part, layer, head }]);
  state.set({ changes, part, layer, head, q: null }, true);
  goTo(elements.scene.root);
}

/** @param {number} value */
function signedLogits(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

// Why the line goes where it goes, on the sentence itself: under every word a bar, its score; all
// divided; then their shares, which are the lines again. Then it is the reader's turn.
//
// Fields of the address: why (scores, scaled, weights, try; yes is scores), guess (1 or 2, of the
// two that are offered).

import { signedNumber } from "../lib/digits.js";
import { asWord, element, isCalm, mathElement, percent, prose, replace } from "../lib/dom.js";
import { MEANING_MS } from "../lib/motion.js";
import { wordsFrom } from "./choice.js";
import { rivalWord } from "./effect_grid.js";
import { OPEN_SENTENCE } from "./examples.js";
import { outcomeNote, writeChanges } from "./experiment.js";
import { questionedLink } from "./questions.js";
import { numbersBox, weightParts } from "./why_numbers.js";

const READ_MS = 2600; // to read a caption, while the steps play by themselves
const SURE_WEIGHT = 0.995;
const LEAST_SHARE = 0.005; // smaller ones have no number under their word
const SCENE_OF_SCORES = 3; // of the course: words become arrows
const LEAST_UP = 0.55; // of the bars' room is above their line

/** @type {Record<WhyStep, [string, string]>} */
const STEPS = {
  scores: ["score", "Next: divide"],
  scaled: ["divide", "Next: make shares"],
  weights: ["share", "Your turn"],
  try: ["your turn", "Next: words become arrows →"],
};
const ORDER = /** @type {WhyStep[]} */ (Object.keys(STEPS));

/** @param {State} state @returns {WhyStep | null} */
export function whyStep(state) {
  const step = state.get("why") === "yes" ? "scores" : state.get("why");
  return ORDER.find((one) => one === step) ?? null;
}

// What the stage draws under its words; null while nothing is explained.
/** @param {ReadView} view @param {Shown} shown @returns {WhyBars | null} */
export function whyBars({ state, data }, shown) {
  const step = whyStep(state);
  const { why } = data;
  if (!step || step === "try" || why?.shown !== shown) return null;
  // Bars stand under English words; where French ones are looked at the numbers are in the table.
  if (shown.part.key.language !== "English") return null;
  const { parts, tokens } = why;
  const scores = tokens.map(([best]) => parts.scores[best]);
  const [most, least] = [Math.max(...scores, 1e-9), Math.min(...scores, 0)];
  const up = Math.max(LEAST_UP, most / (most - least));
  const unit = Math.min(up / most, least < 0 ? (1 - up) / -least : Infinity);
  const values = tokens.map((own) =>
    step === "weights"
      ? own.reduce((sum, token) => sum + parts.weights[token], 0)
      : parts[step][own[0]],
  );
  const digits = step === "scores" && most >= 100 ? 0 : 1;
  const text = (/** @type {number} */ value) =>
    step !== "weights" ? signedNumber(value, digits) : value < LEAST_SHARE ? "" : percent(value);
  const scale = step === "weights" ? up : unit;
  return { step, up, heights: values.map((value) => value * scale), texts: values.map(text) };
}

/** @param {ReadView} view @returns {WhyPanel} */
export function whyPanel(view) {
  const { state, data } = view;
  const formula = element("span.why-formula");
  const caption = element("p.why-caption", { role: "status" });
  const turn = element("div.why-turn");
  const numbers = numbersBox(view);
  let timer = 0;
  let isPlaying = false;
  let isAsked = false; // by the button that the panel takes the place of, with the focus
  /** @param {WhyStep | null} step */
  const go = (step) => {
    isPlaying = false;
    const changes = step && step !== "try" ? { changes: null } : {};
    state.set({ why: step, ...changes }, true);
  };
  const tabs = ORDER.map((step) =>
    element("button", { on: { click: () => go(step) } }, STEPS[step][0]),
  );
  const next = element("button.button.primary", {
    on: {
      click: () => {
        const after = ORDER[ORDER.indexOf(whyStep(state) ?? "try") + 1];
        if (after) go(after);
        else state.go("learn", { page: SCENE_OF_SCORES, why: null, changes: null });
      },
    },
  });
  const leave = () => {
    go(null);
    view.elements.questions.querySelector("button")?.focus({ preventScroll: true });
  };
  const back = element("button.link", { on: { click: leave } }, "Back to the sentence");
  const root = element(
    "section.why-panel",
    { "aria-label": "Why", hidden: true },
    element("div.why-said", formula, caption),
    turn,
    element(
      "div.why-buttons",
      element("div.choice", { role: "group", "aria-label": "Step" }, tabs),
      next,
      back,
    ),
    numbers.root,
  );
  return {
    root,
    play() {
      isPlaying = !isCalm();
      isAsked = true;
    },
    /** @param {Shown} shown */
    draw(shown) {
      const step = whyStep(state);
      const why = data.why;
      clearTimeout(timer);
      root.hidden = !step || !why;
      if (!step || !why) return;
      tabs.forEach((tab, at) => tab.setAttribute("aria-pressed", String(ORDER[at] === step)));
      next.textContent = STEPS[step][1];
      if (isAsked) next.focus({ preventScroll: true });
      isAsked = false;
      const isTurn = step === "try";
      replace(formula, isTurn ? null : formulaOf(why.parts.width, step));
      replace(caption, isTurn ? null : captionOf(view, why, step));
      replace(turn, isTurn ? turnOf(view, why) : null);
      numbers.show(isTurn ? null : shown, why);
      if (isPlaying && !isTurn && step !== "weights")
        timer = setTimeout(
          () => state.set({ why: ORDER[ORDER.indexOf(step) + 1] }),
          MEANING_MS + READ_MS,
        );
    },
    close: () => clearTimeout(timer),
  };
}

// Reads what the steps need, once for each sentence, head and word; says whether anything came.
/** @param {ReadView} view @param {Shown} shown */
export async function readWhy({ state, source, data }, shown) {
  const { reading, choice, part } = shown;
  if (!whyStep(state)) data.why = null;
  if (!whyStep(state) || !part.steps || reading.changes) return false;
  const link = questionedLink(state, shown);
  if (!link || (data.why?.shown === shown && data.why.link.query === link.query)) return false;
  const { part: name, layer, head } = choice;
  const inputs = await source.steps({ sentence: reading.sentence, part: name, layer, head });
  const parts = weightParts(inputs, part, link);
  const tokens = part.key.words.map((_, word) =>
    [...part.key.word_of_token.keys()]
      .filter((token) => part.key.word_of_token[token] === word)
      .sort((one, other) => parts.weights[other] - parts.weights[one]),
  );
  data.why = { shown, link, parts, tokens };
  return true;
}

/** @param {ReadView} view @param {Why} why @param {WhyStep} step @returns {Child} */
function captionOf({ state }, { shown, link, parts, tokens }, step) {
  const [asks, best] = [shown.part.query.words[link.query], shown.part.key.words[link.key]];
  const { width, scaled, weights, key } = parts;
  if (step === "scores")
    return prose(
      `${asWord(asks)} asks, every word answers: ${width} products each, added up. ` +
        `${asWord(best)} fits best.`,
    );
  if (step === "scaled")
    return prose(
      `All divided by √${width} = ${signedNumber(Math.sqrt(width), 0)}, so that long vectors do ` +
        "not shout.",
    );
  const others = tokens.filter((own) => !own.includes(key));
  const second = others.reduce((a, b) => (scaled[b[0]] > scaled[a[0]] ? b : a), others[0]);
  if (!second) return "";
  const ahead = scaled[key] - scaled[second[0]];
  const rival = shown.part.key.words[tokens.indexOf(second)];
  const isSure = weights[key] >= SURE_WEIGHT;
  return [
    prose(`${asWord(best)} is ${signedNumber(ahead, 1)} ahead of ${asWord(rival)}: its share is e`),
    element("sup", signedNumber(ahead, 1)),
    ` ≈ ${roundTimes(Math.exp(ahead))} times as large.`,
    isSure &&
      shown.reading.sentence !== OPEN_SENTENCE && [
        element("br"),
        "Where it hesitates: ",
        element(
          "button.link",
          {
            on: {
              click: () =>
                state.set(
                  { sentence: OPEN_SENTENCE, q: null, changes: null, why: "weights" },
                  true,
                ),
            },
          },
          OPEN_SENTENCE,
        ),
      ],
  ];
}

// 2.9, 18, 63 million: as a number is said.
/** @param {number} value */
function roundTimes(value) {
  for (const [size, name] of /** @type {[number, string][]} */ ([
    [1e15, ""],
    [1e12, " trillion"],
    [1e9, " billion"],
    [1e6, " million"],
    [1e3, ",000"],
  ]))
    if (value >= size)
      return name ? `${(value / size).toFixed(0)}${name}` : "more than a thousand trillion";
  return value.toFixed(value < 10 ? 1 : 0);
}

// The guess, the ring that is dragged, and what came of it.
/** @param {ReadView} view @param {Why} why @returns {Child} */
function turnOf(view, why) {
  const { state, source, data } = view;
  const { link, shown } = why;
  const { part, choice } = shown;
  const asks = part.query.words[link.query];
  const rival = link.rival === undefined ? null : part.key.words[link.rival];
  const alignment = data.base?.alignment;
  const [at] = alignment ? wordsFrom(alignment, link.query) : [];
  const now = alignment && at !== undefined ? alignment.words[at] : null;
  if (!source.live || !rival || !now)
    return element("p", "Drag the ring to another word, and watch the French.");
  const other = rivalWord(now.toLowerCase());
  const isUpper = now !== now.toLowerCase();
  const rivalName = other && isUpper ? other[0].toUpperCase() + other.slice(1) : other;
  const options = rivalName ? [now, rivalName] : ["it stays", "it changes"];
  const guess = options[state.number("guess", 0) - 1];
  const { experiment } = data;
  const done = experiment && "changed" in experiment && state.get("changes") ? experiment : null;
  const { part: name, layer, head } = choice;
  const place = { part: name, layer, head };
  /** @type {Change} */
  const change = { change: "redirect", word: link.query, to: link.rival, ...place };
  // The second run may have another head that tells most: this one stays.
  const run = () => state.set({ changes: writeChanges([change]), q: link.query, ...place }, true);
  const came = done && resultOf(done, options, other);
  return [
    element(
      "p.why-question",
      prose(`French says ${asWord(now)} for ${asWord(asks)}. Then it would say: `),
      element(
        "span.guesses",
        { role: "group", "aria-label": "Your guess" },
        options.map((text) =>
          element(
            "button",
            {
              class: `button${came === text ? " came" : ""}`,
              "aria-pressed": String(guess === text),
              lang: other ? "fr" : null,
              on: { click: () => state.set({ guess: options.indexOf(text) + 1 }) },
            },
            text,
          ),
        ),
      ),
    ),
    element(
      "p.why-verdict",
      { role: "status" },
      done
        ? [
            guess && element("b", guess === came ? "Yes. " : "No. "),
            outcomeNote(done),
            done.same && " Other heads may tell it the same.",
            " ",
            element(
              "button.link",
              { on: { click: () => state.set({ changes: null }) } },
              "Let go of the ring",
            ),
          ]
        : element("button.link", { on: { click: run } }, "Move it for me"),
    ),
  ];
}

/** @param {Outcome} done @param {string[]} options @param {string | null} other */
function resultOf({ same, after }, options, other) {
  if (same) return options[0];
  if (!other) return options[1];
  const changed = after.differing.map((at) => after.words[at].toLowerCase());
  return changed.includes(other) ? options[1] : null;
}

// softmax(q · k / √d), with what is shown now lit.
/** @param {number} width @param {WhyStep} step */
function formulaOf(width, step) {
  const lit = (/** @type {WhyStep} */ one) => ({ class: step === one ? "lit" : "" });
  return mathElement(
    "math",
    null,
    mathElement("mi", lit("weights"), "softmax"),
    mathElement("mo", lit("weights"), "("),
    mathElement(
      "mfrac",
      null,
      mathElement(
        "mrow",
        lit("scores"),
        mathElement("mi", { class: "of-query" }, "q"),
        mathElement("mo", null, "·"),
        mathElement("mi", { class: "of-key" }, "k"),
      ),
      mathElement("msqrt", lit("scaled"), mathElement("mn", null, String(width))),
    ),
    mathElement("mo", lit("weights"), ")"),
  );
}

// All numbers behind a weight: query and key as strips, every score, and where a score comes from.

import { powerParts, signedNumber } from "../lib/digits.js";
import { asWord, element, percent, problem, prose, replace, tableHead } from "../lib/dom.js";
import { vectorStrip } from "../lib/draw.js";
import { attend } from "../steps/attend.js";

// Filled when it is unfolded, and again when the word or the head changes.
/** @param {ReadView} view */
export function numbersBox(view) {
  const box = element("div.numbers-box");
  /** @type {[Shown, Why] | null} */
  let of = null;
  let drawn = "";
  const fill = () => {
    if (!root.open || !of) return;
    const [{ reading, choice }, { link }] = of;
    const request = JSON.stringify([reading.sentence, choice, link.query, link.key]);
    if (request === drawn) return;
    drawn = request;
    replace(box, allNumbers(view, ...of));
  };
  const root = element(
    "details.why-numbers",
    { open: view.state.get("because") !== "", on: { toggle: fill } },
    element("summary", "All numbers"),
    box,
  );
  return {
    root,
    /** @param {Shown | null} shown @param {Why} why */
    show(shown, why) {
      root.hidden = !shown;
      of = shown && [shown, why];
      fill();
    },
  };
}

/** @param {ReadView} view @param {Shown} shown @param {Why} why */
function allNumbers({ state, source }, shown, { link, parts }) {
  const { part, grid } = shown;
  const [asks, answers] = [grid.queries[link.query], grid.keys[link.key]].map(asWord);
  const score = signedNumber(parts.scaled[parts.key], 2);
  return [
    isCut(part, link) && pieceNote(part, parts),
    element(
      "div.sum",
      element(
        "div",
        productStep(parts, asks, answers),
        source.live && becauseTree(state, source, shown, link, score),
        source.views.includes("steps") && stepsLink(state, shown, parts),
      ),
      element("div", softmaxTable(parts, part.key.tokens)),
    ),
  ];
}

// The tokens of both words that have the largest weight between them, and every number on the way
// to that weight.
/** @param {Inputs} inputs @param {Part} part @param {Link} link @returns {WeightParts} */
export function weightParts(inputs, part, link) {
  /** @param {Side} side @param {number} word */
  const tokensOf = ({ word_of_token: words }, word) =>
    [...words.keys()].filter((token) => words[token] === word);
  const [queries, keys] = [tokensOf(part.query, link.query), tokensOf(part.key, link.key)];
  const { stages, width } = attend(inputs);
  /** @param {Matrix} matrix @param {number} at */
  const row = ({ columns, values }, at) => values.subarray(at * columns, (at + 1) * columns);
  /** @param {number[]} pair */
  const pairWeight = ([query, key]) => row(stages.weights, query)[key];
  const [position, key] = queries
    .flatMap((query) => keys.map((key) => [query, key]))
    .reduce((one, other) => (pairWeight(other) > pairWeight(one) ? other : one));
  const scaled = row(stages.masked || stages.scaled, position);
  return {
    position,
    key,
    width,
    scaled,
    vector: row(stages.query, position),
    keyVector: row(stages.key, key),
    scores: row(stages.scores, position),
    weights: row(stages.weights, position),
    sum: scaled.reduce((total, one) => total + Math.exp(one), 0),
  };
}

/** @param {State} state @param {Shown} shown @param {WeightParts} parts */
function stepsLink(state, { reading, choice }, { position, key }) {
  const { part, layer, head } = choice;
  const cell = `weights.${position}.${key}`;
  const open = () =>
    state.go("steps", { sentence: reading.sentence, part, layer, head, from: null, cell });
  return element(
    "button.link",
    { on: { click: open } },
    "Every step of this head, from the words to its output →",
  );
}

/** @param {Part} part @param {WeightParts} parts */
function pieceNote(part, { position, key, weights }) {
  const [asks, answers] = [part.query.tokens[position], part.key.tokens[key]].map(asWord);
  const sentence =
    "The model reads pieces of words: here is the pair with the largest weight, " +
    `${asks} and ${answers}, ${percent(weights[key])}.`;
  return element("p.small.quiet", prose(sentence));
}

/** @param {Part} part @param {Link} link */
function isCut(part, { query, key }) {
  /** @param {Side} side @param {number} word */
  const pieces = ({ word_of_token: words }, word) => words.filter((one) => one === word).length;
  return pieces(part.query, query) > 1 || pieces(part.key, key) > 1;
}

/** @param {WeightParts} parts @param {string} asks @param {string} answers */
function productStep({ vector, keyVector, scores, key, width }, asks, answers) {
  const products = vector.map((value, at) => value * keyVector[at]);
  const rows = [
    { name: "query", values: vector },
    { name: "key", values: keyVector },
    { name: "query × key", values: products },
  ];
  return [
    element("h2", "Query meets key"),
    element(
      "p",
      prose(
        `${asks} asks with its query, ${answers} answers with its key: ${width} numbers each, ` +
          "made from their vectors by matrices that training learnt. Multiplied pair by pair:",
      ),
    ),
    rows.map(({ name, values }) => strip(name, values)),
    element(
      "p.total",
      `The ${width} products add up to `,
      element("b", signedNumber(scores[key], 2)),
      ", the score.",
    ),
    allProducts(vector, keyVector, products),
  ];
}

/** @param {string} name @param {Float64Array} values */
function strip(name, values) {
  const picture = vectorStrip(values, `${name}: ${values.length} numbers`);
  return element("div.strip", element("span", { class: `small of-${name}` }, name), picture);
}

/** @param {Float64Array} vector @param {Float64Array} keyVector @param {Float64Array} products */
function allProducts(vector, keyVector, products) {
  const list = element("div.products.small");
  /** @param {Event & { target: HTMLDetailsElement }} event */
  const fill = (event) => {
    if (!event.target.open || list.firstChild) return;
    replace(
      list,
      [...products].map((value, at) =>
        element(
          "span",
          [vector[at], keyVector[at]].map((one) => signedNumber(one, 3)).join(" × "),
          ` = ${signedNumber(value, 3)}`,
        ),
      ),
    );
  };
  return element(
    "details",
    { on: { toggle: fill } },
    element("summary.small", `All ${products.length} products`),
    list,
  );
}

// Every key that the word can see, the largest weight first.
/** @param {WeightParts} parts @param {string[]} names */
function softmaxTable({ scores, scaled, weights, key, sum }, names) {
  const order = [...weights.keys()].sort((a, b) => weights[b] - weights[a]);
  /** @param {Child[]} cells @param {string | null} [name] */
  const row = (cells, name) =>
    element(
      "tr",
      { class: name },
      cells.map((cell, at) =>
        element(at ? "td" : "th", at ? { class: "number" } : { scope: "row" }, cell),
      ),
    );
  return element(
    "table.softmax",
    tableHead([null, "score", "divided", raised("e", "divided"), "share"]),
    element(
      "tbody",
      order.map((k) =>
        row(
          [
            names[k],
            signedNumber(scores[k], 2),
            signedNumber(scaled[k], 2),
            withPower(Math.exp(scaled[k])),
            percent(weights[k]),
          ],
          k === key ? "chosen" : null,
        ),
      ),
      row(["sum", "", "", withPower(sum), "100 %"], "total"),
    ),
  );
}

/** @param {string} base @param {string} exponent */
function raised(base, exponent) {
  return element("span.unbroken", base, element("sup", exponent));
}

// 6.6e+10 as people write it.
/** @param {number} value */
function withPower(value) {
  const [written, exponent] = powerParts(value, 1);
  return exponent ? raised(`${written} × 10`, exponent) : written;
}

// The score of a pair as a tree: what was written into query and key, term by term, each to open.
//
// Field of the address: because, the branches that are open, "score~0~0.3": the score itself, its
// largest term, and of that the fourth.

const ROOT = "score";
const MAX_BAR_PIXELS = 60; // pixels

/**
 * @param {State} state
 * @param {Source} source
 * @param {Shown} shown
 * @param {Link} link
 * @param {string} score
 */
function becauseTree(state, source, { reading, choice }, link, score) {
  const { part, layer, head } = choice;
  /** @type {Because} */
  const tree = {
    state,
    ask: async (path) => {
      const { sentence } = reading;
      const fields = { sentence, part, layer, head, query: link.query, key: link.key, path };
      return (await source.ask("/api/because", fields)).json();
    },
  };
  return branch(tree, [`Where does the score of ${score} come from? (because)`], []);
}

/** @param {Because} tree @param {Child} title @param {number[]} path @returns {HTMLElement} */
function branch(tree, title, path) {
  const body = element("div.because-terms");
  const name = path.join(".") || ROOT;
  let asked = false;
  /** @param {Event} event */
  const toggled = async (event) => {
    if (event.target !== root) return;
    rememberBranch(tree.state, name, root.open);
    if (!root.open || asked) return;
    asked = true;
    replace(body, element("p.small.quiet", "Adding up …"));
    try {
      replace(body, termList(tree, await tree.ask(path), path));
    } catch (error) {
      replace(body, problem(error));
    }
  };
  const root = element(
    "details.because",
    {
      open: openBranches(tree.state).includes(name),
      on: { toggle: toggled },
    },
    element("summary", title),
    body,
  );
  return root;
}

/** @param {State} state */
function openBranches(state) {
  return state.get("because").split("~").filter(Boolean);
}

/** @param {State} state @param {string} name @param {boolean} isOpen */
function rememberBranch(state, name, isOpen) {
  const others = openBranches(state).filter((one) => one !== name);
  state.set({ because: (isOpen ? [...others, name] : others).join("~") });
}

/** @param {Because} tree @param {BecauseTerms} answer @param {number[]} path */
function termList(tree, { terms, total, count, rest }, path) {
  const most = Math.max(...terms.map((term) => Math.abs(term.value)), 1e-9);
  /** @param {number} value @param {Child[]} what */
  const written = (value, ...what) => [
    element(
      "span.because-bar",
      { "aria-hidden": "true" },
      element("span", {
        class: `bar ${value < 0 ? "below" : ""}`,
        style: { width: `${Math.max(1, Math.min(1, Math.abs(value) / most) * MAX_BAR_PIXELS)}px` },
      }),
    ),
    element("span.value", signedText(value)),
    what,
  ];
  const items = terms.map((term, at) => {
    const line = written(term.value, `${term.query} × ${term.key}`);
    const item = term.opens ? branch(tree, line, [...path, at]) : element("div.because.leaf", line);
    return element("li", item);
  });
  return [
    element("p.small.quiet", termsIntroduction(signedText(total), count, path)),
    element(
      "ul",
      items,
      count > terms.length &&
        element(
          "li.quiet",
          element(
            "div.because.leaf",
            written(rest, `the other ${count - terms.length} terms together`),
          ),
        ),
    ),
  ];
}

/** @param {string} total @param {number} count @param {number[]} path */
function termsIntroduction(total, count, path) {
  if (path.length) return `${total} is the sum of ${count} terms, one step further down.`;
  return (
    `${total} is the sum of ${count} terms: what an earlier part of the model wrote into the ` +
    "query, times what one wrote into the key; head 2.4 is head 4 of layer 2. Open a term to go " +
    "further. Exact for this sentence, with the norms' scales taken as given."
  );
}

/** @param {number} value */
function signedText(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
}

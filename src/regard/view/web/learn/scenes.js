// What the stage shows in each scene: marks, a caption in words and numbers, a table of the same
// numbers, and the controls that a scene has once its question is answered.
//
// A scene: { knobs: facts -> its settings, draw: (facts, view) -> StageScene, controls?: (facts,
// knobs, change) -> elements }; view is { width, height, answered, knobs, change }. Before the
// answer the stage shows what the question is about, and no more.

import { percent } from "../lib/dom.js";
import { shade } from "../lib/draw.js";
import { arcPath, stageRow, straightPath } from "./learn_stage.js";
import { optionButtons, rangeControl, switchControl } from "./knobs.js";
import { arrowScene, divisionScene, shareScene, valueScene } from "./plane_scenes.js";
import {
  LARGEST_TYPE,
  nameMark,
  sentenceMarks,
  shareTable,
  tableNumber,
  wordClass,
} from "./stage_marks.js";

const LEAST_DRAWN = 0.005; // of a share: thinner lines are left to the table
const ARC_WIDTH = 15;
/** @type {Record<string, string>} */
const PRONOUN_CLASS = { il: "of-one", elle: "of-two" };

/** @type {Record<string, LessonScene>} */
export const SCENES = {
  look: {
    knobs: ({ position }) => ({ row: position }),
    draw: (facts, view) => {
      const row = rowOf(facts, view.knobs.row);
      const { marks, middles, size, y } = sentenceMarks(facts.words, view, 0.78, {
        asking: view.knobs.row,
        pick: view.answered ? (at) => view.change({ row: at }) : undefined,
      });
      if (!view.answered)
        return {
          marks: [...marks, ...possibleMarks(facts.words, view.knobs.row, middles, y - size, view)],
          caption: "It could look at any of these words. Where does its thick line go?",
        };
      return {
        marks: [...marks, ...arcMarks(facts.words, row, view.knobs.row, middles, y - size, view)],
        caption: `${facts.words[view.knobs.row]} looks at ${rankedShares(facts.words, row)}.`,
        table: shareTable(facts.words, { share: row }),
      };
    },
    controls: ({ words }, knobs, change) => [
      optionButtons("Look from", words, knobs.row, (row) => change({ row })),
    ],
  },
  ending: {
    knobs: ({ endings, ending }) => ({
      before: 0,
      at: endings.findIndex((one) => one.ending === ending),
    }),
    draw: (facts, view) => {
      const position = facts.position ?? 0;
      const { ending, words, row, french } =
        facts.endings[view.answered ? view.knobs.at : view.knobs.before];
      const { marks, middles, size, y } = sentenceMarks(words, view, 0.62, { asking: position });
      return {
        marks: [
          ...marks,
          ...arcMarks(words, row, position, middles, y - size, view),
          ...frenchMarks(french, view, 0.88),
        ],
        caption: `With ${ending}, It looks at ${rankedShares(words, row)}.`,
        table: shareTable(words, { share: row }),
      };
    },
    controls: ({ endings }, knobs, change) => [
      optionButtons(
        "It was",
        endings.map(({ ending }) => ending),
        knobs.at,
        (at) => change({ at }),
      ),
    ],
  },
  arrows: arrowScene,
  shares: shareScene,
  division: divisionScene,
  values: valueScene,
  heads: {
    knobs: ({ other_layer, other_head, per_layer }) => ({
      at: other_layer * per_layer + other_head,
    }),
    draw: headsPicture,
    controls: ({ count, per_layer }, knobs, change) => [
      rangeControl("Head below", {
        ...{ min: 0, max: count - 1, step: 1, value: knobs.at },
        told: (at) => `layer ${Math.floor(at / per_layer)}, head ${at % per_layer}`,
        change: (at) => change({ at }),
      }),
    ],
  },
  position: {
    knobs: () => ({ order: 0, places: true, asked: 3 }),
    draw: positionPicture,
    controls: ({ orders }, knobs, change) => [
      optionButtons(
        "Order",
        orders.map(({ name }) => name),
        knobs.order,
        (order) => change({ order }),
      ),
      switchControl("With places", knobs.places, (places) => change({ places })),
    ],
    answered: { order: 3, places: false },
  },
  mask: { knobs: () => ({}), draw: maskPicture },
  cross: {
    knobs: ({ position }) => ({ row: position }),
    draw: crossPicture,
    controls: ({ words }, knobs, change) => [
      optionButtons("Look from", words, knobs.row, (row) => change({ row })),
    ],
  },
  layers: { knobs: () => ({}), draw: layersPicture },
  experiment: {
    knobs: () => ({ run: 0 }),
    draw: experimentPicture,
    controls: ({ runs }, knobs, change) => [
      optionButtons(
        "Run again with the head",
        runs.map(({ name }) => name),
        knobs.run,
        (run) => change({ run }),
      ),
    ],
    answered: { run: 1 },
  },
  tell: { knobs: () => ({}), draw: tellPicture },
};

/** @param {Facts} facts @param {number} position */
function rowOf({ weights }, position) {
  return /** @type {number[][]} */ (weights)[position];
}

// French below, its pronoun in the colour of the noun that it agrees with.
/**
 * @param {string[]} french
 * @param {StageView} view
 * @param {number} down
 * @param {string[]} [former]
 */
function frenchMarks(french, view, down, former = french) {
  const { size, middles } = stageRow(french, view.width, LARGEST_TYPE * 0.8);
  const y = view.height * down;
  return french.flatMap((word, at) => {
    /** @type {StageMark} */
    const mark = {
      id: `f${at}`,
      tag: "text",
      at: { x: middles[at], y, "font-size": size },
      text: word,
      class: `stage-word french ${wordClass(word)} ${wordClass(word, PRONOUN_CLASS)}`,
    };
    if (former[at] === word) return [mark];
    /** @type {StageMark} */
    const before = {
      id: `g${at}`,
      tag: "text",
      at: { x: middles[at], y: y + size, "font-size": size * 0.7 },
      text: former[at],
      class: "stage-word former",
    };
    return [{ ...mark, class: `${mark.class} changed` }, before];
  });
}

// A thin line to every word, while it is asked which of them is the thick one; each becomes the
// line of the answer.
/** @type {(words: string[], from: number, ...place: PlaceOfArcs) => StageMark[]} */
function possibleMarks(words, from, ...place) {
  const even = words.map((word, at) => (at === from || /^\W/.test(word) ? 0 : LEAST_DRAWN));
  return arcMarks(words, even, from, ...place)
    .filter(({ tag }) => tag === "path")
    .map((mark) => ({ ...mark, class: "stage-arc possible" }));
}

// Lines from one word to those it looks at, as thick as their shares; `down` draws them below.
/**
 * @param {string[]} words
 * @param {number[]} row
 * @param {number} from
 * @param {number[]} middles
 * @param {number} y
 * @param {StageView} view
 * @param {{ id?: string; down?: boolean; most?: number }} [options]
 * @returns {StageMark[]}
 */
function arcMarks(words, row, from, middles, y, view, { id = "arc", down = false, most } = {}) {
  const room = most ?? y - 26;
  return row.flatMap((share, to) => {
    if (share < LEAST_DRAWN) return [];
    const far = Math.abs(middles[to] - middles[from]) || 18;
    const lift = Math.min(room / 0.75, 30 + 0.62 * far) * (down ? -1 : 1);
    const nudge = to === from ? 14 : 0;
    const top = y - 0.75 * lift + (down ? 20 : -10) - (down ? 0 : (ARC_WIDTH * share) / 2);
    /** @type {StageMark[]} */
    const marks = [
      {
        id: `${id}${to}`,
        tag: "path",
        at: {
          ...{ x1: middles[from] - nudge, y1: y, x2: middles[to] + nudge, y2: y, lift },
          "stroke-width": Math.max(1, ARC_WIDTH * share),
        },
        d: arcPath,
        class: `stage-arc ${wordClass(words[to])}`,
      },
      {
        id: `${id}n${to}`,
        tag: "text",
        at: {
          x: (middles[from] + middles[to]) / 2,
          y: top,
          "font-size": 15,
          opacity: share >= (down ? 0.1 : 0.04) ? 1 : 0,
        },
        text: percent(share),
        class: `stage-number ${wordClass(words[to])}`,
      },
    ];
    return marks;
  });
}

/** @param {string[]} words @param {number[]} row @param {number} [most] */
function rankedShares(words, row, most = 3) {
  const ranked = row.map((share, at) => ({ share, word: words[at] }));
  ranked.sort((a, b) => b.share - a.share);
  return ranked
    .slice(0, most)
    .filter(({ share }) => share >= LEAST_DRAWN)
    .map(({ share, word }) => `${word} ${percent(share)}`)
    .join(", ");
}

/** @param {Facts} facts @param {StageView} view @returns {StageScene} */
function headsPicture(facts, view) {
  const { words, rows, per_layer } = facts;
  const position = facts.position ?? 0;
  const { marks, middles, size, y } = sentenceMarks(words, view, 0.5, { asking: position });
  const above = rowOf(facts, position);
  const drawn = [
    ...marks,
    ...arcMarks(words, above, position, middles, y - size, view),
    nameMark("above", view, 16, `layer ${facts.layer}, head ${facts.head}`),
  ];
  const [layer, head] = [Math.floor(view.knobs.at / per_layer), view.knobs.at % per_layer];
  const label = `layer ${layer}, head ${head}`;
  if (!view.answered)
    return {
      marks: [
        ...drawn,
        ...possibleMarks(words, position, middles, y + size * 0.5, view, {
          ...{ id: "low", down: true, most: view.height * 0.24 },
        }),
        nameMark("below", view, view.height * 0.84, `${label}: ?`),
      ],
      caption: "One head above; below, where the other one could look.",
    };
  const strip = headStrip(facts, view);
  const below = rows[layer][head];
  return {
    marks: [
      ...drawn,
      ...arcMarks(words, below, position, middles, y + size * 0.5, view, {
        ...{ id: "low", down: true, most: view.height * 0.24 },
      }),
      nameMark("below", view, view.height * 0.84, label),
      ...strip,
    ],
    caption:
      `Above, It looks at ${rankedShares(words, above, 2)}; ` +
      `below, in ${label}, at ${rankedShares(words, below)}.`,
    table: shareTable(words, {
      [`layer ${facts.layer}, head ${facts.head}`]: above,
      [label]: below,
    }),
  };
}

// Every head as one mark, in the colour of the noun that It looks at most there.
/** @param {Facts} facts @param {StageView} view @returns {StageMark[]} */
function headStrip({ words, rows, per_layer }, view) {
  const flat = rows.flat();
  const layers = flat.length / per_layer;
  const step = (view.width - 10 * (layers - 1)) / flat.length;
  return flat.map((row, at) => {
    const best = words[row.indexOf(Math.max(...row))];
    return {
      id: `mark${at}`,
      tag: "rect",
      at: {
        x: at * step + 10 * Math.floor(at / per_layer),
        y: view.height * 0.9,
        width: Math.max(2, step - 2),
        height: at === view.knobs.at ? 26 : 16,
      },
      class: `head-mark ${wordClass(best)} ${at === view.knobs.at ? "chosen" : ""}`,
      on: { click: () => view.change({ at }) },
    };
  });
}

/** @param {Facts} facts @param {StageView} view @returns {StageScene} */
function positionPicture({ words, orders }, view) {
  const { order, name, ...tables } = orders[view.knobs.order];
  const weights = tables[view.knobs.places ? "with" : "without"];
  const { marks, slots, size, y } = sentenceMarks(words, view, 0.72, { order });
  const top = y - size;
  let before = 0;
  const arcs = order.slice(1).flatMap((word, slot) => {
    const row = weights[slot + 1];
    const best = row.indexOf(Math.max(...row));
    if (slot + 1 < order.length - 1) before += row[slot] / (order.length - 2);
    return lineOfWord(word, slots[slot + 1], slots[best], row[best], top, best === slot);
  });
  return {
    marks: [...marks, ...arcs],
    caption:
      `${name}, ${view.knobs.places ? "with" : "without"} places: ` +
      `the word before gets ${percent(before)} on average.`,
    table: {
      heads: ["looks most at", "share"],
      rows: order.map((word, slot) => {
        const most = Math.max(...weights[slot]);
        return [words[word], words[order[weights[slot].indexOf(most)]], tableNumber(most)];
      }),
    },
  };
}

/**
 * @param {number} word
 * @param {number} from
 * @param {number} to
 * @param {number} share
 * @param {number} y
 * @param {boolean} isNext
 * @returns {StageMark[]}
 */
function lineOfWord(word, from, to, share, y, isNext) {
  return [
    {
      id: `p${word}`,
      tag: "path",
      at: {
        ...{
          x1: from,
          y1: y,
          x2: to,
          y2: y,
          lift: Math.min(y * 1.2, 24 + 0.5 * Math.abs(to - from)),
        },
        "stroke-width": Math.max(1, 9 * share),
      },
      d: arcPath,
      class: `stage-arc ${isNext ? "near" : ""}`,
    },
  ];
}

/** @param {Facts} facts @param {StageView} view @returns {StageScene} */
function maskPicture(facts, view) {
  const { words } = facts;
  const position = facts.position ?? 0;
  const weights = /** @type {number[][]} */ (facts.weights);
  if (!view.answered) {
    const { marks } = sentenceMarks(words, view, 0.55, { asking: position, id: "f" });
    return {
      marks: marks.map((mark, at) => ({
        ...mark,
        class: `${mark.class} french ${at > position ? "hidden-word" : ""}`,
      })),
      caption: `${facts.word} may look at the words before it and at itself.`,
    };
  }
  const names = Math.min(90, view.width * 0.18);
  const cell = Math.min((view.width - names) / words.length, (view.height - 74) / words.length);
  const left = (view.width - names - cell * words.length) / 2 + names;
  const type = Math.min(17, cell * 0.75);
  /** @type {StageMark[]} */
  const marks = words.flatMap((word, row) => [
    {
      id: `f${row}`,
      tag: "text",
      at: { x: left - 8, y: 74 + cell * (row + 0.68), "font-size": type },
      text: word,
      class: `stage-word french at-end ${row === position ? "asking" : ""}`,
    },
    {
      id: `c${row}`,
      tag: "text",
      at: { x: left + cell * (row + 0.6), y: 66, "font-size": type },
      text: word,
      class: "stage-word french at-start",
      attributes: { transform: `rotate(-50 ${left + cell * (row + 0.6)} 66)` },
    },
    ...words.map((_, column) => maskCell(weights, row, column, left, cell)),
  ]);
  return {
    marks,
    caption:
      `Layer ${facts.layer}, head ${facts.head}. Each row is one whole; ` +
      `the ${(words.length * (words.length - 1)) / 2} empty cells are exactly zero.`,
    table: {
      heads: words,
      rows: words.map((word, row) => [word, ...weights[row].map(tableNumber)]),
    },
  };
}

/**
 * @param {number[][]} weights
 * @param {number} row
 * @param {number} column
 * @param {number} left
 * @param {number} cell
 * @returns {StageMark}
 */
function maskCell(weights, row, column, left, cell) {
  const weight = weights[row][column];
  return {
    id: `m${row}-${column}`,
    tag: "rect",
    at: {
      x: left + cell * column + 1,
      y: 74 + cell * row + 1,
      width: cell - 2,
      height: cell - 2,
    },
    class: weight === 0 ? "mask-cell empty" : "mask-cell",
    attributes: { fill: weight === 0 ? "none" : shade(weight) },
  };
}

/** @param {Facts} facts @param {StageView} view @returns {StageScene} */
function crossPicture(facts, view) {
  const { words, key_words: english = [] } = facts;
  const weights = /** @type {number[][]} */ (facts.weights);
  const row = view.knobs.row;
  const upper = sentenceMarks(english, view, 0.2);
  const lower = sentenceMarks(words, view, 0.85, {
    ...{ asking: row, id: "f" },
    pick: view.answered ? (at) => view.change({ row: at }) : undefined,
  });
  const marks = [...upper.marks, ...lower.marks.map(french)];
  if (!view.answered) return { marks, caption: "English above, French below." };
  const lines = weights.flatMap((shares, from) =>
    shares.flatMap((share, to) => {
      if (share < (from === row ? LEAST_DRAWN : 0.2)) return [];
      /** @type {StageMark} */
      const line = {
        id: `x${from}-${to}`,
        tag: "path",
        at: {
          ...{ x1: lower.middles[from], y1: lower.y - lower.size },
          ...{ x2: upper.middles[to], y2: upper.y + upper.size * 0.4 },
          "stroke-width": Math.max(1, 9 * share),
          opacity: from === row ? 1 : 0.16,
        },
        d: straightPath,
        class: "stage-arc near",
      };
      return [line];
    }),
  );
  return {
    marks: [...lines, ...marks],
    caption: `${words[row]} looks at ${rankedShares(english, weights[row])}.`,
    table: shareTable(english, { share: weights[row] }),
  };
}

/** @param {StageMark} mark */
function french(mark) {
  return { ...mark, class: `${mark.class} french ${wordClass(mark.text || "", PRONOUN_CLASS)}` };
}

// The vector of It as a line that grows, with a loop for each part that adds to it.
/** @param {Facts} facts @param {StageView} view @returns {StageScene} */
function layersPicture({ parts, words, position = 0 }, view) {
  const { width, height, answered } = view;
  const y = height * 0.52;
  const longest = Math.max(...parts.map(({ after }) => after));
  const [left, right] = [44, width - 8];
  const step = (right - left) / parts.length;
  /** @param {number} length */
  const thick = (length) => 2 + (30 * length) / longest;
  /** @type {StageMark[]} */
  const marks = [
    {
      id: `w${position}`,
      tag: "text",
      at: { x: 20, y: y + 8, "font-size": Math.min(24, LARGEST_TYPE) },
      text: words[position],
      class: "stage-word asking",
    },
  ];
  parts.forEach((part, layer) => {
    const [from, half] = [left + layer * step, left + (layer + 0.5) * step];
    marks.push(
      lineMark(`s${layer}a`, from, half, y, answered ? thick(part.before) : 3),
      lineMark(`s${layer}b`, half, from + step, y, answered ? thick(part.between) : 3),
      layerName(layer, from + step / 2, height - 8, step),
    );
    if (answered)
      marks.push(
        loopMark(`la${layer}`, from, half, y, height * 0.42, thick(part.attention), "attention"),
        loopMark(
          `lf${layer}`,
          half,
          from + step,
          y,
          -height * 0.32,
          thick(part.feed_forward),
          "feed",
        ),
        lengthMark(`na${layer}`, (from + half) / 2, y - height * 0.36, part.attention),
        lengthMark(`nf${layer}`, half + step / 4, y + height * 0.31, part.feed_forward),
      );
  });
  if (answered)
    marks.push(
      nameMark("above", view, 16, "heads, looking at other words"),
      nameMark("below", view, height - 30, "feed-forward, this word alone"),
    );
  return {
    marks,
    caption: answered
      ? "As thick as the vector is long; each loop as what it adds. The numbers are lengths."
      : "The vector of It, from the first layer to the last.",
    table: answered
      ? {
          heads: ["before", "heads add", "feed-forward adds", "after"],
          rows: parts.map(({ before, attention, feed_forward, after }, layer) => [
            `layer ${layer}`,
            ...[before, attention, feed_forward, after].map((one) => one.toFixed(1)),
          ]),
        }
      : undefined,
  };
}

/**
 * @param {string} id
 * @param {number} x1
 * @param {number} x2
 * @param {number} y
 * @param {number} thick
 * @returns {StageMark}
 */
function lineMark(id, x1, x2, y, thick) {
  const at = { x1, y1: y, x2: x2 + 1, y2: y, "stroke-width": thick };
  return { id, tag: "path", at, d: straightPath, class: "stream" };
}

/**
 * @param {string} id
 * @param {number} x1
 * @param {number} x2
 * @param {number} y
 * @param {number} lift
 * @param {number} thick
 * @param {string} kind
 * @returns {StageMark}
 */
function loopMark(id, x1, x2, y, lift, thick, kind) {
  const at = { x1: x1 + 3, y1: y, x2: x2 - 3, y2: y, lift, "stroke-width": thick };
  return { id, tag: "path", at, d: arcPath, class: `stage-loop ${kind}` };
}

/**
 * @param {string} id
 * @param {number} x
 * @param {number} y
 * @param {number} length
 * @returns {StageMark}
 */
function lengthMark(id, x, y, length) {
  const at = { x, y: y + 5, "font-size": 13 };
  return { id, tag: "text", at, text: length.toFixed(0), class: "stage-number" };
}

/**
 * @param {number} layer
 * @param {number} x
 * @param {number} y
 * @param {number} step
 * @returns {StageMark}
 */
function layerName(layer, x, y, step) {
  const at = { x, y, "font-size": 13 };
  const text = step > 60 ? `layer ${layer}` : String(layer);
  return { id: `ln${layer}`, tag: "text", at, text, class: "stage-number soft" };
}

/** @param {Facts} facts @param {StageView} view @returns {StageScene} */
function experimentPicture(facts, view) {
  const { runs, words, candidates, position = 0 } = facts;
  const { row, french: now, chances, name } = runs[view.knobs.run];
  const { marks, middles, size, y } = sentenceMarks(words, view, 0.5, { asking: position });
  const chance = candidates.flatMap((word, at) =>
    barMarks(`chance${at}`, view, view.height * (0.84 + 0.1 * at), word, chances[at], {
      kind: wordClass(word, PRONOUN_CLASS),
    }),
  );
  return {
    marks: [
      ...marks,
      ...arcMarks(words, row, position, middles, y - size, view),
      ...frenchMarks(now, view, 0.66, runs[0].french),
      ...(view.answered ? chance : []),
    ],
    caption:
      `The head: ${name}. ` +
      (view.answered
        ? `How likely each word is, where the pronoun stands: ${rankedShares(candidates, chances)}.`
        : ""),
    table: view.answered
      ? {
          heads: ["French", ...candidates],
          rows: runs.map((run) => [
            run.name,
            sentenceText(run.french),
            ...run.chances.map((one) => percent(one)),
          ]),
        }
      : undefined,
  };
}

/** @param {string[]} words */
function sentenceText(words) {
  return words.join(" ").replace(/ \./g, ".");
}

// A share as a bar from left to right, with its name before it and its number behind.
/**
 * @param {string} id
 * @param {StageView} view
 * @param {number} y
 * @param {string} name
 * @param {number} share
 * @param {{ names?: number; kind?: string }} [options]
 * @returns {StageMark[]}
 */
function barMarks(id, view, y, name, share, { names = 60, kind = "" } = {}) {
  const room = view.width - names - 60;
  return [
    {
      id: `${id}t`,
      tag: "text",
      at: { x: names - 8, y: y + 5, "font-size": Math.min(14, (14 * names) / (7.4 * name.length)) },
      text: name,
      class: "stage-number at-end",
    },
    {
      id,
      tag: "rect",
      at: { x: names, y: y - 8, width: Math.max(1, room * share), height: 16 },
      class: `stage-bar ${kind}`,
    },
    {
      id: `${id}n`,
      tag: "text",
      at: { x: names + room * share + 8, y: y + 5, "font-size": 14 },
      text: percent(share),
      class: "stage-number at-start",
    },
  ];
}

/** @param {Facts} facts @param {StageView} view @returns {StageScene} */
function tellPicture(facts, view) {
  const { words, position = 0 } = facts;
  const row = rowOf(facts, position);
  const { marks, middles, size, y } = sentenceMarks(words, view, view.answered ? 0.44 : 0.62, {
    asking: position,
  });
  const drawn = [...marks, ...arcMarks(words, row, position, middles, y - size, view)];
  if (!view.answered) return { marks: drawn, caption: `It looks at ${rankedShares(words, row)}.` };
  /** @type {[string, number][]} */
  const measured = [
    ["right: people's sentences", facts.people_right],
    ["right: generated sentences", facts.generated_right],
    ["French pronoun right", facts.french_right],
    ["French follows a wrong row", facts.used ? facts.follows : null],
  ].flatMap(([name, share]) => (typeof share === "number" ? [[String(name), share]] : []));
  const names = Math.min(210, view.width * 0.48);
  return {
    marks: [
      ...drawn,
      ...measured.flatMap(([name, share], at) =>
        barMarks(`told${at}`, view, view.height * (0.58 + 0.11 * at), name, share, { names }),
      ),
    ],
    caption: "Measured over many sentences, not read off one picture.",
    table: {
      heads: ["share"],
      rows: measured.map(([name, share]) => [name, percent(share)]),
    },
  };
}

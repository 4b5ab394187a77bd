// The sentence as the picture: its words in a row, lines over them as thick as the weights, the
// French beneath. The strongest line is one and the same path whatever it joins: it moves to where
// the weights are.

import { asWord, element, percent, replace, svgElement } from "../lib/dom.js";
import { animate, FEEDBACK_MS } from "../lib/motion.js";
import { barLayer, barTargets } from "./bars.js";
import { languageCurve, pathThrough, pointsBetween, sampled, wordCurve } from "./curves.js";
import { exampleOf, sentenceWith } from "./examples.js";
import { spacedWords } from "./translation.js";

const MAX_ARCS = 12;
const MIN_ARC_WEIGHT = 0.005;
const EVEN_WIDTH = 1.6; // of lines to all words alike, while their scores are shown
const EVEN_RISE = 0.32; // of the highest one: the rest with the distance, so that they nest
const LABELLED_WEIGHT = 0.1; // from here on an arc has its number
const LABEL_PIXELS = 26; // above the highest arc, for its number
const FIRST_GAP_PIXELS = 48; // above the first line of text there is room for more
const CHARACTER_PIXELS = 19; // of the large letters, a little more than they take
const MAX_LARGE_CHARACTERS = 90; // characters that still fit in large letters
const MARK = /^[(<[].*[)>\]]$/; // (end), </s>: no word of the sentence

// handlers: point(position of an English word or null), source(positions of English words or null)
// while a French word is pointed at, strike(position), look(position) makes the asking word look
// there, ending(sentence). Without strike and look the words are not buttons.
/** @param {StageHandlers} handlers */
export function sentenceStage(handlers) {
  const bars = barLayer();
  const arcs = svgElement("svg.arcs", { "aria-hidden": "true" }, bars.root);
  const english = element("p.english", { lang: "en", dir: "auto" });
  const french = element("p.french", { lang: "fr" });
  const former = element("p.former", { lang: "fr" });
  const root = element("div.sentence-stage", arcs, english, french, former);
  /** @type {StageState} */
  const stage = {
    ...{ root, arcs, bars, english, french, former, handlers },
    words: new Map(),
    frenchWords: new Map(),
    made: "",
    size: "",
    translated: null,
    model: null,
    lines: [],
    stop: () => {},
    pointed: null,
  };
  // A drawing that makes the stage higher is still moving: it is drawn again for a new size alone.
  const resized = new ResizeObserver(() => sizeOf(root) !== stage.size && drawArcs(stage, 0));
  resized.observe(root);
  listenToFoot(stage);
  return {
    root,
    // The words alone, while nothing is known about them.
    /** @param {string} text */
    plain(text) {
      stage.model = null;
      stage.translated = null;
      fillEnglish(stage, text, text.split(/\s+/).filter(Boolean));
      french.classList.add("waiting");
      replace(french, text ? waitingText() : "");
      replace(former);
      drawArcs(stage, 0);
    },
    /** @param {PageReading} reading @param {string} text as it was typed */
    show(reading, text) {
      fillEnglish(stage, text, reading.parts[0].query.words);
      fillFrench(stage, reading);
    },
    /** @param {StageModel} model @param {number} milliseconds */
    draw(model, milliseconds) {
      stage.model = model;
      root.classList.toggle("explaining", model.why !== null);
      root.classList.toggle("head-off", model.isOff);
      markStage(stage, model);
      drawArcs(stage, milliseconds);
    },
    // The French before a change, under the one after it.
    /** @param {Run | null} before @param {Run | null} after */
    compare(before, after) {
      for (const [at, node] of stage.frenchWords)
        node.classList.toggle("changed", Boolean(after?.differing.includes(at)));
      /** @param {string} word @param {number} at */
      const made = (word, at) =>
        before?.differing.includes(at) ? element("s", word) : element("span", word);
      replace(former, before && ["before: ", spacedWords(before.words, made)]);
    },
    close() {
      resized.disconnect();
      stage.stop();
    },
  };
}

// The sentence as it was typed, its words found in it one after the other; what no space parts
// stays together. The words of the same sentence stay, with the focus and what is drawn at them.
/** @param {StageState} stage @param {string} text @param {string[]} names */
function fillEnglish(stage, text, names) {
  const { root, english, handlers } = stage;
  const made = JSON.stringify([text, names]);
  if (made === stage.made) return;
  const before = stage.words;
  const { activeElement } = document; // a word that stays is put in again, which takes its focus
  stage.made = made;
  stage.words = new Map();
  root.classList.toggle("long", text.length > MAX_LARGE_CHARACTERS);
  // Until it can be measured: so that what follows stands where it will.
  if (!root.isConnected)
    root.classList.toggle("one-line", text.length < window.innerWidth / CHARACTER_PIXELS);
  const shown = handlers.ending ? exampleOf(text) : null;
  /** @type {Child[][]} */
  const chunks = [[]];
  let end = 0;
  /** @param {string} plain */
  const addPlain = (plain) => {
    plain.split(/\s+/).forEach((piece, at) => {
      if (at) chunks.push([]);
      if (piece) chunks[chunks.length - 1].push(piece);
    });
  };
  const lastWord = names.findLastIndex((name) => !MARK.test(name));
  names.forEach((name, position) => {
    const at = text.indexOf(name, end);
    if (MARK.test(name) && at < 0) {
      const mark = element("span.mark", { "data-position": position }, name);
      stage.words.set(position, mark);
      chunks.push([mark]);
      return;
    }
    if (at < 0) return;
    addPlain(text.slice(end, at));
    end = at + name.length;
    const isEnding = shown !== null && position === lastWord;
    const node = isEnding
      ? endingSwitch(stage, shown, position, before)
      : wordNode(stage, name, position, before.get(position));
    chunks[chunks.length - 1].push(node);
  });
  addPlain(text.slice(end));
  replace(
    english,
    chunks.filter((chunk) => chunk.length).map((chunk) => element("span.chunk", chunk)),
  );
  if (activeElement instanceof HTMLElement && english.contains(activeElement))
    activeElement.focus({ preventScroll: true });
}

/**
 * @param {StageState} stage
 * @param {string} name
 * @param {number} position
 * @param {HTMLElement | undefined} before
 */
function wordNode(stage, name, position, before) {
  const { strike, look, point } = stage.handlers;
  const keep = before?.dataset.position === String(position) && before.textContent === name;
  const isWord = strike && /[\p{L}\p{N}]/u.test(name);
  if (keep && (before.tagName === "BUTTON") === Boolean(isWord)) {
    before.className = "word";
    stage.words.set(position, before);
    return before;
  }
  const listeners = {
    pointerenter: (/** @type {PointerEvent} */ event) =>
      event.pointerType === "mouse" && point(position),
    pointerleave: () => point(null),
  };
  const attributes = { class: "word", "data-position": position };
  const node = isWord
    ? element(
        "button",
        {
          ...attributes,
          title: "Click: strike this word out",
          on: {
            ...listeners,
            click: () => strike(position),
            keydown: (event) => {
              if (event.key !== "Enter" || !event.shiftKey) return;
              event.preventDefault();
              look?.(position);
            },
          },
        },
        name,
      )
    : element("span", { ...attributes, on: listeners }, name);
  stage.words.set(position, node);
  return node;
}

// The two endings of an example; the one that is chosen is a word of the sentence.
/**
 * @param {StageState} stage
 * @param {TwoEndings & { at: number }} shown
 * @param {number} position
 * @param {Map<number, HTMLElement>} before
 */
function endingSwitch(stage, shown, position, before) {
  const last = before.get(position)?.closest(".switch");
  const group =
    last instanceof HTMLElement && last.dataset.start === shown.start
      ? last
      : element(
          "span.switch",
          { role: "group", "aria-label": "Ending", "data-start": shown.start },
          shown.endings.map((name, at) =>
            element(
              "button",
              {
                on: {
                  click: () => stage.handlers.ending?.(sentenceWith(shown, at)),
                  pointerenter: () => stage.handlers.soon?.(sentenceWith(shown, at)),
                },
              },
              name,
            ),
          ),
        );
  [...group.children].forEach((button, at) => {
    button.setAttribute("aria-pressed", String(at === shown.at));
    button.removeAttribute("data-position");
    button.removeAttribute("class");
    if (at !== shown.at || !(button instanceof HTMLElement)) return;
    button.dataset.position = String(position);
    stage.words.set(position, button);
  });
  return group;
}

// A static site may have to ask before it fetches the model: until then nothing is translating.
function waitingText() {
  return [
    element("span.small.while-reading", "translating …"),
    element("span.small.before-model", "not read on this device yet"),
  ];
}

/** @param {StageState} stage @param {PageReading} reading */
function fillFrench(stage, reading) {
  const { french } = stage;
  if (reading === stage.translated) return;
  if (!reading.alignment) {
    french.classList.add("waiting");
    if (!stage.translated) {
      replace(french, reading.quick ? waitingText() : "");
    }
    return;
  }
  stage.translated = reading;
  french.classList.remove("waiting");
  stage.frenchWords = new Map();
  const { words, sources } = reading.alignment;
  const names = reading.parts[0].query.words;
  replace(
    french,
    element("span.mark.start", { "aria-hidden": "true" }),
    spacedWords(words, (word, at) => {
      const origin = sources[at].map(({ key }) => key);
      const told = sources[at].map(({ key, weight }) => `${asWord(names[key])} ${percent(weight)}`);
      const said = `${asWord(word)} came from ${told.join(", ") || "no word in particular"}.`;
      const node = element(
        "span.word",
        {
          "data-position": at,
          on: {
            pointerenter: () => pointAtFrench(stage, at, origin, said),
            pointerleave: () => pointAtFrench(stage, null, null, ""),
          },
        },
        word,
      );
      stage.frenchWords.set(at, node);
      return node;
    }),
  );
}

/**
 * @param {StageState} stage
 * @param {number | null} at
 * @param {number[] | null} origin
 * @param {string} said
 */
function pointAtFrench(stage, at, origin, said) {
  stage.pointed = at;
  for (const [position, node] of stage.words)
    node.classList.toggle("lit", Boolean(origin?.includes(position)));
  stage.handlers.source(origin, said);
  drawLinks(stage);
}

// Which words ask, which are struck out, and which colour each has.
/** @param {StageState} stage @param {StageModel} model */
function markStage(stage, { asking, struck, nouns, frenchOf }) {
  for (const [position, node] of stage.words) {
    const colour = nouns.indexOf(position);
    node.classList.toggle("one", colour === 0);
    node.classList.toggle("two", colour === 1);
    node.classList.toggle("asking", asking.english.includes(position));
    node.classList.toggle("struck", struck.includes(position));
    if (node.matches("button.word"))
      node.setAttribute("aria-pressed", String(struck.includes(position)));
  }
  for (const [at, node] of stage.frenchWords) {
    const colour = frenchOf.get(at);
    node.classList.toggle("one", colour === 0);
    node.classList.toggle("two", colour === 1);
    node.classList.toggle("asking", asking.french.includes(at));
  }
  const answer = stage.model ? answerColour(stage.model) : -1;
  stage.root.classList.toggle("says-one", answer === 0);
  stage.root.classList.toggle("says-two", answer === 1);
}

// (end) and (start) are seen where something looks at them.
/** @param {StageState} stage @param {StageModel} model */
function markEnds(stage, { links, keyIsFrench, why }) {
  /** @param {(key: number) => boolean} isIt */
  const isSeen = (isIt) => links.some(({ key, weight }) => isIt(key) && weight > 0.01);
  for (const mark of stage.english.querySelectorAll(".mark")) {
    const position = Number(/** @type {HTMLElement} */ (mark).dataset.position);
    const isEnd = !keyIsFrench && (why !== null || isSeen((key) => key === position));
    mark.classList.toggle("seen", isEnd);
  }
  const isStart = keyIsFrench && isSeen((key) => key < 0);
  stage.french.querySelector(".mark.start")?.classList.toggle("seen", isStart);
}

// The colour of the noun that the strongest line leads to; below 0 where it leads elsewhere.
/** @param {StageModel} model */
function answerColour({ links, nouns, keyIsFrench }) {
  return links.length && !keyIsFrench ? nouns.indexOf(links[0].key) : -1;
}

// The lines.

/** @param {StageState} stage @param {boolean} isFrench @param {number} position */
function wordNodeAt(stage, isFrench, position) {
  if (!isFrench) return stage.words.get(position);
  if (position >= 0) return stage.frenchWords.get(position);
  return stage.french.querySelector(".mark.start");
}

/**
 * @param {StageState} stage
 * @param {Element | null | undefined} node
 * @returns {WordPlace | null}
 */
function placeOf(stage, node) {
  if (!node || !node.isConnected) return null;
  const frame = stage.root.getBoundingClientRect();
  const box = node.getBoundingClientRect();
  if (!box.width) return null;
  const line = (node.closest(".chunk") || node).getBoundingClientRect();
  return {
    x: box.left + box.width / 2 - frame.left,
    top: box.top - frame.top,
    bottom: box.bottom - frame.top,
    line: Math.round(line.top + line.height / 2 - frame.top),
    half: line.height / 2,
  };
}

// A sentence on one line has room for a high arc; lines of text leave gaps for brackets.
/** @param {StageState} stage */
function measure({ root, english }) {
  const chunks = [...english.children];
  const lines = new Set(
    chunks.map((chunk) => {
      const { top, bottom } = chunk.getBoundingClientRect();
      return Math.round((top + bottom) / 2);
    }),
  );
  const isOneLine = lines.size <= 1;
  root.classList.toggle("one-line", isOneLine);
  const style = getComputedStyle(english);
  const left = Math.min(...chunks.map((chunk) => chunk.getBoundingClientRect().left));
  const room = parseFloat(style.paddingTop) - parseFloat(style.fontSize) * 0.9;
  return {
    height: isOneLine ? Math.max(20, room - LABEL_PIXELS) : 0.6 * parseFloat(style.rowGap),
    gap: parseFloat(style.rowGap) * 0.5 + parseFloat(style.fontSize) * 0.62,
    margin: Math.max(6, left - root.getBoundingClientRect().left - 18),
  };
}

/** @param {HTMLElement} root */
function sizeOf({ clientWidth, clientHeight }) {
  return `${clientWidth} ${clientHeight}`;
}

/** @param {StageState} stage @param {number} milliseconds */
function drawArcs(stage, milliseconds) {
  const { arcs, root, model } = stage;
  if (!root.isConnected || !root.clientWidth) return;
  stage.stop();
  if (model) markEnds(stage, model);
  const frame = measure(stage);
  stage.size = sizeOf(root);
  arcs.setAttribute("viewBox", `0 0 ${stage.size}`);
  const isOneLine = root.classList.contains("one-line");
  const why = model?.why ?? null;
  // Brackets between lines of text would run through the bars, and so would lines from French.
  const hasLines = !why || (isOneLine && !model?.queryIsFrench);
  const targets = model && hasLines ? arcTargets(stage, model, frame) : [];
  const places = [...stage.words].flatMap(([position, node]) => {
    const place = why && placeOf(stage, node);
    return place ? [{ position, ...place }] : [];
  });
  const bars = barTargets(why, places, isOneLine, model?.nouns ?? []);
  // All lines come out of the one that is there.
  const begun = why ? (stage.lines[0]?.points ?? null) : null;
  while (stage.lines.length < targets.length) stage.lines.push(newLine(arcs, begun));
  for (const label of arcs.querySelectorAll(":scope > text")) label.remove();
  const moving = stage.lines.map((line, at) => lineMotion(line, targets[at]));
  moving.push(stage.bars.motion(bars));
  drawLinks(stage);
  placeFoot(stage, null);
  stage.stop = animate(
    milliseconds,
    (share) => {
      for (const move of moving) move(share);
    },
    () => {
      stage.lines.forEach((line, at) => finishLine(line, targets[at]));
      stage.lines = stage.lines.filter(({ path }) => path.isConnected);
      stage.bars.finish(bars);
      drawLabels(stage, targets);
      placeFoot(stage, targets[0] ?? null);
    },
  );
}

/** @param {SVGSVGElement} arcs @param {number[][] | null} points @returns {StageLine} */
function newLine(arcs, points) {
  const path = svgElement("path.arc");
  arcs.prepend(path);
  return { path, points, width: 0 };
}

/** @param {StageState} stage @param {StageModel} model @param {CurveFrame} frame */
function arcTargets(stage, model, frame) {
  const { links, nouns, queryIsFrench, keyIsFrench } = model;
  /** @type {ArcTarget[]} */
  const targets = [];
  const isEven = model.why !== null && model.why.step !== "weights";
  for (const link of links.slice(0, MAX_ARCS)) {
    if (link.weight < MIN_ARC_WEIGHT && !isEven) continue;
    const [from, to] = [
      placeOf(stage, wordNodeAt(stage, queryIsFrench, link.query)),
      placeOf(stage, wordNodeAt(stage, keyIsFrench, link.key)),
    ];
    if (!from || !to) continue;
    const far = Math.abs(to.x - from.x) / stage.root.clientWidth;
    const height = isEven ? frame.height * Math.min(1, EVEN_RISE + 1.4 * far) : frame.height;
    const room =
      queryIsFrench && keyIsFrench ? { ...frame, height: 34, gap: 22 } : { ...frame, height };
    const curve =
      queryIsFrench === keyIsFrench
        ? wordCurve(from, to, { ...room, margin: room.margin - 7 * targets.length })
        : languageCurve(to, from, true);
    const colour = keyIsFrench ? -1 : nouns.indexOf(link.key);
    const strength = isEven ? { width: EVEN_WIDTH, opacity: 0.6 } : arcStrength(link.weight);
    targets.push({ ...link, ...curve, ...strength, colour, start: [from.x, from.top - 5] });
  }
  return targets;
}

/** @param {number} weight */
function arcStrength(weight) {
  return { width: 1 + 11 * weight, opacity: Math.min(1, 0.12 + 0.88 * Math.sqrt(weight)) };
}

// From where a path is to where it shall be; one without a target grows thin.
/** @param {StageLine} line @param {ArcTarget | undefined} target */
function lineMotion(line, target) {
  const { path } = line;
  const width = target?.width ?? 0;
  const to = target ? sampled(target.path) : line.points;
  const from = line.points || to?.map(() => target?.start || [0, 0]) || null;
  const before = line.width;
  if (target) {
    path.setAttribute("class", `arc ${["one", "two"][target.colour] ?? "other"}`);
    path.style.setProperty("opacity", String(target.opacity));
  }
  return (/** @type {number} */ share) => {
    if (!from || !to) return;
    line.points = pointsBetween(from, to, share);
    line.width = before + share * (width - before);
    path.setAttribute("d", pathThrough(line.points));
    path.setAttribute("stroke-width", line.width.toFixed(2));
  };
}

/** @param {StageLine} line @param {ArcTarget | undefined} target */
function finishLine({ path }, target) {
  if (target) path.setAttribute("d", target.path);
  else path.remove();
}

// Numbers come once, when the lines have arrived: above an arc, or on it where lines of text leave
// no more room; one that would lie over another is left out.
/** @param {StageState} stage @param {ArcTarget[]} targets */
function drawLabels({ arcs, root, model }, targets) {
  if (!model || model.isWhole || model.why) return;
  const isOneLine = root.classList.contains("one-line");
  const most = model.queryIsFrench === model.keyIsFrench ? 3 : 1;
  /** @type {{ x: number, y: number }[]} */
  const placed = [];
  targets.slice(0, most).forEach(({ apex, weight, colour }) => {
    const [x, y] = [apex.x, apex.y + (isOneLine || apex.y < FIRST_GAP_PIXELS ? -12 : 6)];
    const isFree = placed.every((one) => Math.abs(one.x - x) > 56 || Math.abs(one.y - y) > 22);
    if (weight < LABELLED_WEIGHT || !isFree) return;
    placed.push({ x, y });
    const name = ["one", "two"][colour] ?? "other";
    const attributes = { x, y, "text-anchor": "middle", class: name };
    arcs.append(svgElement("text", attributes, percent(weight)));
  });
}

// From the word that looks to the French word that it became; or from the words that a French one
// came from, while it is pointed at.
/** @param {StageState} stage */
function drawLinks(stage) {
  const { arcs, model, translated, pointed } = stage;
  for (const link of arcs.querySelectorAll(".link-line")) link.remove();
  if (!model || model.why || !translated?.alignment) return;
  if (model.queryIsFrench && pointed === null) return;
  const { sources } = translated.alignment;
  sources.forEach((origin, at) => {
    for (const { key, weight } of origin) {
      const isShown = pointed === null ? model.asking.english.includes(key) : pointed === at;
      const [upper, lower] = [
        placeOf(stage, stage.words.get(key)),
        placeOf(stage, stage.frenchWords.get(at)),
      ];
      if (!isShown || !upper || !lower || weight < 0.2) continue;
      if (lower.top - upper.bottom > 120) continue; // other lines of text stand between them
      const { path } = languageCurve(upper, lower);
      arcs.append(svgElement("path.link-line", { d: path }));
    }
  });
}

// The foot of the strongest line: dragged to another word it asks what would happen if the word
// looked there.

/** @param {StageState} stage @param {ArcTarget | null} target */
function placeFoot(stage, target) {
  const { arcs, model, handlers } = stage;
  arcs.querySelector(".foot")?.remove();
  if (!target || !model || model.why || !handlers.look || !model.canRedirect) return;
  const name = ["one", "two"][target.colour] ?? "other";
  const place = { cx: target.foot.x, cy: target.foot.y, r: 9 };
  arcs.append(
    svgElement(
      "circle",
      { class: `foot ${name}`, ...place },
      svgElement("title", "Drag me to another word"),
    ),
  );
}

/** @param {StageState} stage */
function listenToFoot(stage) {
  const { arcs } = stage;
  /** @type {{ from: WordPlace, foot: Element, target: number | null } | null} */
  let drag = null;
  /** @param {number} x @param {number} y */
  const nearest = (x, y) => {
    for (const [position, node] of stage.words) {
      const { left, right, top, bottom } = node.getBoundingClientRect();
      const above = node.classList.contains("mark") ? 0 : 60;
      if (x >= left - 6 && x <= right + 6 && y >= top - above && y <= bottom + 10) return position;
    }
    return null;
  };
  /** @param {number | null} position */
  const aim = (position) => {
    for (const [at, node] of stage.words) node.classList.toggle("aimed", at === position);
  };
  arcs.addEventListener("pointerdown", (event) => {
    const { model } = stage;
    const foot = event.target instanceof Element ? event.target.closest(".foot") : null;
    const [first] = model?.links || [];
    const from =
      first && model && placeOf(stage, wordNodeAt(stage, model.queryIsFrench, first.query));
    if (!foot || !from || event.button) return;
    event.preventDefault();
    stage.stop();
    foot.setPointerCapture(event.pointerId);
    for (const label of arcs.querySelectorAll("text")) label.remove();
    drag = { from, foot, target: null };
  });
  arcs.addEventListener("pointermove", (event) => {
    if (!drag || !stage.lines.length) return;
    const frame = stage.root.getBoundingClientRect();
    drag.target = nearest(event.clientX, event.clientY);
    aim(drag.target);
    const over = placeOf(stage, drag.target === null ? null : stage.words.get(drag.target));
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const to = over || { ...drag.from, x, top: y + 5, bottom: y };
    const sizes = measure(stage);
    const { path, foot } = stage.model?.queryIsFrench
      ? languageCurve({ ...to, bottom: over ? to.bottom : y }, drag.from, true)
      : wordCurve(drag.from, to, sizes);
    const [line] = stage.lines;
    line.points = sampled(path);
    line.path.setAttribute("d", path);
    drag.foot.setAttribute("cx", String(foot.x));
    drag.foot.setAttribute("cy", String(foot.y));
  });
  /** @param {boolean} isDropped */
  const finish = (isDropped) => {
    if (!drag) return;
    const { target } = drag;
    drag = null;
    aim(null);
    if (isDropped && target !== null && target !== stage.model?.links[0]?.key)
      stage.handlers.look?.(target);
    else drawArcs(stage, FEEDBACK_MS);
  };
  arcs.addEventListener("pointerup", () => finish(true));
  arcs.addEventListener("pointercancel", () => finish(false));
}

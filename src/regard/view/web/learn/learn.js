// The Learn view: one story of short scenes, each beside a live picture, each with a question to
// answer before the answer is shown; then an appendix.
//
// Fields of the address: page (the scene in view, from 1), answer (which choice was made in it,
// from 1; without it the question stands open).

import { announce, element, goTo, problem, replace } from "../lib/dom.js";
import { describeExport } from "../lib/export.js";
import { COURSE } from "./course.js";
import { filledText, lessonFigure, PIECES } from "./lesson.js";

const STORY = COURSE.filter(({ appendix }) => !appendix).length;
const OWN_SCROLLING = ["wheel", "touchmove", "keydown", "pointerdown"];
const IN_VIEW = "-35% 0px -60% 0px"; // a scene is read when it crosses this band of the window

/** @param {HTMLElement} root @param {State} state @param {Source} source */
export async function showLearn(root, state, source) {
  /** @type {Story} */
  const story = {
    state,
    source,
    scenes: [],
    current: 0,
    last: 0,
    target: null,
    closed: false,
    contents: element("nav", { class: "contents", "aria-label": "Scenes of the course" }),
  };
  story.scenes = COURSE.map((page, at) => emptyScene(page, at + 1));
  const body = element(
    "article",
    { class: "lesson-page" },
    element("h1", { tabindex: "-1" }, "How attention works"),
    element("p", { class: "quiet lead" }, "A story in scenes. Answer each question, then read on."),
    story.scenes.map(({ root }, at) => [
      at === STORY &&
        element(
          "h2",
          { class: "appendix" },
          "Appendix: what three published introductions get wrong",
        ),
      root,
    ]),
    teachersPage(),
  );
  root.append(element("div", { class: "course" }, story.contents, body));
  story.current = currentScene(state);
  story.target = story.current; // until it is in view, those above it are not read
  drawContents(story);
  const watcher = watchScenes(story);
  state.follow(() => followAddress(story));
  describeExport(() => lessonFigure(story, source));
  const filled = fillScenes(story, story.current);
  await filled.first;
  if (story.current > 0 && !story.closed) jumpTo(story, story.current, "auto");
  return () => {
    story.closed = true;
    watcher.close();
    story.scenes.forEach(closePieces);
  };
}

/** @param {State} state */
function currentScene(state) {
  return Math.max(1, Math.min(COURSE.length, Math.round(state.number("page", 1)))) - 1;
}

/** @param {CoursePage} page @param {number} number @returns {Scene} */
function emptyScene(page, number) {
  const text = element("div", { class: "scene-text" });
  const beside = element("div", { class: "scene-picture" });
  const name = page.appendix ? `Appendix ${number - STORY}` : `Scene ${number} of ${STORY}`;
  const heading = element("h2", { tabindex: "-1", id: `scene-${page.name}` }, page.title);
  const root = element(
    "section",
    { class: "scene", "aria-labelledby": `scene-${page.name}`, "data-scene": String(number) },
    element("div", { class: "scene-head" }, element("p", { class: "quiet small" }, name), heading),
    text,
    beside,
  );
  return {
    number,
    page,
    facts: null,
    answered: 0,
    pieces: [],
    root,
    text,
    beside,
    buttons: [],
    answer: element("div", { class: "answer", hidden: true }),
    verdict: element("p", { class: "verdict" }),
  };
}

// Scenes come in their order; `first` is over when those down to the one in view are there, so that
// nothing above it moves any more.
/** @param {Story} story @param {number} last */
function fillScenes(story, last) {
  /** @param {Scene} scene */
  const fill = async (scene) => {
    try {
      const facts = await story.source.learn(scene.page.name);
      if (!story.closed) drawScene(story, scene, facts);
    } catch (error) {
      if (!story.closed) replace(scene.text, problem(error));
    }
  };
  /** @param {Scene[]} scenes */
  const inOrder = async (scenes) => {
    for (const scene of scenes) if (!story.closed) await fill(scene);
  };
  const first = inOrder(story.scenes.slice(0, last + 1));
  return { first, rest: first.then(() => inOrder(story.scenes.slice(last + 1))) };
}

/** @param {Story} story @param {Scene} scene @param {Facts} facts */
function drawScene(story, scene, facts) {
  const { page } = scene;
  scene.facts = facts;
  const choices = page.choices || facts.choices;
  scene.buttons = choices.map((text, at) =>
    element(
      "button",
      {
        type: "button",
        class: "button",
        "aria-pressed": "false",
        on: { click: () => chooseAnswer(story, scene, at + 1) },
      },
      text,
    ),
  );
  replace(
    scene.text,
    paragraphs(facts, page.text),
    element(
      "div",
      { class: "question", role: "group", "aria-labelledby": `asked-${page.name}` },
      element("h3", { id: `asked-${page.name}` }, filledText(page.ask, facts)),
      element("div", { class: "choices" }, scene.buttons),
    ),
    scene.answer,
    turns(story, scene),
  );
  showPiece(scene, page.picture);
  if (scene.number - 1 === currentScene(story.state))
    showAnswer(story, scene, chosenIn(story, scene));
}

/** @param {Story} story @param {Scene} scene @param {number} chosen */
function chooseAnswer(story, scene, chosen) {
  // Whoever answers is in this scene, wherever the middle of the window is.
  story.current = story.target = scene.number - 1;
  showAnswer(story, scene, chosen);
  story.state.set({ page: numberIn(scene), answer: chosen });
  drawContents(story);
}

/** @param {Scene} scene */
function numberIn({ number }) {
  return number === 1 ? null : number;
}

/** @param {Story} story @param {Scene} scene */
function chosenIn({ state }, { buttons }) {
  const chosen = Math.round(state.number("answer", 0));
  return chosen >= 1 && chosen <= buttons.length ? chosen : 0;
}

// A first choice opens the answer and the picture that goes with it, another one moves the mark.
/** @param {Story} story @param {Scene} scene @param {number} chosen */
function showAnswer(story, scene, chosen) {
  const { page, facts, buttons, answered } = scene;
  if (!facts || !chosen || chosen === answered) return;
  buttons.forEach((button, at) => {
    button.setAttribute("aria-pressed", String(at + 1 === chosen));
    button.classList.toggle("right", at === facts.right);
    button.classList.toggle("wrong", at + 1 === chosen && at !== facts.right);
  });
  scene.answered = chosen;
  story.last = scene.number - 1;
  const verdict =
    chosen - 1 === facts.right ? "Yes." : `Not quite. It is: ${buttons[facts.right].textContent}`;
  if (!answered) {
    replace(
      scene.answer,
      scene.verdict,
      paragraphs(facts, page.answer),
      onward(story, page, facts),
    );
    scene.answer.hidden = false;
    if (page.after) showPiece(scene, page.after);
  }
  scene.verdict.textContent = verdict;
  announce(verdict);
}

/** @param {Facts} facts @param {Paragraph[]} parts */
function paragraphs(facts, parts) {
  return parts
    .map((part) => (typeof part === "string" ? { text: part } : part))
    .filter(({ when, unless }) => (when ? facts[when] : unless ? !facts[unless] : true))
    .map(({ text }) => element("p", null, filledText(text, facts)));
}

const OF_OTHER_VIEWS = [
  "page",
  "answer",
  "part",
  "show",
  "q",
  "k",
  "from",
  "sentence",
  "layer",
  "head",
  "divide",
  "causal",
  "position",
  "heat",
  "cell",
  "own",
];

/** @param {Story} story @param {CoursePage} page @param {Facts} facts */
function onward({ state, source }, page, facts) {
  const [view, fields, label, more] = page.open;
  if (!source.views.includes(view)) return null;
  const requested = Array.isArray(fields)
    ? Object.fromEntries(fields.map((name) => [name, facts[name]]))
    : fields;
  /** @type {Fields} */
  const clean = Object.fromEntries(OF_OTHER_VIEWS.map((name) => [name, null]));
  if (view === "read" && facts.position !== undefined) clean.q = facts.position;
  return element(
    "p",
    null,
    element(
      "button",
      {
        type: "button",
        class: "link onward",
        on: { click: () => state.go(view, { ...clean, ...requested, ...more }) },
      },
      `${label} →`,
    ),
  );
}

/** @param {Story} story @param {Scene} scene */
function turns(story, { number }) {
  /** @param {number} to @param {string} text */
  const button = (to, text) =>
    to >= 1 && to <= COURSE.length
      ? element(
          "button",
          { type: "button", class: "button", on: { click: () => go(story, to - 1) } },
          text,
        )
      : element("span");
  return element(
    "div",
    { class: "turns" },
    button(number - 1, "← Back"),
    button(number + 1, "Next →"),
  );
}

/** @param {Scene} scene @param {string | undefined} name */
function showPiece(scene, name) {
  closePieces(scene);
  if (!name || !scene.facts) return;
  const made = PIECES[name](scene.facts);
  scene.pieces.push(made);
  replace(scene.beside, element("div", { class: "live" }, made.root));
  if (made.show) made.show();
}

/** @param {Scene} scene */
function closePieces(scene) {
  for (const made of scene.pieces) if (made.close) made.close();
  scene.pieces = [];
}

/** @param {Story} story */
function drawContents(story) {
  replace(
    story.contents,
    element(
      "ol",
      null,
      story.scenes.map(({ page, number, answered }, at) =>
        element(
          "li",
          { class: page.appendix ? "of-appendix" : null },
          element(
            "a",
            {
              href: `#learn?page=${number}`,
              class: answered ? "answered" : null,
              "aria-current": at === story.current ? "step" : null,
              on: { click: (event) => followLink(event, story, at) },
            },
            element("span", { class: "scene-number" }, `${number}. `),
            element("span", { class: "scene-title" }, page.title),
          ),
        ),
      ),
    ),
  );
}

/** @param {MouseEvent} event @param {Story} story @param {number} at */
function followLink(event, story, at) {
  if (event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  go(story, at);
}

/** @param {Story} story @param {number} at */
function go(story, at) {
  const scene = story.scenes[at];
  story.state.set({ page: numberIn(scene), answer: scene.answered || null }, true);
}

// The address names another scene: by a link, by going back, or by hand.
/** @param {Story} story */
function followAddress(story) {
  const at = currentScene(story.state);
  const scene = story.scenes[at];
  if (scene.facts) showAnswer(story, scene, chosenIn(story, scene));
  if (at !== story.current) jumpTo(story, at);
}

/** @param {Story} story @param {number} at @param {ScrollBehavior} [behavior] */
function jumpTo(story, at, behavior) {
  const { root } = story.scenes[at];
  Object.assign(story, { current: at, target: at });
  drawContents(story);
  root.querySelector("h2")?.focus({ preventScroll: true });
  if (behavior) root.scrollIntoView({ block: "start", behavior });
  else goTo(root);
}

// Whichever scene crosses the middle of the window is the one in the address. While the page is on
// its way to a scene, those it passes do not count; the reader's own scrolling ends that.
/** @param {Story} story */
function watchScenes(story) {
  /** @param {number} at */
  const arrived = (at) => {
    if (story.target !== null && story.target !== at) return;
    story.target = null;
    if (at === story.current) return;
    story.current = at;
    const scene = story.scenes[at];
    story.state.set({ page: numberIn(scene), answer: scene.answered || null });
    drawContents(story);
  };
  const observer = new IntersectionObserver(
    (entries) => {
      for (const { isIntersecting, target } of entries)
        if (isIntersecting && target instanceof HTMLElement)
          arrived(Number(target.dataset.scene) - 1);
    },
    { rootMargin: IN_VIEW },
  );
  for (const { root } of story.scenes) observer.observe(root);
  const own = () => {
    story.target = null;
  };
  for (const name of OWN_SCROLLING) window.addEventListener(name, own, { passive: true });
  return {
    close: () => {
      observer.disconnect();
      for (const name of OWN_SCROLLING) window.removeEventListener(name, own);
    },
  };
}

function teachersPage() {
  /** @param {Child[]} parts */
  const item = (...parts) => element("li", null, parts);
  /** @param {string} text */
  const code = (text) => element("code", null, text);
  return element(
    "details",
    { class: "teachers" },
    element("summary", null, "For teachers"),
    element(
      "ul",
      null,
      item("Save, HTML makes one file of the whole course. It needs no server and no network."),
      item("The scenes up to the weighted sum fill a lesson; heads to layers make a second one."),
      item("Let the class vote on each question before anybody clicks."),
      item(
        "On paper: ",
        code("regard worksheet --example robots"),
        " writes a sheet with blanks and its key; the sentences of your class work too.",
      ),
      item("Printed, the page has every scene, with the answers that are open."),
    ),
  );
}

// The Learn view: one story about one sentence, a scene at a time, on a stage that stays in place;
// each scene asks a question before it answers. Then an appendix.
//
// Fields of the address: page (the scene, from 1), answer (which choice was made in it, from 1;
// without it the question stands open, unless it was answered before: the browser keeps that).

import { announce, element, problem, prose, replace, tableHead, tableRow } from "../lib/dom.js";
import { describeExport, FIGURE_AXES } from "../lib/export.js";
import { APPENDIX } from "./appendix.js";
import { COURSE } from "./course.js";
import { FORMULAS, mathFormula, writtenFormula } from "./formulas.js";
import { lessonStage } from "./learn_stage.js";
import { SCENES } from "./scenes.js";
import { filledText } from "./text.js";
import { trainingPicture } from "./training.js";

const STORY = COURSE.filter(({ appendix }) => !appendix).length;
const PROGRESS = "learn"; // its name in the browser's storage

/** @param {HTMLElement} root @param {State} state @param {Source} source */
export async function showLearn(root, state, source) {
  const kept = keptProgress();
  /** @type {Course} */
  const course = {
    state,
    source,
    scenes: COURSE.map((page, at) => ({
      page,
      number: at + 1,
      facts: null,
      answered: kept.answers[page.name] || 0,
      knobs: null,
      close: null,
    })),
    current: -1,
    closed: false,
    contents: element("nav.contents", { "aria-label": "Scenes of the course" }),
    text: element("div.scene-text"),
    stage: lessonStage(),
    host: element("div.stage-host"),
    caption: element("figcaption.stage-caption"),
    controls: element("div.stage-controls"),
    table: element("div"),
    section: element("section.scene"),
  };
  replace(
    course.section,
    course.text,
    element("figure.scene-stage", course.host, course.caption, course.controls, course.table),
  );
  const printed = element("div.printed");
  root.append(
    element(
      "div.course",
      element("h1.only-read", "How attention works"),
      course.contents,
      course.section,
      source.practice?.(),
      teachersPage(),
    ),
    printed,
  );
  const listening = listen(course, printed);
  state.follow(() => followAddress(course));
  describeExport(() => sceneFigure(course));
  drawContents(course);
  // Letters that come after the first words would move them.
  const fonts = ['1rem "Source Serif 4"', 'italic 1rem "Source Serif 4"', '1rem "Source Sans 3"'];
  await Promise.all(fonts.map((font) => document.fonts.load(font))).catch(() => []);
  await showScene(course, sceneInAddress(state), false);
  loadRest(course);
  return () => {
    course.closed = true;
    course.stage.close();
    for (const { close } of course.scenes) if (close) close();
    listening.abort();
  };
}

// A stage drawn for one width is drawn again for another; letters are measured when they are there;
// and paper gets every scene, one below the other.
/** @param {Course} course @param {HTMLElement} printed */
function listen(course, printed) {
  const stop = new AbortController();
  const again = () => {
    if (!course.closed && course.current >= 0)
      drawStage(course, course.scenes[course.current], false);
  };
  const observer = new ResizeObserver(again);
  observer.observe(course.host);
  stop.signal.addEventListener("abort", () => observer.disconnect());
  document.fonts.ready.then(again);
  window.addEventListener("colours", again, { signal: stop.signal });
  const paper = matchMedia("print");
  paper.addEventListener(
    "change",
    () =>
      replace(
        printed,
        paper.matches ? course.scenes.map((scene) => printedScene(course, scene)) : [],
      ),
    { signal: stop.signal },
  );
  return stop;
}

/** @param {State} state */
function sceneInAddress(state) {
  return Math.max(1, Math.min(COURSE.length, Math.round(state.number("page", 1)))) - 1;
}

/** @returns {{ answers: Record<string, number>; last: number }} */
function keptProgress() {
  const nothing = { answers: {}, last: 0 };
  try {
    return { ...nothing, ...JSON.parse(localStorage.getItem(PROGRESS) || "{}") };
  } catch {
    return nothing;
  }
}

/** @param {Course} course */
function keepProgress({ scenes, current }) {
  const answers = Object.fromEntries(
    scenes.filter(({ answered }) => answered).map(({ page, answered }) => [page.name, answered]),
  );
  try {
    localStorage.setItem(PROGRESS, JSON.stringify({ answers, last: current }));
  } catch {
    /* not kept */
  }
}

/** @param {Course} course @param {CourseScene} scene */
async function sceneFacts({ source }, scene) {
  scene.facts ??= await source.learn(scene.page.name);
  scene.knobs ??= SCENES[scene.page.name]?.knobs(scene.facts) || {};
  return scene.facts;
}

// The other scenes are computed while the first is read.
/** @param {Course} course */
async function loadRest(course) {
  for (const scene of course.scenes) {
    if (course.closed) return;
    try {
      await sceneFacts(course, scene);
    } catch {
      /* it is said when the scene is opened */
    }
  }
  course.section.dataset.loaded = "yes";
}

/** @param {Course} course @param {number} at @param {boolean} [focus] */
async function showScene(course, at, focus = true) {
  const before = course.scenes[course.current];
  if (before?.close) before.close();
  if (before) before.close = null;
  course.current = at;
  const scene = course.scenes[at];
  drawContents(course);
  try {
    await sceneFacts(course, scene);
  } catch (error) {
    if (!course.closed && course.current === at) replace(course.text, problem(error));
    return;
  }
  if (course.closed || course.current !== at) return;
  const chosen = Math.round(course.state.number("answer", 0));
  if (chosen >= 1 && chosen <= choicesOf(scene).length) scene.answered = chosen;
  course.section.dataset.scene = String(scene.number);
  course.section.setAttribute("aria-labelledby", `scene-${scene.page.name}`);
  drawText(course, scene);
  if (scene.answered) openAnswer(course, scene);
  else drawStage(course, scene);
  if (!focus) return;
  course.text.querySelector("h2")?.focus({ preventScroll: true });
  course.section.scrollIntoView({ block: "nearest" });
  if (course.section.getBoundingClientRect().top < 0) window.scrollTo(0, 0);
}

/** @param {CourseScene} scene */
function choicesOf({ page, facts }) {
  return page.choices || facts?.choices || [];
}

/** @param {Course} course @param {CourseScene} scene */
function drawText(course, scene) {
  const { page, facts, number } = scene;
  if (!facts) return;
  const name = page.appendix
    ? `Appendix ${number - STORY}: what three published introductions get wrong`
    : `Scene ${number} of ${STORY}`;
  replace(
    course.text,
    element(
      "div.scene-head",
      element("p.quiet.small", name),
      element("h2", { tabindex: "-1", id: `scene-${page.name}` }, page.title),
    ),
    sceneWords(scene, (chosen) => {
      const first = !scene.answered;
      scene.answered = chosen;
      if (first) openAnswer(course, scene);
      else markAnswer(course, scene);
      course.state.set({ page: pageField(scene), answer: chosen });
      keepProgress(course);
      drawContents(course);
    }),
    element("div.answer", { hidden: true }),
    turns(course, scene),
    goOn(course),
  );
}

// What a scene says and asks, on the screen and on paper.
/** @param {CourseScene} scene @param {(chosen: number) => void} choose */
function sceneWords(scene, choose) {
  const { page, facts } = scene;
  if (!facts) return [];
  return [
    ...paragraphs(facts, page.text),
    page.formula && element("p.formula", mathFormula(...FORMULAS[page.formula])),
    element(
      "div.question",
      { role: "group", "aria-labelledby": `asked-${page.name}` },
      element("h3", { id: `asked-${page.name}` }, filledText(page.ask, facts)),
      element(
        "div.choices",
        choicesOf(scene).map((text, at) =>
          element(
            "button.button",
            {
              "aria-pressed": "false",
              on: { click: () => choose(at + 1) },
            },
            /[\^_√]/.test(text) ? writtenFormula(text) : text,
          ),
        ),
      ),
    ),
  ];
}

// The first choice opens the answer, and the stage goes on to it; another one moves the mark.
/** @param {Course} course @param {CourseScene} scene */
function openAnswer(course, scene) {
  const { page, facts, knobs } = scene;
  const answer = course.text.querySelector(".answer");
  if (!facts || !(answer instanceof HTMLElement)) return;
  replace(
    answer,
    element("p.verdict"),
    paragraphs(facts, page.answer),
    onward(course, page, facts),
  );
  answer.hidden = false;
  if (!scene.opened) Object.assign(knobs || {}, SCENES[page.name]?.answered);
  scene.opened = true;
  drawStage(course, scene);
  markAnswer(course, scene);
}

/** @param {Course} course @param {CourseScene} scene */
function markAnswer({ text }, { facts, answered }) {
  const buttons = [...text.querySelectorAll(".choices button")];
  const verdict = text.querySelector(".verdict");
  if (!facts || !verdict) return;
  buttons.forEach((button, at) => {
    button.setAttribute("aria-pressed", String(at + 1 === answered));
    button.classList.toggle("right", at === facts.right);
    button.classList.toggle("wrong", at + 1 === answered && at !== facts.right);
  });
  verdict.textContent =
    answered - 1 === facts.right ? "Yes." : `Not quite. It is: ${buttons[facts.right].textContent}`;
  announce(verdict.textContent);
}

/** @param {StageScene} scene @returns {Child} */
function captionText({ caption }) {
  return [caption].flat().map((one) => (typeof one === "string" ? prose(one) : one));
}

/** @param {Course} course @param {CourseScene} scene @param {boolean} [moving] */
function drawStage(course, scene, moving = true) {
  const { page, facts, knobs } = scene;
  if (!facts || !knobs) return;
  const { host, stage } = course;
  const drawn = SCENES[page.name];
  if (!drawn) return drawPiece(course, scene, facts);
  if (host.firstChild !== stage.root) replace(host, stage.root);
  const { clientWidth: width, clientHeight: height } = host;
  if (!width) return;
  /** @param {Knobs} changes @param {boolean} [animated] */
  const change = (changes, animated = true) => {
    Object.assign(knobs, changes);
    drawStage(course, scene, animated);
  };
  const answered = Boolean(scene.answered);
  const shown = drawn.draw(facts, { width, height, answered, knobs, change });
  const caption = element("span", captionText(shown));
  stage.show(shown.marks, caption.textContent, moving);
  replace(course.caption, caption);
  drawKnobs(course, answered && drawn.controls ? drawn.controls(facts, knobs, change) : []);
  drawStageTable(course.table, shown.table);
}

// Whatever had the focus has it again; a slider in use is left alone.
/** @param {Course} course @param {Child[]} made */
function drawKnobs({ controls }, made) {
  const inUse = document.activeElement;
  if (inUse instanceof HTMLInputElement && inUse.type === "range" && controls.contains(inUse))
    return;
  const all = () => [...controls.querySelectorAll("button, input")];
  const at = inUse ? all().indexOf(inUse) : -1;
  replace(controls, made);
  const again = all()[at];
  if (again instanceof HTMLElement) again.focus({ preventScroll: true });
}

/** @param {HTMLElement} slot @param {StageTable} [table] */
function drawStageTable(slot, table) {
  const open = slot.querySelector("details")?.open || false;
  replace(
    slot,
    table &&
      element(
        "details.as-table",
        { open },
        element("summary.small.quiet", "As a table"),
        element(
          "div.wide",
          element(
            "table.numbers.lesson",
            tableHead([null, ...table.heads]),
            element(
              "tbody",
              table.rows.map(([name, ...cells]) => tableRow(name, cells)),
            ),
          ),
        ),
      ),
  );
}

// Scenes without marks: the small model that is trained, and the tables of the appendix.
/** @param {Course} course @param {CourseScene} scene @param {Facts} facts */
function drawPiece(course, scene, facts) {
  const { page, answered } = scene;
  const shown = `${page.name} ${Boolean(answered)}`;
  if (course.host.firstElementChild?.getAttribute("data-piece") === shown) return;
  scene.close?.();
  const piece =
    page.name === "training"
      ? trainingPicture(Boolean(answered))
      : { root: answered ? APPENDIX[page.name](facts) : element("div"), close: null };
  scene.close = piece.close;
  replace(course.host, element("div.piece", { "data-piece": shown }, piece.root));
  replace(course.caption);
  drawKnobs(course, []);
  drawStageTable(course.table);
}

/** @param {Facts} facts @param {Paragraph[]} parts */
function paragraphs(facts, parts) {
  return parts
    .map((part) => (typeof part === "string" ? { text: part } : part))
    .filter(({ when, unless }) => (when ? facts[when] : unless ? !facts[unless] : true))
    .map(({ text }) => element("p", filledText(text, facts)));
}

const OF_OTHER_VIEWS = [
  ...["page", "answer", "part", "show", "q", "k", "from", "sentence", "layer", "head", "divide"],
  ...["causal", "position", "heat", "cell", "own"],
];

/** @param {Course} course @param {CoursePage} page @param {Facts} facts */
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
    element(
      "button.link.onward",
      {
        on: { click: () => state.go(view, { ...clean, ...requested, ...more }) },
      },
      `${label} →`,
    ),
  );
}

/** @param {Course} course @param {CourseScene} scene */
function turns(course, { number }) {
  /** @param {number} to @param {string} text @param {string} kind */
  const button = (to, text, kind) =>
    to >= 1 && to <= COURSE.length
      ? element(
          "button",
          {
            class: `button ${kind}`,
            on: { click: () => goToScene(course, to - 1) },
          },
          text,
        )
      : element("span");
  return element(
    "div.turns",
    button(number - 1, "← Back", ""),
    button(number + 1, "Next →", "next"),
  );
}

// Whoever comes back to the first scene is shown the way to where they were.
/** @param {Course} course */
function goOn(course) {
  const { last } = keptProgress();
  if (course.current !== 0 || !(last > 0 && last < COURSE.length)) return null;
  return element(
    "p",
    element(
      "button.link.onward",
      { on: { click: () => goToScene(course, last) } },
      `Go on where you stopped: ${COURSE[last].title} →`,
    ),
  );
}

/** @param {CourseScene} scene */
function pageField({ number }) {
  return number === 1 ? null : number;
}

/** @param {Course} course @param {number} at */
function goToScene(course, at) {
  const scene = course.scenes[at];
  course.state.set({ page: pageField(scene), answer: scene.answered || null }, true);
}

// The address names another scene or another answer: by a link, by going back, or by hand.
/** @param {Course} course */
function followAddress(course) {
  const at = sceneInAddress(course.state);
  if (at === course.current) return;
  showScene(course, at).then(() => keepProgress(course));
}

/** @param {Course} course */
function drawContents(course) {
  replace(
    course.contents,
    element(
      "ol",
      course.scenes.map(({ page, number, answered }, at) =>
        element(
          "li",
          { class: page.appendix ? "of-appendix" : null },
          element(
            "a",
            {
              href: `#learn?page=${number}`,
              title: page.title,
              class: answered ? "answered" : null,
              "aria-current": at === course.current ? "step" : null,
              on: {
                click: (event) => {
                  if (event.ctrlKey || event.metaKey) return;
                  event.preventDefault();
                  goToScene(course, at);
                },
              },
            },
            element(
              "span.scene-number",
              page.appendix ? "ABC"[number - STORY - 1] : String(number),
            ),
            element("span.only-read", `${page.title}${answered ? ", answered" : ""}`),
          ),
        ),
      ),
    ),
  );
}

// A scene on paper: its words, its answer where it was given, and the stage as it would stand.
/** @param {Course} course @param {CourseScene} scene */
function printedScene(course, scene) {
  const { page, facts, knobs, answered } = scene;
  if (!facts || !knobs) return null;
  const drawn = SCENES[page.name];
  const stage = lessonStage();
  const [width, height] = [640, 340];
  stage.root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const view = { width, height, answered: Boolean(answered), knobs, change: () => {} };
  const shown = drawn?.draw(facts, view);
  if (shown) stage.show(shown.marks, page.title, false);
  return element(
    "section.scene-on-paper",
    element("h2", page.title),
    sceneWords(scene, () => {}),
    answered > 0 && paragraphs(facts, page.answer),
    shown && [stage.root, element("p.stage-caption", captionText(shown))],
    !shown && answered > 0 && APPENDIX[page.name]?.(facts),
  );
}

// What Save offers: the head of the scene as lines, or its row; and the course as a file.
/** @param {Course} course @returns {Figure | null} */
function sceneFigure({ scenes, current, source }) {
  const scene = [scenes[current], scenes[0]].find((one) => one?.facts?.weights);
  const facts = scene?.facts;
  if (!scene || !facts) return null;
  const { page } = scene;
  const sentence = facts.sentence || facts.words.join(" ");
  const table = Array.isArray(facts.weights[0]);
  return {
    name: `${page.title} ${sentence}`,
    kind: table ? "lines" : "heatmap",
    title: table ? `Layer ${facts.layer}, head ${facts.head}` : page.title,
    caption: page.title,
    provenance: `“${sentence}” · regard ${source.page.version}`,
    axes: FIGURE_AXES,
    what: "weights",
    queries: table ? facts.words : [facts.word],
    keys: facts.key_words || facts.words,
    chosen: facts.position === undefined ? [] : [facts.position],
    values: facts.weights.flat(),
    html: { path: "/api/export/learn", fields: {} },
  };
}

function teachersPage() {
  /** @param {Child[]} parts */
  const item = (...parts) => element("li", parts);
  /** @param {string} text */
  const code = (text) => element("code", text);
  return element(
    "details.teachers",
    element("summary", "For teachers"),
    element(
      "ul",
      item("Save, HTML makes one file of the whole course. It needs no server and no network."),
      item("The scenes up to the mixed values fill a lesson; heads to layers make a second one."),
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

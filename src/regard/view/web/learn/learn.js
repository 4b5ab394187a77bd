// The Learn view: short pages on live pictures, each with a question to answer before the answer is
// shown.
//
// Fields of the address: page (from 1), answer (which choice was made, from 1; without it the
// question stands open).

import { element, problem, replace, announce } from "../lib/dom.js";
import { COURSE } from "./course.js";
import { PIECES, filledText, lessonFigure } from "./lesson.js";
import { describeExport } from "../lib/export.js";

export async function showLearn(root, state, source) {
  /** @type {LessonView} */
  const lesson = { state, source, pieces: [], turn: 0, shown: 0 };
  lesson.contents = element("nav", { class: "contents", "aria-label": "Pages of the course" });
  lesson.body = element("article", { class: "lesson-page" });
  root.append(lesson.contents, lesson.body);
  state.follow(() => turnTo(lesson));
  describeExport(() => lessonFigure(lesson, source));
  await turnTo(lesson);
  return () => closePieces(lesson);
}

function pageOf(state) {
  return Math.max(1, Math.min(COURSE.length, Math.round(state.number("page", 1))));
}

/** @param {LessonView} lesson */
async function turnTo(lesson) {
  const { state, source } = lesson;
  const number = pageOf(state);
  if (number === lesson.shown) {
    showAnswer(lesson);
    return;
  }
  const turn = ++lesson.turn;
  drawContents(lesson, number);
  const page = COURSE[number - 1];
  try {
    const facts = await source.learn(page.name);
    if (turn !== lesson.turn) return;
    Object.assign(lesson, { page, facts, answered: 0 });
    const arrived = lesson.shown > 0;
    lesson.shown = number;
    drawPage(lesson, number);
    if (arrived) {
      lesson.body.querySelector("h1").focus();
      window.scrollTo(0, 0);
    }
  } catch (error) {
    if (turn === lesson.turn) replace(lesson.body, problem(error));
  }
}

/** @param {LessonView} lesson */
function drawContents(lesson, number) {
  replace(
    lesson.contents,
    element(
      "ol",
      null,
      COURSE.map(({ title }, at) =>
        element(
          "li",
          null,
          element(
            "a",
            {
              href: `#learn?page=${at + 1}`,
              title,
              "aria-label": `${at + 1}. ${title}`,
              "aria-current": at + 1 === number ? "step" : null,
              on: {
                click: (event) => {
                  if (!event.ctrlKey && !event.metaKey) {
                    event.preventDefault();
                    go(lesson, at + 1);
                  }
                },
              },
            },
            at + 1,
          ),
        ),
      ),
    ),
  );
}

/** @param {LessonView} lesson */
function go(lesson, number) {
  lesson.state.set({ page: number === 1 ? null : number, answer: null }, true);
}

/** @param {LessonView} lesson */
function drawPage(lesson, number) {
  closePieces(lesson);
  const { page, facts } = lesson;
  const choices = page.choices || facts.choices;
  lesson.buttons = choices.map((text, at) =>
    element(
      "button",
      {
        type: "button",
        class: "button",
        "aria-pressed": "false",
        on: { click: () => lesson.state.set({ answer: at + 1 }) },
      },
      text,
    ),
  );
  lesson.answer = element("div", { class: "answer", hidden: true });
  replace(
    lesson.body,
    element("p", { class: "quiet small" }, `Page ${number} of ${COURSE.length}`),
    element("h1", { tabindex: "-1" }, page.title),
    paragraphs(lesson, page.text),
    element(
      "div",
      { class: "question", role: "group", "aria-labelledby": "asked" },
      element("h2", { id: "asked" }, filledText(page.ask, facts)),
      element("div", { class: "choices" }, lesson.buttons),
    ),
    lesson.answer,
    turns(lesson, number),
  );
  showAnswer(lesson);
}

// Called for every change of the address within a page: a choice opens the answer, another one only
// moves the mark.
/** @param {LessonView} lesson */
function showAnswer(lesson) {
  const { page, facts, buttons } = lesson;
  if (!buttons) return;
  const chosen = Math.round(lesson.state.number("answer", 0));
  const isChosen = chosen >= 1 && chosen <= buttons.length;
  buttons.forEach((button, at) => {
    button.setAttribute("aria-pressed", String(at + 1 === chosen));
    button.classList.toggle("right", isChosen && at === facts.right);
    button.classList.toggle("wrong", isChosen && at + 1 === chosen && at !== facts.right);
  });
  lesson.answer.hidden = !isChosen;
  if (!isChosen || chosen === lesson.answered) return;
  lesson.answered = chosen;
  const verdict =
    chosen - 1 === facts.right ? "Yes." : `Not quite. It is: ${buttons[facts.right].textContent}`;
  if (!lesson.verdict || !lesson.answer.contains(lesson.verdict)) {
    lesson.verdict = element("p", { class: "verdict" });
    replace(lesson.answer, lesson.verdict, paragraphs(lesson, page.answer), onward(lesson));
  }
  lesson.verdict.textContent = verdict;
  announce(verdict);
}

/** @param {LessonView} lesson */
function paragraphs(lesson, parts) {
  const { facts } = lesson;
  return parts
    .filter((part) => (part.when ? facts[part.when] : part.unless ? !facts[part.unless] : true))
    .map((part) =>
      part.show
        ? piece(lesson, part.show)
        : element("p", null, filledText(part.text || part, facts)),
    );
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

/** @param {LessonView} view */
function onward({ page, facts, state, source }) {
  const [view, fields, label, more] = page.open;
  if (!source.views.includes(view)) return null;
  const requested = Array.isArray(fields)
    ? Object.fromEntries(fields.map((name) => [name, facts[name]]))
    : fields;
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

/** @param {LessonView} lesson */
function turns(lesson, number) {
  const button = (to, text) =>
    to >= 1 && to <= COURSE.length
      ? element(
          "button",
          { type: "button", class: "button", on: { click: () => go(lesson, to) } },
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

/** @param {LessonView} lesson */
function piece(lesson, name) {
  const made = PIECES[name](lesson.facts);
  lesson.pieces.push(made);
  return element("div", { class: "live" }, made.root);
}

/** @param {LessonView} lesson */
function closePieces(lesson) {
  for (const made of lesson.pieces) if (made.close) made.close();
  lesson.pieces = [];
}

// A model that stays loaded: a text to type, tokens to write after it, and what a change does to
// them.
//
// Fields of the address: text, generate (tokens to write), chat (in the model's chat template),
// changes (as in the Look view; words are tokens).

import { asWord, element, isAborted, problem, prose, replace } from "../lib/dom.js";
import {
  hasChange,
  oneDecimal,
  readChanges,
  redirected,
  toggled,
  triedList,
  writeChanges,
} from "../read/experiment.js";
import { freeButton, sceneButton, switchButton } from "../read/questions.js";
import { largest } from "../read/weights.js";
import { servedRun, tokenName } from "./source.js";

const PROGRESS_MS = 400; // between two looks at how far the model is
const MAX_TRIED_RUNS = 6;
const LENGTHS = [0, 10, 20, 50, 100, 200];
// Texts whose heads are worth a look in nearly every model that knows English.
const MODEL_TEXTS = [
  "When Anna and Tom went to the market, Tom gave the flowers to",
  "The keys to the old wooden cabinet in the hall",
  "lamp river seven cloud stone. lamp river seven cloud",
];
const LEFT_BEHIND = { changes: null, row: null, key: null, at: null, rows: null, columns: null };

// -> { field, outcome, read(), draw(), base, key, struck(), changedTokens(), close() }
/** @param {RunView} view @param {() => void} again */
export function liveModel(view, again) {
  const { state, source } = view;
  /** @type {LiveState} */
  const live = {
    about: null,
    answer: null,
    base: null,
    key: "",
    tried: [],
    pending: null,
    text: "",
  };
  const field = element("textarea.serif", {
    id: "model-text",
    rows: "2",
    spellcheck: "false",
    placeholder: "Type a text for the model to read",
  });
  const length = element("select", { "aria-label": "How many tokens to write" });
  const chat = element("input", { type: "checkbox" });
  const run = element("button.button.primary", "Read it");
  const progress = element("progress", { hidden: true, "aria-label": "How far the model is" });
  const status = element("span.small.quiet", { role: "status" });
  const chatLabel = element("label.small", { hidden: true }, chat, " as a chat message");
  const lengthLabel = element("label.small", "and write ", length);
  const form = element(
    "form.model-field",
    { "aria-label": "A text for the model" },
    element("label.only-read", { for: "model-text" }, "A text for the model"),
    field,
    element("div.model-row", run, lengthLabel, chatLabel),
    element("div.model-progress", progress, status),
  );
  const examples = element(
    "div.model-examples",
    { hidden: true },
    element("span.small.quiet", "or one of these:"),
    MODEL_TEXTS.map((text) =>
      element("button.link.serif", { on: { click: () => state.set({ text }, true) } }, text),
    ),
  );
  form.append(examples);
  const send = () => {
    const generate = Number(length.value) || null;
    const text = field.value === live.about?.text ? null : field.value;
    const fields = { text, generate, chat: chat.checked ? "yes" : null, ...LEFT_BEHIND };
    const before = state.address();
    state.set(fields, true);
    if (state.address() === before) again();
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send();
  });
  run.addEventListener("click", send);
  length.addEventListener("change", send);
  chat.addEventListener("change", send);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    send();
  });
  const next = element("div.next-tokens");
  const former = element("p.former.serif");
  const buttons = element("div.questions");
  const tried = element("section.tried", {
    "aria-label": "What you tried",
    hidden: true,
  });
  const outcome = element("div.model-outcome", { hidden: true }, former, buttons, next);

  const fill = async () => {
    if (!live.about) {
      live.about = await (await source.ask("/api/model/about", {})).json();
      const {
        writes,
        two_sided: isTwoSided,
        chat: hasChat,
        kind,
        name,
      } = /** @type {ModelAbout} */ (live.about);
      lengthLabel.hidden = !writes || isTwoSided;
      chatLabel.hidden = !hasChat;
      field.placeholder = `Type a text for ${name} (${kind}) to read`;
    }
    const generate = state.number("generate", 0);
    const most = live.about?.most ?? Infinity;
    replace(
      length,
      [...new Set([...LENGTHS.filter((count) => count < most - 1), generate])]
        .sort((one, other) => one - other)
        .map((count) => element("option", { value: count, selected: count === generate }, count)),
    );
    chat.checked = state.get("chat") === "yes";
    // What is being typed stays, unless the address names another text.
    const text = state.get("text", live.about?.text ?? "");
    if (text !== live.text) field.value = text;
    live.text = text;
  };

  // How far the model is, while it runs.
  const watchProgress = () => {
    const timer = setInterval(async () => {
      try {
        const { doing, done, total } = await (await source.ask("/api/model/progress", {})).json();
        progress.hidden = !total;
        if (!total) return;
        progress.max = total;
        progress.value = done;
        replace(status, `${doing} …`);
      } catch {
        /* the answer itself says what is wrong */
      }
    }, PROGRESS_MS);
    return () => {
      clearInterval(timer);
      progress.hidden = true;
      replace(status);
    };
  };

  return {
    field: form,
    outcome,
    tried,
    get base() {
      return live.base;
    },
    get key() {
      return live.key;
    },
    async read() {
      await fill();
      const text = state.get("text", live.about?.text ?? "");
      outcome.hidden = !text;
      examples.hidden = Boolean(text);
      if (!text) {
        replace(view.statement, "What does your model look at?");
        replace(view.about, "Type a text, and every head shows where it looks.");
        field.focus({ preventScroll: true });
        return null;
      }
      live.pending?.abort();
      live.pending = new AbortController();
      const { signal } = live.pending;
      const changes = readChanges(state.get("changes"));
      const fields = {
        ...(state.get("text") ? { text } : {}),
        generate: state.number("generate", 0),
        chat: state.get("chat") === "yes",
      };
      const stop = watchProgress();
      try {
        const ask = async (/** @type {Fields} */ more) =>
          (await source.ask("/api/model/read", { ...fields, ...more }, { signal })).json();
        /** @type {ModelAnswer} */
        const answer = await ask({ changes });
        live.answer = answer;
        live.key = answer.run;
        const made = await servedRun(source, { run: answer.run });
        if (!changes.length) live.base = made;
        else if (!live.base || live.baseOf !== JSON.stringify(fields)) {
          const plain = await ask({ changes: [] });
          live.base = await servedRun(source, { run: plain.run });
        }
        live.baseOf = JSON.stringify(fields);
        rememberTried(live, state.get("changes"), answer);
        drawOutcome();
        return made;
      } catch (error) {
        if (isAborted(error)) return view.run ?? null;
        if (changes.length && live.base) {
          replace(next, problem(error));
          return live.base;
        }
        throw error;
      } finally {
        stop();
      }
    },
    draw: () => drawButtons(),
    // The chosen token is made to look at another.
    /** @param {number} token */
    redirect: (token) => state.set(redirection(view, token), true),
    // Of a model with two sides the words of the input are struck out.
    struck: () =>
      live.about?.two_sided && view.part.name === "decoder"
        ? []
        : readChanges(state.get("changes")).flatMap((one) =>
            one.change === "knock_out" ? [one.word ?? -1] : [],
          ),
    // Whether the chosen token is made to look elsewhere, and whether a head is switched off.
    /** @param {number} row */
    isTurned: (row) =>
      readChanges(state.get("changes")).some(
        (one) =>
          one.change === "redirect" &&
          one.word === row + view.part.query.offset &&
          writeChanges([{ ...one, change: "ablate" }]) ===
            writeChanges([{ change: "ablate", ...view.choice }]),
      ),
    /** @param {RunChoice} place */
    isOff: (place) => hasChange(state.get("changes"), { change: "ablate", ...place }),
    changedTokens: () => live.answer?.written.differing ?? [],
    close: () => live.pending?.abort(),
  };

  function drawOutcome() {
    const { answer } = live;
    if (!answer) return;
    const isChanged = answer.changed.length > 0;
    replace(
      next,
      outcomeTitle(answer, live.about),
      nextTable(answer, isChanged),
      movedList(view, answer),
    );
    replace(
      former,
      isChanged &&
        answer.former.length > 0 && [
          "before: ",
          answer.former.map(([text, isGone]) => {
            const shown = text.replaceAll("\n", "↵ ");
            return isGone ? element("s", shown) : shown;
          }),
        ],
    );
    drawTriedRuns(tried, state, live);
  }

  function drawButtons() {
    const { choice, row, key, line, isColumn, part } = view;
    if (!choice || row === null || isColumn || !line) {
      replace(buttons);
      return;
    }
    const told = JSON.stringify([choice, row, key, state.get("changes"), live.key]);
    if (buttons.dataset.drawn === told) return;
    buttons.dataset.drawn = told;
    const own = row + part.query.offset;
    const isOne = part.query.text === part.key.text;
    const [best] = largest(line.weights, 1);
    replace(buttons, [
      redirectRow(view, key ?? rival(line, isOne ? own : -1), live.about),
      ablateHead(view, live.about),
      strikeToken(view, key ?? (isOne ? own : best)),
    ]);
  }
}

// What the model wrote is there only once it runs: no change can name it beforehand.
/** @param {RunSide} side @param {number} token */
function isWritten({ generated }, token) {
  return generated !== null && token >= generated;
}

const ONLY_GIVEN = "only tokens that it was given";

/** @param {HTMLButtonElement} button */
function disabled(button) {
  button.disabled = true;
  return button;
}

// What a token may be made to look at: the key with most weight after the first.
/** @param {RunLine} line @param {number} own */
function rival(line, own) {
  const [first, second] = largest(line.weights, 3).filter((at) => at !== own);
  return second ?? first ?? null;
}

/** @param {ModelAbout | null} about */
function watched(about) {
  return about?.writes ? "and see what follows" : "and see its vectors";
}

/** @param {RunView} view @param {number | null} target @param {ModelAbout | null} about */
function redirectRow(view, target, about) {
  const { state, row, part, texts } = view;
  if (row === null) return null;
  const asks = tokenName(texts.query, row + part.query.offset);
  if (/redirect/.test(state.get("changes"))) return freeButton(state, asks);
  if (target === null) return null;
  const told = prose(`Make ${asWord(asks)} look at ${asWord(tokenName(texts.key, target))}`);
  if (isWritten(part.query, row + part.query.offset) || isWritten(part.key, target))
    return disabled(sceneButton(told, ONLY_GIVEN, () => {}, false));
  return sceneButton(told, watched(about), () => state.set(redirection(view, target), true), false);
}

// The address in which the chosen token looks at another, in place of an earlier redirection. As
// with every change, head and row stay: in the changed run another head may be the most telling.
/** @param {RunView} view @param {number} to */
function redirection({ state, choice, row, part }, to) {
  /** @type {Change} */
  const change = { change: "redirect", word: (row ?? 0) + part.query.offset, to, ...choice };
  return { changes: redirected(state.get("changes"), change), row, ...choice };
}

/** @param {RunView} view @param {ModelAbout | null} about */
function ablateHead({ state, choice, row }, about) {
  /** @type {Change} */
  const change = { change: "ablate", ...choice };
  const text = state.get("changes");
  const watch = about?.writes ? "does the text notice?" : "do the vectors notice?";
  return switchButton(hasChange(text, change), watch, () =>
    state.set({ changes: toggled(text, change), row, ...choice }, true),
  );
}

/** @param {RunView} view @param {number} token */
function strikeToken({ state, texts, part, row, choice }, token) {
  /** @type {Change} */
  const change = { change: "knock_out", word: token };
  const text = state.get("changes");
  const isStruck = hasChange(text, change);
  const name = asWord(tokenName(texts.key, token));
  if (isWritten(part.key, token))
    return disabled(sceneButton(prose(`Strike ${name} out`), ONLY_GIVEN, () => {}, false));
  return sceneButton(
    prose(isStruck ? `Let others look at ${name}` : `Strike ${name} out`),
    isStruck ? "take the change back" : "hide it from the rest",
    () => state.set({ changes: toggled(text, change), row, ...choice }, true),
    isStruck,
  );
}

// The outcome.

/** @param {ModelAnswer} answer @param {ModelAbout | null} about */
function outcomeTitle({ changed, same, next, former }, about) {
  const nextName = former.length ? "After your text comes" : "Next comes";
  if (!changed.length)
    return next.length
      ? element("h2.panel-title", nextName)
      : element(
          "p.small.quiet",
          `${about?.kind ?? "This model"} only reads: it has no next token. A change shows in ` +
            "its vectors, and in the heads above it.",
        );
  const what = next.length ? nextName : "Its vectors";
  const told = same ? "not one bit changed" : next.length ? "before and after" : "turned by";
  return element("h2.panel-title", `${what}: `, element("span.quiet", told));
}

/** @param {ModelAnswer} answer @param {boolean} isChanged */
function nextTable({ next }, isChanged) {
  if (!next.length) return null;
  /** @param {number} share @param {string} name */
  const bar = (share, name) =>
    element(
      "span",
      { class: `odd ${name}` },
      element("i", { style: { width: `${Math.max(1, 100 * share)}%` } }),
      element("span.number", oneDecimal(share)),
    );
  return element(
    "ol",
    { class: `odds-list${isChanged ? " both" : ""}` },
    next
      .slice(0, isChanged ? 6 : 5)
      .map(({ token, before, after }) =>
        element(
          "li",
          element("span.serif.token", writtenToken(token)),
          isChanged && bar(before, "was"),
          bar(after, "is"),
        ),
      ),
  );
}

/** @param {RunView} view @param {ModelAnswer} answer */
function movedList({ texts }, { moved }) {
  if (!moved.length) return null;
  return element(
    "ol.odds-list",
    moved.map(([at, turned]) =>
      element(
        "li",
        element("span.serif.token", tokenName(texts.key, at)),
        element(
          "span.odd.is",
          element("i", { style: { width: `${Math.max(1, Math.min(100, 50 * turned))}%` } }),
          element("span.number", `1 − cos ${turned.toPrecision(2)}`),
        ),
      ),
    ),
  );
}

// A token that is not in the text.
/** @param {string} token */
function writtenToken(token) {
  return tokenName({ segments: [token], names: {} }, 0);
}

/** @param {{ token: string, before: number, after: number }} next */
function movedShare({ token, before, after }) {
  return `${writtenToken(token)} ${oneDecimal(before)} → ${oneDecimal(after)}`;
}

/** @param {LiveState} live @param {string} text @param {ModelAnswer} answer */
function rememberTried(live, text, answer) {
  if (!text) return;
  const others = live.tried.filter((one) => one.text !== text);
  live.tried = [
    { text, changed: answer.changed, next: answer.next, same: answer.same },
    ...others,
  ].slice(0, MAX_TRIED_RUNS);
}

/** @param {HTMLElement} tried @param {State} state @param {LiveState} live */
function drawTriedRuns(tried, state, live) {
  const items = live.tried.map(({ text, changed, next, same }) => {
    const [best] = [...next].sort((one, other) => other.after - one.after);
    return {
      text,
      changed: element("span.changed", prose(changed.join("; "))),
      outcome: best && element("span.outcome", same ? "nothing changes" : movedShare(best)),
    };
  });
  triedList(tried, state, "What you tried", items);
}

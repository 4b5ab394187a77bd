// The shell of the page: shows the view that the address names.
//
// A view is `export async function showX(root, state, source)`: root is an empty element to fill,
// state the address (state.js), source where data comes from (api.js). It follows later changes of
// its own fields with state.follow. It may return a function that is called when the view is left
// (to stop timers and listeners of the window).

import { servedSource } from "./lib/api.js";
import { copyLink } from "./lib/copy_link.js";
import { announce, element, pageElement, problem, replace } from "./lib/dom.js";
import { exportMenu } from "./lib/export.js";
import { createState } from "./lib/state.js";
import { showLearn } from "./learn/learn.js";
import { showTraining } from "./monitor/monitor.js";
import { showRead } from "./read/read.js";
import { showRun } from "./run/run.js";
import { showSteps } from "./steps/steps.js";

/** @type {Record<string, [string, ShowView]>} */
export const VIEWS = {
  read: ["Look", showRead],
  steps: ["Steps", showSteps],
  map: ["Map", showRun],
  learn: ["Learn", showLearn],
  training: ["Training", showTraining],
};

// The offline file and notebooks call this too, with a source of their own.
/** @param {Source} source */
export function startPage(source) {
  /** @type {(() => void) | null} */
  let leave = null;
  let shown = 0;
  const state = createState(async () => {
    const turn = ++shown;
    if (leave) leave();
    leave = null;
    // Own names alone: an address may be #constructor.
    const name = Object.hasOwn(VIEWS, state.view) ? state.view : "read";
    const [, show] = VIEWS[name];
    document.title = `${viewTitle(name, source)} · regard`;
    drawNavigation(state, source);
    announce("");
    const root = element("div", { class: `view ${state.view}` });
    replace(pageElement("view"), hasRun(source) && notOfRun(name, state, source), root);
    exportMenu(pageElement("export"), state, source);
    const box = pageElement("export").querySelector(".export-box");
    if (source.live) box?.append(copyLink(state, source));
    try {
      const left = await show(root, state, source);
      if (typeof left !== "function") return;
      if (turn === shown) leave = left;
      else left();
    } catch (error) {
      root.append(problem(error));
    }
  });
  drawLight();
  state.start();
  return state;
}

// Whether a run of another model is open: it is the first view then, and no other view is about it.
/** @param {Source} source */
function hasRun({ page }) {
  return Boolean(page.model || page.files.length);
}

// No view shows another text than that of the run without a word.
/** @param {string} name @param {State} state @param {Source} source */
function notOfRun(name, state, { page }) {
  if (name === "map" || name === "training") return null;
  const run = page.model ?? page.files[state.number("file", 0)] ?? page.files[0];
  return element(
    "p.not-of-run.small.quiet",
    `This view shows regard’s own translator, not ${run}. `,
    element(
      "button.link",
      {
        on: { click: () => state.go("map", OF_ONE_MODEL) },
      },
      `Back to ${run}`,
    ),
  );
}

/** @param {string} name @param {Source} source */
function viewTitle(name, source) {
  return name === "map" && hasRun(source) ? "Your model" : VIEWS[name][0];
}

/** @param {State} state @param {Source} source */
function drawNavigation(state, source) {
  const isRun = hasRun(source);
  const names = Object.keys(VIEWS).filter((name) => source.views.includes(name));
  if (isRun) names.sort((one, other) => Number(other === "map") - Number(one === "map"));
  /** @param {string} name */
  const link = (name) =>
    element(
      "a",
      {
        href: `#${name}`,
        "aria-current": name === state.view ? "page" : null,
        on: {
          click: (event) => {
            if (event.ctrlKey || event.metaKey) return;
            event.preventDefault();
            const isOther = isRun && (name === "map") !== (state.view === "map");
            state.go(name, isOther ? OF_ONE_MODEL : {});
          },
        },
      },
      viewTitle(name, source),
    );
  /** @type {HTMLElement[]} */
  const links = names.map(link);
  // The other views show the model that comes with regard, whatever is open.
  if (isRun && links.length > 1)
    links.splice(1, 0, element("span.shipped.small", "regard’s own translator:"));
  replace(pageElement("views"), links.length > 1 ? links : []);
}

// Heads and words of one model mean nothing in another.
const OF_ONE_MODEL = {
  ...{ part: null, layer: null, head: null, row: null, key: null, q: null, k: null, at: null },
  ...{ rows: null, columns: null, changes: null, direction: null, find: null, by: null },
};

// Light and dark follow the system until the reader chooses; the browser stores the choice.
function drawLight() {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.light ? root.dataset.light === "dark" : system.matches);
  try {
    const stored = localStorage.getItem("light");
    if (stored) root.dataset.light = stored;
  } catch {
    /* not kept */
  }
  const label = { title: "Light or dark", "aria-label": "Switch between light and dark" };
  const button = element("button.quiet", { ...label }, "◐");
  button.addEventListener("click", () => {
    root.dataset.light = dark() ? "light" : "dark";
    try {
      localStorage.setItem("light", root.dataset.light);
    } catch {
      /* not kept */
    }
    window.dispatchEvent(new Event("colours"));
  });
  system.addEventListener("change", () => window.dispatchEvent(new Event("colours")));
  replace(pageElement("light"), button);
}

// The cookie has taken the token's part: it need not stay in the address, where it can be read.
function dropToken() {
  if (!location.search) return;
  history.replaceState(null, "", `${location.pathname}${location.hash}`);
}

if (!document.getElementById("embedded") && !document.getElementById("site")) {
  dropToken();
  servedSource().then(startPage, (error) => pageElement("view").replaceChildren(problem(error)));
}

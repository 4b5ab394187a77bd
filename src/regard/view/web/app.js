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
import { showMap } from "./map/map.js";
import { showTraining } from "./monitor/monitor.js";
import { showRead } from "./read/read.js";
import { showSteps } from "./steps/steps.js";

/** @type {Record<string, [string, ShowView]>} */
export const VIEWS = {
  read: ["Look", showRead],
  steps: ["Steps", showSteps],
  map: ["Map", showMap],
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
    const [title, show] = VIEWS[Object.hasOwn(VIEWS, state.view) ? state.view : "read"];
    document.title = `${title} · regard`;
    drawNavigation(state, source);
    announce("");
    const root = element("div", { class: `view ${state.view}` });
    replace(pageElement("view"), root);
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

/** @param {State} state @param {Source} source */
function drawNavigation(state, source) {
  const views = Object.entries(VIEWS).filter(([name]) => source.views.includes(name));
  const links = views.map(([name, [title]]) =>
    element(
      "a",
      {
        href: `#${name}`,
        "aria-current": name === state.view ? "page" : null,
        on: {
          click: (event) => {
            if (!event.ctrlKey && !event.metaKey) {
              event.preventDefault();
              state.go(name);
            }
          },
        },
      },
      title,
    ),
  );
  replace(pageElement("views"), links.length > 1 ? links : []);
}

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
  const button = element("button", { type: "button", class: "quiet", ...label }, "◐");
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

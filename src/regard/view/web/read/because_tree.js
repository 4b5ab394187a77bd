// The score of a pair as a tree: what was written into query and key, term by term, each to open.
//
// Field of the address: because, the branches that are open, "score~0~0.3": the score itself, its
// largest term, and of that the fourth.

import { element, problem, replace } from "../lib/dom.js";

const ROOT = "score";
const LONGEST_BAR = 60; // pixels

/** @param {ReadView} view */
export function becauseTree({ source, reading, choice, state }, link, score) {
  const { part, layer, head } = choice;
  const tree = {
    state,
    ask: async (path) => {
      const { sentence } = reading;
      const fields = { sentence, part, layer, head, query: link.query, key: link.key, path };
      return (await source.post("/api/because", fields)).json();
    },
  };
  return branch(tree, [`Where does the score of ${score} come from? (because)`], []);
}

function branch(tree, title, path) {
  const body = element("div", { class: "because-terms" });
  const name = path.join(".") || ROOT;
  let asked = false;
  const toggled = async (event) => {
    if (event.target !== root) return;
    rememberBranch(tree.state, name, root.open);
    if (!root.open || asked) return;
    asked = true;
    replace(body, element("p", { class: "small quiet" }, "Adding up …"));
    try {
      replace(body, termsOf(tree, await tree.ask(path), path));
    } catch (error) {
      replace(body, problem(error));
    }
  };
  const root = element(
    "details",
    {
      class: "because",
      open: openBranches(tree.state).includes(name),
      on: { toggle: toggled },
    },
    element("summary", null, title),
    body,
  );
  return root;
}

function openBranches(state) {
  return state.get("because").split("~").filter(Boolean);
}

function rememberBranch(state, name, isOpen) {
  const others = openBranches(state).filter((one) => one !== name);
  state.set({ because: (isOpen ? [...others, name] : others).join("~") });
}

function termsOf(tree, { terms, total, count, rest }, path) {
  const most = Math.max(...terms.map((term) => Math.abs(term.value)), 1e-9);
  const written = (value, ...what) => [
    element(
      "span",
      { class: "because-bar", "aria-hidden": "true" },
      element("span", {
        class: `bar ${value < 0 ? "below" : ""}`,
        style: { width: `${Math.max(1, Math.min(1, Math.abs(value) / most) * LONGEST_BAR)}px` },
      }),
    ),
    element("span", { class: "value" }, signedText(value)),
    what,
  ];
  const items = terms.map((term, at) => {
    const line = written(term.value, `${term.query} × ${term.key}`);
    const item = term.opens
      ? branch(tree, line, [...path, at])
      : element("div", { class: "because leaf" }, line);
    return element("li", null, item);
  });
  return [
    element("p", { class: "small quiet" }, introductionOf(signedText(total), count, path)),
    element(
      "ul",
      null,
      items,
      count > terms.length &&
        element(
          "li",
          { class: "quiet" },
          element(
            "div",
            { class: "because leaf" },
            written(rest, `the other ${count - terms.length} terms together`),
          ),
        ),
    ),
  ];
}

function introductionOf(total, count, path) {
  if (path.length) return `${total} is the sum of ${count} terms, one step further down.`;
  return (
    `${total} is the sum of ${count} terms: what an earlier part of the model wrote into the ` +
    "query, times what one wrote into the key; head 2.4 is head 4 of layer 2. Open a term to go " +
    "further. Exact for this sentence, with the norms' scales taken as given."
  );
}

function signedText(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(3)}`;
}

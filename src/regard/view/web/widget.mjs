// The page of a result as a widget (anywidget): a shut frame, whose choice goes back to Python.
// Only messages of this very frame are heard, and of them only numbers and short names.

const MAX_HEIGHT_PIXELS = 4000;
const NAMES = ["part", "show"];
const NUMBERS = ["layer", "head"];
const LISTS = ["queries", "keys"];

/** @param {unknown} value @returns {value is number} */
const isIndex = (value) => typeof value === "number" && Number.isInteger(value) && value >= 0;

/** @param {Fields} selection */
function checked(selection) {
  /** @type {Fields} */
  const clean = {};
  for (const name of NAMES) {
    const value = selection[name];
    if (typeof value === "string") clean[name] = value.slice(0, 100);
  }
  for (const name of NUMBERS) if (isIndex(selection[name])) clean[name] = selection[name];
  for (const name of LISTS) {
    const value = selection[name];
    if (Array.isArray(value)) clean[name] = value.filter(isIndex);
  }
  return clean;
}

/** @param {{ model: WidgetModel, el: HTMLElement }} widget */
function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = String(model.get("title"));
  frame.setAttribute("sandbox", "allow-scripts allow-modals allow-downloads");
  Object.assign(frame.style, { width: "100%", border: "0", height: `${model.get("height")}px` });
  /** @param {MessageEvent} event */
  const onMessage = ({ source, data }) => {
    if (source !== frame.contentWindow || !data) return;
    if (data.regard === "height" && isIndex(data.height))
      frame.style.height = `${Math.min(MAX_HEIGHT_PIXELS, data.height)}px`;
    if (data.regard === "selection" && data.selection) {
      model.set("selection", checked(data.selection));
      model.save_changes();
    }
  };
  window.addEventListener("message", onMessage);
  frame.srcdoc = String(model.get("page"));
  el.append(frame);
  return () => window.removeEventListener("message", onMessage);
}

export default { render };

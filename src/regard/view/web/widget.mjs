// The page of a result as a widget (anywidget): a shut frame, whose choice goes back to Python.
// Only messages of this very frame are heard, and of them only numbers and short names.

const HIGHEST = 4000;
const NAMES = ["part", "show"];
const NUMBERS = ["layer", "head"];
const LISTS = ["queries", "keys"];

const isIndex = (value) => Number.isInteger(value) && value >= 0;

function checked(selection) {
  const clean = {};
  for (const name of NAMES)
    if (typeof selection[name] === "string") clean[name] = selection[name].slice(0, 100);
  for (const name of NUMBERS) if (isIndex(selection[name])) clean[name] = selection[name];
  for (const name of LISTS)
    if (Array.isArray(selection[name])) clean[name] = selection[name].filter(isIndex);
  return clean;
}

function render({ model, el }) {
  const frame = document.createElement("iframe");
  frame.title = model.get("title");
  frame.setAttribute("sandbox", "allow-scripts allow-modals allow-downloads");
  Object.assign(frame.style, { width: "100%", border: "0", height: `${model.get("height")}px` });
  const onMessage = ({ source, data }) => {
    if (source !== frame.contentWindow || !data) return;
    if (data.regard === "height" && isIndex(data.height))
      frame.style.height = `${Math.min(HIGHEST, data.height)}px`;
    if (data.regard === "selection" && data.selection) {
      model.set("selection", checked(data.selection));
      model.save_changes();
    }
  };
  window.addEventListener("message", onMessage);
  frame.srcdoc = model.get("page");
  el.append(frame);
  return () => window.removeEventListener("message", onMessage);
}

export default { render };

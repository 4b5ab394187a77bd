// A page inside a notebook's frame tells the notebook what is chosen and how high it is. Nothing
// is sent to anybody where the page is a window of its own.

const MIN_CHANGE_PIXELS = 4; // pixels: a frame that grows by less would only flicker
let sent = "";
let height = 0;

const isFramed = () => window.parent !== window;

// { part, show, layer, head, queries, keys } of the Read view: positions of words or tokens.
/** @param {Record<string, unknown>} selection */
export function sendSelection(selection) {
  const text = JSON.stringify(selection);
  if (!isFramed() || text === sent) return;
  sent = text;
  window.parent.postMessage({ regard: "selection", selection }, "*");
}

export function followHeight() {
  if (!isFramed()) return;
  // What is as high as its window would push a frame that is as high as its page ever further.
  document.documentElement.classList.add("framed");
  const measure = () => {
    const now = Math.ceil(document.body.getBoundingClientRect().height);
    if (Math.abs(now - height) < MIN_CHANGE_PIXELS) return;
    height = now;
    window.parent.postMessage({ regard: "height", height }, "*");
  };
  new ResizeObserver(measure).observe(document.body);
}

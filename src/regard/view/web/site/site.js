// The entry of a static site: the explorer without a server. First answers and all lessons are
// stored in the page; Python starts behind them, in a worker, and answers everything else.
//
// The block #site holds { version, folder, sizes: bytes of every file by name }, the block #stored
// the stored answers: { "path\nbody": [headers, base64] }. A page that is one file holds the other
// files too, compressed, in blocks whose id begins with "file ".

import { startPage, VIEWS } from "../app.js";
import { servedSource } from "../lib/api.js";
import { askThrough } from "../lib/ask.js";
import { element, pageElement, problem, replace } from "../lib/dom.js";
import { checkView } from "./check.js";
import { pythonWorker } from "./python_worker.js";

const NO_SIMD_MESSAGE =
  "This browser cannot compute here: it has no WebAssembly SIMD, which Chrome 91, Firefox 89 and " +
  "Safari 16.4 have. The first sentence and the course can be read; for other sentences update it.";
const KEEP_WAIT_MS = 1000;
const PICTURE_FIRST_MS = 500;
// The smallest module with an instruction of SIMD: i8x16.splat of 0, dropped.
const SIMD_MODULE = [
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0],
  ...[10, 9, 1, 7, 0, 65, 0, 253, 15, 26, 11],
];

/** @returns {Promise<void>} */
async function openSite() {
  const about = JSON.parse(pageElement("site").textContent);
  const stored = JSON.parse(pageElement("stored").textContent);
  const line = statusLine(about);
  const python = pythonWorker(() => createWorker(about, line), line.tell);
  /** @param {string} path @param {string} body @param {AbortSignal} [signal] */
  const send = async (path, body, signal) => {
    const known = stored[`${path}\n${body}`];
    if (known) return new Response(decodedBytes(known[1]), { headers: known[0] });
    line.wait(1);
    try {
      return await python.request({ path, body }, { signal });
    } finally {
      line.wait(-1);
    }
  };
  const source = await servedSource(askThrough(send));
  VIEWS.check = ["Check", checkView((reason) => python.restart(reason))];
  const state = startPage({ ...source, views: [...source.views, "check"] });
  acceptFiles(python, source, state, line);
  if (!WebAssembly.validate(new Uint8Array(SIMD_MODULE)))
    return line.tell({ failed: NO_SIMD_MESSAGE });
  if (shouldAsk()) await line.question();
  // Opening the files that this page holds takes its thread for seconds: the picture goes first.
  if (holdsFiles()) await new Promise((resolve) => setTimeout(resolve, PICTURE_FIRST_MS));
  python.begin().catch(() => null); // the line has told it
}

function holdsFiles() {
  return document.querySelector('script[id^="file "]') !== null;
}

// Data that is paid for, or a phone: megabytes are fetched once they are wanted.
function shouldAsk() {
  if (holdsFiles()) return false;
  const { connection } = /** @type {any} */ (navigator);
  return connection?.saveData || (matchMedia("(pointer: coarse)").matches && screen.width < 768);
}

/** @param {SiteAbout} about @param {StatusLine} line */
async function createWorker(about, line) {
  const given = await givenInPage();
  if (!given) await keepFiles(line);
  const script = given
    ? URL.createObjectURL(new Blob([given["worker.js"]], { type: "text/javascript" }))
    : `${about.folder}/worker.js`;
  // From a file classic workers alone may be started.
  const worker = new Worker(script, given ? {} : { type: "module" });
  const transfer = given ? Object.values(given) : [];
  return { worker, start: { given, sizes: about.sizes }, transfer };
}

// Files that this page holds; the blocks stay, for a worker that is started again.
/** @returns {Promise<Record<string, ArrayBuffer> | null>} */
async function givenInPage() {
  const blocks = [...document.querySelectorAll('script[id^="file "]')];
  if (!blocks.length) return null;
  const opened = blocks.map(async (block) => {
    const packed = new Blob([decodedBytes(block.textContent)]);
    const stream = packed.stream().pipeThrough(new DecompressionStream("deflate"));
    return [block.id.slice("file ".length), await new Response(stream).arrayBuffer()];
  });
  return Object.fromEntries(await Promise.all(opened));
}

// The service worker must be in charge before files are fetched, or it keeps none of them.
/** @param {StatusLine} line */
async function keepFiles(line) {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return; // not a secure address: every visit fetches
  serviceWorker.addEventListener("message", ({ data }) => data.notKept && line.notKept());
  try {
    const charge = new Promise((resolve) => {
      serviceWorker.addEventListener("controllerchange", resolve, { once: true });
      setTimeout(resolve, KEEP_WAIT_MS); // after a forced reload none takes charge
    });
    await serviceWorker.register("offline.js");
    if (!serviceWorker.controller) await charge;
  } catch {
    line.notKept();
  }
}

/** @param {string} text */
function decodedBytes(text) {
  const characters = atob(text);
  const bytes = new Uint8Array(characters.length); // megabytes: a loop is ten times Uint8Array.from
  for (let at = 0; at < bytes.length; at++) bytes[at] = characters.charCodeAt(at);
  return bytes;
}

/**
 * The line at the page's foot that says what is here and what is awaited.
 *
 * @param {SiteAbout} about
 * @returns {StatusLine}
 */
function statusLine({ sizes }) {
  const slot = element("p", { class: "site-line small", role: "status" });
  pageElement("view").before(slot);
  const total = holdsFiles() ? 0 : sizes["python.zip"] + sizes["parameters.safetensors"];
  let fetched = 0;
  let waiting = 0;
  let stage = "";
  let note = "";
  let failed = "";
  const draw = () => {
    document.documentElement.dataset.python = failed ? "failed" : stage;
    const megabytes = (/** @type {number} */ bytes) => (bytes / 1e6).toFixed(0);
    const coming =
      fetched < total
        ? `${megabytes(fetched)} of ${megabytes(total)} MB of Python and the model are here`
        : "Python and the model start";
    if (failed) replace(slot, failed);
    else if (stage === "ready") replace(slot, note);
    else if (stage === "asked") return;
    else replace(slot, waiting ? `What you asked for waits: ${coming}.` : `${coming}.`);
    slot.hidden = !slot.textContent;
  };
  draw();
  return {
    tell: (news) => {
      fetched += news.fetched || 0;
      stage = news.ready ? "ready" : news.stage || stage;
      if (news.ready) failed = "";
      if (news.failed)
        failed = `${news.failed} The first sentence and the course can be read meanwhile.`;
      draw();
    },
    wait: (more) => {
      waiting += more;
      draw();
    },
    notKept: () => {
      note = "This browser keeps no files of this page: the next visit needs the network again.";
      draw();
    },
    say: (text) => {
      note = text;
      draw();
    },
    question: () =>
      new Promise((resolve) => {
        stage = "asked";
        const text = `Fetch ${(Object.values(sizes).reduce((a, b) => a + b) / 1e6).toFixed(0)} MB`;
        const button = element("button", { type: "button" }, text);
        button.addEventListener("click", () => {
          stage = "";
          draw();
          resolve();
        });
        replace(slot, "The first sentence and the course are here. To read any sentence: ", button);
      }),
  };
}

// A .regard file that is dropped anywhere on the page opens in Read or Map.
/**
 * @param {ReturnType<typeof pythonWorker>} python
 * @param {Source} source
 * @param {State} state
 * @param {StatusLine} line
 */
function acceptFiles(python, source, state, line) {
  const send = askThrough(async (name, body) => {
    const { bytes } = dropped;
    return python.request({ file: name, bytes, body }, { transfer: [bytes] });
  });
  const dropped = { bytes: new ArrayBuffer(0) };
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    event.preventDefault();
    for (const file of event.dataTransfer?.files || []) {
      try {
        if (!file.name.endsWith(".regard"))
          throw new Error(`${file.name} must be a .regard file: regard watch makes them.`);
        line.say(`Opening ${file.name} ...`);
        dropped.bytes = await file.arrayBuffer();
        const opened = await (await send(file.name, {})).json();
        source.page.files[opened.file] = file.name;
        line.say("");
        state.go("map", { file: String(opened.file) });
      } catch (error) {
        line.say(/** @type {Error} */ (error).message);
      }
    }
  });
}

openSite().catch((error) => pageElement("view").replaceChildren(problem(error)));

// The entry of a static site: the explorer without a server. First answers and all lessons are
// stored in the page; Python starts behind them, in a worker, and answers everything else.
//
// The block #site holds a SiteAbout (types.d.ts), the block #stored the stored answers:
// { "path\nbody": [headers, base64] }. Blocks whose id begins with "file " hold the worker's
// script, compressed, and in a page that is one file all other files too.

import { startPage, VIEWS } from "../app.js";
import { servedSource } from "../lib/api.js";
import { accepted, askThrough } from "../lib/ask.js";
import { carriedReading } from "../lib/carried.js";
import { element, pageElement, problem, replace } from "../lib/dom.js";
import { checkView, practice } from "./check.js";
import { pythonWorker } from "./python_worker.js";

const NO_SIMD_MESSAGE =
  "This browser cannot compute here: it has no WebAssembly SIMD, which Chrome 91, Firefox 89 and " +
  "Safari 16.4 have.";
const NOT_KEPT_MESSAGE =
  "This browser keeps no files of this page: the next visit needs the network again.";
const KEEP_WAIT_MS = 1000;
// The smallest module with an instruction of SIMD: i8x16.splat of 0, dropped.
const SIMD_MODULE = [
  ...[0, 97, 115, 109, 1, 0, 0, 0, 1, 4, 1, 96, 0, 0, 3, 2, 1, 0],
  ...[10, 9, 1, 7, 0, 65, 0, 253, 15, 26, 11],
];

/** @returns {Promise<void>} */
async function openSite() {
  const about = /** @type {SiteAbout} */ (JSON.parse(pageElement("site").textContent));
  const stored = JSON.parse(pageElement("stored").textContent);
  const line = statusLine(about, () => state?.go("read", { sentence: null, seen: null }));
  let carried = carriedByLink(stored);
  /** @type {State | null} */
  let state = null;
  const allowed = mayStart(about, line);
  const python = pythonWorker(() => allowed.then(() => createWorker(about, line)), line.tell);
  /** @param {Parameters<typeof python.request>} request */
  const waited = async (...request) => {
    line.wait(1);
    try {
      return await python.request(...request);
    } finally {
      line.wait(-1);
    }
  };
  const source = await servedSource(
    askThrough(async (path, body, signal) => {
      const known = stored[`${path}\n${body}`];
      if (known) return new Response(decodedBytes(known[1]), { headers: known[0] });
      if (carried && path === "/api/read" && JSON.parse(body).sentence === carried.sentence)
        return Response.json(carried);
      return waited({ path, body }, { signal });
    }),
  );
  /** @type {CheckAsk} */
  const check = async (fields, options) =>
    accepted(await waited({ path: "/api/check", body: JSON.stringify(fields) }, options));
  VIEWS.check = ["Check", checkView(check)];
  source.views.push("check");
  source.practice = () => practice(check);
  state = startPage(source);
  if (about.docs) linkToDocs();
  acceptFiles(python, source, state, line);
  // Opening the files that this page holds takes its thread for seconds: the picture goes first.
  if (isOneFile()) await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  const isThere = await python.begin().catch(() => null); // the line has told it
  // What came with the link has English words alone, its weights in steps: now all of it is read.
  if (!isThere || !carried) return;
  carried = null;
  source.forget?.();
  state.set({ seen: null });
}

// What the link carries that was opened; its sizes are those of the reading that is stored.
/** @param {Record<string, [Record<string, string>, string]>} stored */
function carriedByLink(stored) {
  const fields = new URLSearchParams(location.hash.split("?")[1]);
  const [seen, sentence] = ["seen", "sentence"].map((name) => fields.get(name) ?? "");
  const known = Object.keys(stored).find((key) => /^\/api\/read\n.*"quick":false/.test(key));
  if (!seen || !known) return null;
  const reading = JSON.parse(new TextDecoder().decode(decodedBytes(stored[known][1])));
  return carriedReading(seen, sentence, reading);
}

function isOneFile() {
  return document.getElementById("file packages") !== null;
}

function linkToDocs() {
  pageElement("foot").append(" ", element("a", { href: "docs/" }, "Documentation"));
}

// Data that is paid for, or a phone: megabytes are fetched once they are wanted.
/** @param {SiteAbout} about @param {StatusLine} line */
async function mayStart({ folder }, line) {
  if (!WebAssembly.validate(new Uint8Array(SIMD_MODULE))) throw new Error(NO_SIMD_MESSAGE);
  const { connection } = /** @type {any} */ (navigator);
  const phone = matchMedia("(pointer: coarse)").matches && screen.width < 768;
  if (isOneFile() || (!connection?.saveData && !phone)) return;
  const kept = globalThis.caches?.match(`${folder}/parameters.safetensors.zlib`);
  if (!(await kept?.catch(() => null))) await line.question();
}

/** @param {SiteAbout} about @param {StatusLine} line */
async function createWorker({ folder, sizes }, line) {
  const { "worker.js": script, ...others } = await filesInPage();
  const given = isOneFile() ? others : null;
  if (!given) await keepFiles(line);
  // From a blob the worker has the content policy of this page; from an address it has none. A page
  // from file:// can start classic workers alone.
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const worker = new Worker(address, { type: given ? "classic" : "module" });
  const start = { given, folder: new URL(`${folder}/`, location.href).href, sizes };
  return { worker, start, transfer: Object.values(given || {}) };
}

// The blocks stay, for a worker that is started again.
/** @returns {Promise<Record<string, ArrayBuffer>>} */
async function filesInPage() {
  const blocks = [...document.querySelectorAll('script[id^="file "]')];
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
  serviceWorker.addEventListener(
    "message",
    ({ data }) => data.notKept && line.say(NOT_KEPT_MESSAGE),
  );
  try {
    const charge = new Promise((resolve) => {
      serviceWorker.addEventListener("controllerchange", resolve, { once: true });
      setTimeout(resolve, KEEP_WAIT_MS); // after a forced reload none takes charge
    });
    await serviceWorker.register("offline.js");
    if (!serviceWorker.controller) await charge;
  } catch {
    line.say(NOT_KEPT_MESSAGE);
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
 * The line at the foot of the window that says what is here and what is awaited.
 *
 * @param {SiteAbout} about
 * @param {() => void} goBack to what is here without the model
 * @returns {StatusLine}
 */
function statusLine({ sizes, bytes }, goBack) {
  const slot = element("p.site-line.small", { role: "status" });
  document.body.append(slot);
  const read = Object.entries(sizes).filter(([name]) => !name.endsWith(".mjs"));
  const total = isOneFile() ? 0 : read.reduce((sum, [, size]) => sum + size, 0);
  let [fetched, waiting] = [0, 0];
  let [stage, note, failed] = ["", "", ""];
  /** @type {HTMLElement | null} */
  let button = null;
  const progress = () =>
    fetched < total
      ? `Loading Python and the model: ${((100 * fetched) / total).toFixed(0)} %.`
      : "Starting Python and the model.";
  const text = () => {
    if (failed) return `${failed} The first sentence and the course still work.`;
    if (button && waiting)
      return [
        element("b", "This needs the model."),
        " Python and a small translator come to this device once; then any sentence works here, " +
          "also without a network.",
      ];
    if (button) return "The first sentence and the course are here. For any other sentence: ";
    if (stage === "ready") return note;
    return waiting ? `${progress()} What you asked for comes after that.` : progress();
  };
  const draw = () => {
    document.documentElement.dataset.python = failed ? "failed" : button ? "asks" : stage;
    const isSheet = button !== null && waiting > 0;
    slot.classList.toggle("sheet", isSheet);
    replace(
      slot,
      text(),
      button,
      isSheet && element("button.link", { on: { click: goBack } }, "Look at one that is here"),
    );
    slot.hidden = !slot.textContent;
  };
  draw();
  return {
    tell: (news) => {
      fetched += news.fetched || 0;
      stage = news.ready ? "ready" : news.stage || stage;
      failed = news.ready ? "" : news.failed || failed;
      draw();
    },
    wait: (more) => {
      waiting += more;
      draw();
    },
    say: (text) => {
      note = text;
      draw();
    },
    question: () =>
      new Promise((resolve) => {
        const click = () => {
          button = null;
          draw();
          resolve();
        };
        button = element(
          "button.button",
          { on: { click } },
          `Download ${(bytes / 1e6).toFixed(0)} MB`,
        );
        draw();
      }),
  };
}

// A .regard file that is dropped anywhere on the page is opened.
/**
 * @param {ReturnType<typeof pythonWorker>} python
 * @param {Source} source
 * @param {State} state
 * @param {StatusLine} line
 */
function acceptFiles(python, source, state, line) {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    event.preventDefault();
    for (const file of event.dataTransfer?.files || []) {
      try {
        if (!file.name.endsWith(".regard"))
          throw new Error(`${file.name} must be a .regard file: regard watch makes them.`);
        line.say(`Opening ${file.name} …`);
        const bytes = await file.arrayBuffer();
        const answer = await python.request({ file: file.name, bytes }, { transfer: [bytes] });
        const opened = await (await accepted(answer)).json();
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

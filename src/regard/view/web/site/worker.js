// The worker of a static site: Python, which answers by the functions that the server calls
// (view/page/in_browser.py). The page's side is python_worker.js.
//
// Messages to it: first { start: { given, folder, sizes } }, where `given` are the files by name in
// a page that is one file, else they are fetched from the folder; then, one at a time,
// { path, body } for an answer, { file, bytes } for a .regard file. Messages from it: { stage },
// { fetched: bytes }, { ready }, { failed } with a sentence, and { status, headers, content }.

/** @type {Promise<any> | null} */
let running = null;

/** @param {WorkerStart} start */
async function startPython({ given, folder, sizes }) {
  const files = given ? givenFiles(given) : fetchedFiles(folder, sizes);
  const packages = files.read("packages");
  const model = packages.then(() => files.read("parameters.safetensors")); // as Python starts
  model.catch(() => null); // reported below
  const python = await loadedPyodide(files);
  postMessage({ stage: "Python" });
  unpack(python.FS, await packages, "/packages");
  python.runPython("import sys; sys.path.insert(0, '/packages')");
  const page = python.runPython("from regard.view.page import in_browser; in_browser.start()");
  postMessage({ stage: "regard" });
  const parameters = "/packages/regard/transformer/shipped/parameters.safetensors";
  python.FS.writeFile(parameters, await model, { canOwn: true });
  page.load_model();
  release(await model);
  python.FS.mkdirTree("/files");
  postMessage({ ready: true });
  return { python, page };
}

const PYODIDE_FILES = ["pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"];
const PYODIDE_SCRIPTS = ["pyodide.mjs", "pyodide.asm.mjs"];

// Pyodide would fetch its files itself, and wait for ever for one that was cut.
/** @param {SiteFiles} files */
async function loadedPyodide(files) {
  const read = await Promise.all(PYODIDE_FILES.map(files.read));
  globalThis.fetch = async (address) => {
    const at = PYODIDE_FILES.indexOf(String(address).slice(files.folder.length));
    if (at < 0) return new Response(null, { status: 404 });
    const type = at === 0 ? "application/wasm" : "application/octet-stream";
    return new Response(read[at], { headers: { "Content-Type": type } });
  };
  const scripts = PYODIDE_SCRIPTS.map((name) => import(files.address(name)));
  const [{ loadPyodide }, { default: createPyodideModule }] = await Promise.all(scripts).catch(
    async (error) => {
      for (const name of PYODIDE_SCRIPTS) await files.read(name); // this tells which was cut
      throw error;
    },
  );
  return loadPyodide({ indexURL: files.folder, createPyodideModule });
}

// Files of one buffer (view/site/build.py), which stay where they are.
/** @param {any} FS @param {Uint8Array} bytes @param {string} folder */
function unpack(FS, bytes, folder) {
  let at = 4 + new DataView(bytes.buffer).getUint32(0, true);
  for (const [name, size] of JSON.parse(new TextDecoder().decode(bytes.subarray(4, at)))) {
    const path = `${folder}/${name}`;
    FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    FS.writeFile(path, bytes.subarray(at, (at += size)), { canOwn: true });
  }
}

// The files of the folder. A host that cuts a file short is told from one that sends it whole.
/** @param {string} folder @param {Record<string, number>} sizes @returns {SiteFiles} */
function fetchedFiles(folder, sizes) {
  const { fetch } = globalThis;
  const read = async (/** @type {string} */ name) => {
    const compressed = !name.startsWith("py");
    const address = folder + name + (compressed ? ".zlib" : "");
    const response = await fetch(address).catch(() => null);
    if (!response) throw new Error(`${name} could not be fetched: is there a network?`);
    if (!response.ok || !response.body)
      throw new Error(
        `The host answered ${response.status} for ${name}: the site may have been renewed. ` +
          "Reload the page.",
      );
    const body = compressed
      ? response.body.pipeThrough(new DecompressionStream("deflate"))
      : response.body;
    const bytes = new Uint8Array(sizes[name]);
    const at = await fill(bytes, body.getReader());
    if (at === bytes.length) return bytes;
    await forget(address);
    throw new Error(`The host cut ${name} after ${at} of ${bytes.length} bytes. Reload the page.`);
  };
  return { folder, read, address: (name) => folder + name };
}

// Read a stream into an array; how much of it came.
/** @param {Uint8Array} bytes @param {ReadableStreamDefaultReader<Uint8Array>} reader */
async function fill(bytes, reader) {
  let at = 0;
  let told = 0;
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (done || !value || at + value.length > bytes.length) return at;
    bytes.set(value, at);
    at += value.length;
    release(value);
    if (at - told < 250_000 && at < bytes.length) continue;
    postMessage({ fetched: at - told });
    told = at;
  }
}

// Give memory back now and not at some later collection.
/** @param {any} bytes */
function release(bytes) {
  bytes.buffer.transfer?.(0);
}

// The service worker has kept what came: the next visit must not get it again.
/** @param {string} address */
async function forget(address) {
  for (const name of (await globalThis.caches?.keys().catch(() => [])) || [])
    await (await caches.open(name)).delete(address);
}

/** @param {Record<string, ArrayBuffer>} given @returns {SiteFiles} */
function givenFiles(given) {
  // A page from file:// can start classic workers alone. Pyodide takes a worker for classic, and
  // refuses it, if importScripts can be called; all it needs is import(), which both kinds have.
  Object.assign(globalThis, { importScripts: undefined });
  return {
    folder: "https://given.invalid/",
    read: async (name) => new Uint8Array(given[name]),
    address: (name) => URL.createObjectURL(new Blob([given[name]], { type: "text/javascript" })),
  };
}

/** @param {any} started @param {any} message */
function answerOf({ python, page }, { path, body, file, bytes }) {
  if (file === undefined) return page.answer(path, body);
  python.FS.writeFile(`/files/${file}`, new Uint8Array(bytes), { canOwn: true });
  return page.open_file(`/files/${file}`);
}

globalThis.onmessage = async ({ data }) => {
  if (data.start) {
    running = startPython(data.start);
    running.catch((error) => postMessage({ failed: error.message || String(error) }));
    return;
  }
  try {
    const made = answerOf(await running, data);
    const [status, headers, content] = made.toJs();
    made.destroy();
    globalThis.postMessage({ status, headers, content }, { transfer: [content.buffer] });
  } catch (error) {
    // Such as no memory left: Python itself answers every other error.
    const sentence = `Python in this page has ended (${error}): reload the page.`;
    const content = new TextEncoder().encode(JSON.stringify({ error: sentence }));
    postMessage({ status: 500, headers: [], content });
  }
};

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
  const files = given ? givenFiles(given, sizes) : fetchedFiles(folder, sizes);
  const packages = readAll(files, "packages");
  const model = packages.then(() => readAll(files, "parameters.safetensors")); // as Python starts
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

// Pyodide fetches files of its own, and would wait for ever for one that was cut.
/** @param {SiteFiles} files @returns {Promise<any>} */
function loadedPyodide(files) {
  return new Promise((resolve, reject) => {
    globalThis.fetch = async (address) => {
      const name = String(address).slice(files.folder.length);
      const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
      const stream = await files.stream(name, reject);
      return new Response(stream, { headers: { "Content-Type": type } });
    };
    startPyodide(files).then(resolve, reject);
  });
}

/** @param {SiteFiles} files */
async function startPyodide(files) {
  const names = ["pyodide.mjs", "pyodide.asm.mjs"];
  const scripts = Promise.all(names.map((name) => import(files.address(name))));
  const [{ loadPyodide }, { default: createPyodideModule }] = await scripts.catch(async (error) => {
    for (const name of names) await readAll(files, name); // this tells which was cut
    throw error;
  });
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
  /** @type {SiteFiles["stream"]} */
  const stream = async (name, fail) => {
    const compressed = !name.startsWith("py");
    const address = folder + name + (compressed ? ".zlib" : "");
    const response = await fetch(address).catch(() => null);
    const body = response?.ok && response.body;
    if (!body) {
      const error = new Error(
        response
          ? `The host answered ${response.status} for ${name}: the site may have been renewed. ` +
              "Reload the page."
          : `${name} could not be fetched: is there a network?`,
      );
      fail(error);
      throw error;
    }
    const inflated = compressed ? body.pipeThrough(new DecompressionStream("deflate")) : body;
    return counted(inflated.getReader(), sizes[name], async (came) => {
      await forget(address);
      const error = new Error(
        `The host cut ${name} after ${came} of ${sizes[name]} bytes. Reload the page.`,
      );
      fail(error);
      return error;
    });
  };
  return { folder, sizes, stream, address: (name) => folder + name };
}

// A stream as it is, as long as it has a size; its progress is told.
/**
 * @param {ReadableStreamDefaultReader<Uint8Array>} reader
 * @param {number} size
 * @param {(came: number) => Promise<Error>} cut
 */
function counted(reader, size, cut) {
  let at = 0;
  let told = 0;
  return new ReadableStream({
    pull: async (controller) => {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      at += value?.length || 0;
      if (at - told >= 250_000 || done) {
        postMessage({ fetched: at - told });
        told = at;
      }
      if (!done && at <= size) controller.enqueue(value);
      else if (at === size) controller.close();
      else controller.error(await cut(at));
    },
  });
}

/** @param {SiteFiles} files @param {string} name */
async function readAll(files, name) {
  const reader = (await files.stream(name, () => null)).getReader();
  const bytes = new Uint8Array(files.sizes[name]);
  for (let at = 0; ;) {
    const { done, value } = await reader.read();
    if (done) return bytes;
    bytes.set(value, at);
    at += value.length;
    release(value);
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

/**
 * @param {Record<string, ArrayBuffer>} given
 * @param {Record<string, number>} sizes
 * @returns {SiteFiles}
 */
function givenFiles(given, sizes) {
  // A page from file:// can start classic workers alone. Pyodide takes a worker for classic, and
  // refuses it, if importScripts can be called; all it needs is import(), which both kinds have.
  Object.assign(globalThis, { importScripts: undefined });
  return {
    folder: "https://given.invalid/",
    sizes,
    stream: async (name) => new Blob([given[name]]).stream(),
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

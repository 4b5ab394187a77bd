// The worker of a static site: Python, which answers by the functions that the server calls
// (view/page/in_browser.py). The page's side is python_worker.js.
//
// Messages to it: first { start: { given, sizes } }, where `given` are the files by name in a page
// that is one file, else they are fetched from beside this one; then { id, path, body } for an
// answer, { id, file, bytes } for a .regard file. Messages from it: { stage }, { fetched: bytes },
// { ready }, { failed } with a sentence, and { id, status, headers, content }.

/** @type {Promise<any> | null} */
let running = null;

/** @param {{ given: Record<string, ArrayBuffer> | null, sizes: Record<string, number> }} start */
async function startPython({ given, sizes }) {
  const files = given ? givenFiles(given) : fetchedFiles(sizes);
  const packages = files.read("python.zip");
  const model = packages.then(() => files.read("parameters.safetensors")); // as Python starts
  model.catch(() => null); // reported below
  const [{ loadPyodide }, { default: createPyodideModule }] = await Promise.all(
    ["pyodide.mjs", "pyodide.asm.mjs"].map((name) => import(files.address(name))),
  );
  const python = await loadPyodide({ indexURL: files.folder, createPyodideModule });
  postMessage({ stage: "Python" });
  python.unpackArchive(await packages, "zip", { extractDir: "/regard" });
  python.runPython("import sys; sys.path.insert(0, '/regard')");
  const page = python.runPython("from regard.view.page import in_browser; in_browser.start()");
  postMessage({ stage: "regard" });
  const parameters = "/regard/regard/transformer/shipped/parameters.safetensors";
  python.FS.writeFile(parameters, await model, { canOwn: true });
  page.load_model();
  python.FS.mkdirTree("/files");
  postMessage({ ready: true });
  return { python, page };
}

// The files beside this one. A host that cuts a file short is told from one that sends it whole.
/** @param {Record<string, number>} sizes */
function fetchedFiles(sizes) {
  const folder = new URL(".", location.href).href;
  /** @param {string} name */
  const read = async (name) => {
    const response = await fetch(folder + name).catch(() => null);
    if (!response) throw new Error(`${name} could not be fetched: is there a network?`);
    if (!response.ok || !response.body)
      throw new Error(
        `The host answered ${response.status} for ${name}: the site may have been renewed. ` +
          "Reload the page.",
      );
    const bytes = new Uint8Array(sizes[name]);
    let at = 0;
    let told = 0;
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
      if (done || !value || at + value.length > bytes.length) break;
      bytes.set(value, at);
      at += value.length;
      if (at - told < 250_000 && at < bytes.length) continue;
      postMessage({ fetched: at - told });
      told = at;
    }
    if (at !== bytes.length)
      throw new Error(
        `The host sent only ${at} of the ${bytes.length} bytes of ${name}. Reload the page.`,
      );
    return bytes;
  };
  return { folder, read, address: (/** @type {string} */ name) => folder + name };
}

// The files of a page that is one file. Pyodide fetches its own, so fetch is answered from them.
/** @param {Record<string, ArrayBuffer>} given */
function givenFiles(given) {
  const folder = "https://given.invalid/";
  const types = /** @type {Record<string, string>} */ ({ wasm: "application/wasm" });
  /** @param {unknown} address */
  const answered = async (address) => {
    const name = String(address).slice(folder.length);
    const headers = { "Content-Type": types[name.split(".").pop() || ""] || "text/plain" };
    return new Response(given[name], given[name] ? { headers } : { status: 404 });
  };
  globalThis.fetch = answered;
  // A page from file:// can start classic workers alone. Pyodide takes a worker for classic, and
  // refuses it, if importScripts can be called; all it needs is import(), which both kinds have.
  Object.assign(globalThis, { importScripts: undefined });
  return {
    folder,
    read: async (/** @type {string} */ name) => new Uint8Array(given[name]),
    address: (/** @type {string} */ name) =>
      URL.createObjectURL(new Blob([given[name]], { type: "text/javascript" })),
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
  if (!running) return;
  try {
    const made = answerOf(await running, data);
    const [status, headers, content] = made.toJs();
    made.destroy();
    globalThis.postMessage(
      { id: data.id, status, headers, content },
      { transfer: [content.buffer] },
    );
  } catch (error) {
    // Such as no memory left: Python itself answers every other error.
    const sentence = `Python in this page has ended (${error}): reload the page.`;
    const content = new TextEncoder().encode(JSON.stringify({ error: sentence }));
    postMessage({ id: data.id, status: 500, headers: [], content });
  }
};

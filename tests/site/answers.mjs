// Answers of a built site's Python, in Node: node answers.mjs FOLDER REQUESTS ANSWERS
// FOLDER is that of one version, REQUESTS a JSON list of [path, fields], ANSWERS a pickle to write.
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, requests, answers] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(folder, "pyodide.mjs")).href);
const read = (path) => new Uint8Array(readFileSync(path));
const python = await loadPyodide({ indexURL: `${resolve(folder)}/` });
python.unpackArchive(read(join(folder, "python.zip")), "zip", { extractDir: "/regard" });
const shipped = "/regard/regard/transformer/shipped/parameters.safetensors";
python.FS.writeFile(shipped, read(join(folder, "parameters.safetensors")), { canOwn: true });
python.FS.writeFile("/requests.json", read(requests));
python.runPython(`
import json, pickle, sys, time
sys.path.insert(0, "/regard")
from regard.view.page import in_browser
from regard.engine.native.library import native_state
page = in_browser.start()
page.load_model()
made = []
for path, fields in json.load(open("/requests.json")):
    start = time.perf_counter()
    made.append((*page.answer(path, json.dumps(fields)), time.perf_counter() - start))
state = native_state()
open("/answers.pickle", "wb").write(pickle.dumps((state.level, state.reason, made)))
`);
writeFileSync(answers, python.FS.readFile("/answers.pickle"));

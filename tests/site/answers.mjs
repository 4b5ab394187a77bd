// Answers of a built site's Python, in Node: node answers.mjs FOLDER REQUESTS ANSWERS
// FOLDER is that of one version, REQUESTS a JSON list of [path, fields], ANSWERS a pickle to write.
import { readFileSync, writeFileSync } from "node:fs";
import { startPyodide, unpackSite } from "./site_python.mjs";

const [folder, requests, answers] = process.argv.slice(2);
const python = await startPyodide(folder);
unpackSite(python, folder);
python.FS.writeFile("/requests.json", new Uint8Array(readFileSync(requests)));
python.runPython(`
import json, pickle
from regard.view.page import in_browser
from regard.engine.native.library import native_state
page = in_browser.start()
page.load_model()
made = [page.answer(path, json.dumps(fields)) for path, fields in json.load(open("/requests.json"))]
state = native_state()
open("/answers.pickle", "wb").write(pickle.dumps((state.level, state.reason, made)))
`);
writeFileSync(answers, python.FS.readFile("/answers.pickle"));

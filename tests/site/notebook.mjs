// Code cells of a notebook, run in Pyodide from a wheel: node notebook.mjs FOLDER NUMPY REGARD CELLS
// FOLDER holds Pyodide, NUMPY and REGARD are wheels, CELLS a JSON list of code. Prints what they do.
import { readFileSync } from "node:fs";
import { startPyodide } from "./site_python.mjs";

const [folder, numpy, regard, cells] = process.argv.slice(2);
const python = await startPyodide(folder);
for (const wheel of [numpy, regard])
  python.unpackArchive(new Uint8Array(readFileSync(wheel)), "wheel");
for (const cell of JSON.parse(readFileSync(cells, "utf8"))) python.runPython(cell);
python.runPython("from regard.engine.native.library import native_state; print(native_state())");

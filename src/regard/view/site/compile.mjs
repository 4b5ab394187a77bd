// Compile every Python file of a folder, in place, by the Python that will run it in the browser.
//
// node compile.mjs PYODIDE FOLDER
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, folder] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(pyodide, "pyodide.mjs")).href);
const python = await loadPyodide();
python.mountNodeFS("/made", resolve(folder));
python.runPython(`
import compileall, pathlib, py_compile
compiled = compileall.compile_dir(
    "/made", maxlevels=20, ddir="", legacy=True, optimize=2, quiet=1,
    invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
)
if not compiled:
    raise SystemExit("a file could not be compiled")
for path in list(pathlib.Path("/made").rglob("*.py")):
    path.unlink()
`);

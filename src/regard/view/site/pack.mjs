// Compile the Python files of the site by the Python that will run them, and pack them.
//
// node pack.mjs PYODIDE NUMPY_WHEEL REGARD KERNELS ZIP: REGARD is the folder of the package, KERNELS
// that of its kernels for WebAssembly.
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [pyodide, wheel, sources, kernels, target] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(resolve(pyodide, "pyodide.mjs")).href);
const read = (path) => new Uint8Array(readFileSync(path)); // Pyodide refuses a Buffer

// Commands, training and what needs a GPU or other machines cannot run in a browser.
const LEFT_OUT = /^(cli|train|view\/site|engine\/gpu|engine\/ring)\/|__pycache__|^__main__/;
// Sources in C are there for their checksum, which the compiled kernels carry; web files for Save.
const KEPT = /\.(py|json|txt|model|js|mjs|css|html|svg|c|h)$/;

const python = await loadPyodide();
python.unpackArchive(read(wheel), "zip", { extractDir: "/made" });
for (const entry of readdirSync(sources, { recursive: true })) {
  const name = entry.replaceAll("\\", "/");
  if (LEFT_OUT.test(name) || !KEPT.test(name) || !statSync(join(sources, name)).isFile()) continue;
  const path = `/made/regard/${name}`;
  python.FS.mkdirTree(path.replace(/\/[^/]*$/, ""));
  python.FS.writeFile(path, read(join(sources, name)));
}
for (const name of readdirSync(kernels))
  python.FS.writeFile(`/made/regard/engine/native/${name}`, read(join(kernels, name)));
python.runPython(`
import pathlib, py_compile, zipfile
root = pathlib.Path("/made")
for path in list(root.rglob("*.py")):
    name = str(path.relative_to(root))
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(path), str(path.with_suffix(".pyc")), name, True, 2, mode)
    path.unlink()
LEFT_OUT = ("numpy/_core/include/", "numpy/_core/lib/", "numpy/f2py/", "numpy/random/lib/")
# Licences stay: the site distributes NumPy.
def is_kept(name):
    if ".dist-info/" in name:
        return "/licenses/" in name or name.endswith("LICENSE.txt")
    return not name.endswith((".pyi", ".pxd", ".md", ".a")) and not name.startswith(LEFT_OUT)
with zipfile.ZipFile("/python.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = path.relative_to(root).as_posix()
        if is_kept(name) and "/tests/" not in name:
            made.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
`);
writeFileSync(target, python.FS.readFile("/python.zip"));

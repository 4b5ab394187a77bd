// Python of a built site, in Node.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { inflateSync } from "node:zlib";

/** Pyodide from the folder of one version of a site. */
export async function startPyodide(folder) {
  const { loadPyodide } = await import(pathToFileURL(resolve(folder, "pyodide.mjs")).href);
  return loadPyodide({ indexURL: `${resolve(folder)}/` });
}

/** The packages and parameters of the site, as web/site/worker.js puts them. */
export function unpackSite(python, folder) {
  const inflated = (name) => new Uint8Array(inflateSync(readFileSync(join(folder, name))));
  const bytes = inflated("packages.zlib");
  let at = 4 + new DataView(bytes.buffer).getUint32(0, true);
  for (const [name, size] of JSON.parse(new TextDecoder().decode(bytes.subarray(4, at)))) {
    const path = `/packages/${name}`;
    python.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    python.FS.writeFile(path, bytes.subarray(at, (at += size)), { canOwn: true });
  }
  const parameters = "parameters.safetensors";
  const shipped = `/packages/regard/transformer/shipped/${parameters}`;
  python.FS.writeFile(shipped, inflated(`${parameters}.zlib`), { canOwn: true });
  python.runPython("import sys; sys.path.insert(0, '/packages')");
}

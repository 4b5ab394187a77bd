// The one place where the page asks. An ask is `(path, fields, { signal }) -> Response`: the path
// names an answer of view/page/routes, the fields are its JSON. What carries a request differs:
// HTTP to the server of `regard open`, a message to the worker of a static site.

import { isAborted } from "./dom.js";

/**
 * An ask whose requests are carried by `send`.
 *
 * @param {(path: string, body: string, signal?: AbortSignal) => Promise<Response>} send
 * @returns {Ask}
 */
export function askThrough(send) {
  return async (path, fields, { signal } = {}) =>
    accepted(await send(path, JSON.stringify(fields), signal));
}

// The response, or an Error with the sentence that came in its place.
/** @param {Response} response */
export async function accepted(response) {
  if (response.ok) return response;
  let sentence = `The explorer answered ${response.status}.`;
  try {
    sentence = (await response.json()).error || sentence;
  } catch {
    /* no sentence came */
  }
  throw new Error(sentence);
}

/** Ask the server that this page came from. */
export const askServer = askThrough(sendToServer);

const BUSY_DELAYS_MS = [250, 500, 1000, 2000, 4000];

// The server answers 503 while too many requests wait: ask again, ever later.
/** @param {string} path @param {string} body @param {AbortSignal} [signal] */
async function sendToServer(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  const post = () => fetch(path, { method: "POST", headers, body, signal });
  try {
    for (const delay of BUSY_DELAYS_MS) {
      const response = await post();
      if (response.status !== 503) return response;
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
    return await post();
  } catch (error) {
    if (isAborted(error)) throw error;
    throw new Error(
      "The explorer does not answer: it may have been stopped. Start it again with regard open.",
      { cause: error },
    );
  }
}

// The page's side of the worker (worker.js): a queue of requests, one at a time, since Python has
// one thread there; a request that the page has given up before its turn is never sent.

/**
 * @param {() => Promise<{ worker: Worker, start: object, transfer: Transferable[] }>} create
 *     starts the worker's script; again, after one was ended
 * @param {(message: WorkerNews) => void} tell  what the worker says of its start
 */
export function pythonWorker(create, tell) {
  /** @type {Promise<Worker> | null} */
  let current = null;
  /** @type {WorkerRequest[]} */
  const queue = [];
  /** @type {WorkerRequest | null} */
  let sent = null;
  let last = 0;
  /** @type {Error | null} */
  let failure = null;

  /** @param {Error} error */
  const fail = (error) => {
    failure = error;
    for (const request of [...(sent ? [sent] : []), ...queue.splice(0)]) request.reject(error);
    sent = null;
    tell({ failed: error.message });
  };
  const start = async () => {
    const { worker, start, transfer } = await create();
    worker.onmessage = ({ data }) => {
      if (data.failed) return fail(new Error(data.failed));
      if (!data.id) return tell(data);
      if (!sent || data.id !== sent.id) return;
      const { resolve } = sent;
      sent = null;
      resolve(new Response(data.content, { status: data.status, headers: data.headers }));
      sendNext();
    };
    worker.onerror = (event) => {
      event.preventDefault();
      fail(new Error(`This browser does not run the worker (${event.message || "blocked"}).`));
    };
    worker.postMessage({ start }, transfer);
    return worker;
  };
  const sendNext = async () => {
    if (sent) return;
    let request = queue.shift();
    while (request?.signal?.aborted) request = queue.shift();
    if (!request) return;
    sent = request;
    const { id, message, transfer } = request;
    const worker = await begin();
    if (sent === request) worker.postMessage({ id, ...message }, transfer);
  };
  const begin = () => {
    current ||= start().catch((error) => {
      fail(error instanceof Error ? error : new Error(String(error)));
      throw error;
    });
    return current;
  };
  return {
    /** Start Python, if it is not running. */
    begin,
    /** Requests that wait for an answer. */
    waiting: () => queue.length + (sent ? 1 : 0),
    /**
     * @param {object} message
     * @param {{ signal?: AbortSignal, transfer?: Transferable[] }} [options]
     * @returns {Promise<Response>}
     */
    request: (message, { signal, transfer = [] } = {}) =>
      new Promise((resolve, reject) => {
        if (failure) return reject(failure);
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        queue.push({ id: ++last, message, signal, transfer, resolve, reject });
        sendNext().catch(() => null);
      }),
    /** End Python whatever it computes, and start it anew. @param {Error} reason */
    restart: async (reason) => {
      const ended = await current;
      ended?.terminate();
      current = null;
      const request = sent;
      sent = null;
      request?.reject(reason);
      await begin();
      sendNext().catch(() => null);
    },
  };
}

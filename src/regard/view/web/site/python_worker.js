// The page's side of the worker (worker.js): a queue of requests, one at a time, since Python has
// one thread there; a request that the page has given up before its turn is never sent.

/**
 * @param {() => Promise<{ worker: Worker, start: object, transfer: Transferable[] }>} create
 *     starts the worker's script; again, after one was ended
 * @param {(news: WorkerNews) => void} tell  what the worker says of its start
 */
export function pythonWorker(create, tell) {
  /** @type {Promise<Worker> | null} */
  let current = null;
  /** @type {WorkerRequest[]} */
  const queue = [];
  /** @type {{ resolve: (answer: Response) => void, reject: (reason: Error) => void } | null} */
  let sent = null;
  let working = false;

  const begin = () => {
    current ||= started().catch((error) => {
      tell({ failed: error.message });
      throw error;
    });
    return current;
  };
  const started = async () => {
    const { worker, start, transfer } = await create();
    return new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => {
        if (data.failed) reject(new Error(data.failed));
        else if (data.status)
          sent?.resolve(new Response(data.content, { status: data.status, headers: data.headers }));
        else tell(data);
        if (data.ready) resolve(worker);
      };
      worker.onerror = (event) => {
        event.preventDefault();
        const error = new Error(
          `This browser blocks the worker (${event.message || "no reason"}).`,
        );
        reject(error);
        sent?.reject(error);
      };
      worker.postMessage({ start }, transfer);
    });
  };
  /** @param {WorkerRequest} request @returns {Promise<Response>} */
  const answered = async ({ message, transfer, seconds }) => {
    const worker = await begin();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    let timer;
    const end = () => {
      worker.terminate();
      current = null;
      sent?.reject(new Error(`It was stopped after ${seconds} s.`));
      begin().catch(() => null); // it has been told
    };
    return new Promise((resolve, reject) => {
      sent = { resolve, reject };
      if (seconds) timer = setTimeout(end, 1000 * seconds);
      worker.postMessage(message, transfer);
    }).finally(() => {
      clearTimeout(timer);
      sent = null;
    });
  };
  const work = async () => {
    if (working) return;
    working = true;
    for (let request = queue.shift(); request; request = queue.shift())
      if (!request.signal?.aborted) await answered(request).then(request.resolve, request.reject);
    working = false;
  };
  return {
    /** Start Python, if it is not running. */
    begin,
    /**
     * @param {object} message
     * @param {{ signal?: AbortSignal, transfer?: Transferable[], seconds?: number }} [options]
     *     seconds: Python is ended, whatever it computes, and started again
     * @returns {Promise<Response>}
     */
    request: (message, { signal, transfer = [], seconds = 0 } = {}) =>
      new Promise((resolve, reject) => {
        signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
        queue.push({ message, signal, transfer, seconds, resolve, reject });
        work();
      }),
  };
}

// The service worker of a static site: it keeps every file of one version, so that the site works
// without a network from the second visit on. The builder fills in the version and the files of the
// page itself, which were fetched before this worker was in charge.

const CACHE_NAME = "regard VERSION";
const PAGE_FILES = ["PAGE_FILES"];
const scope = /** @type {any} */ (self);

addEventListener("install", (/** @type {any} */ event) => {
  event.waitUntil(
    (async () => {
      const cache = await caches.open(CACHE_NAME);
      await cache.addAll(PAGE_FILES).catch(reportFull);
      await scope.skipWaiting();
    })(),
  );
});

addEventListener("activate", (/** @type {any} */ event) => {
  event.waitUntil(
    (async () => {
      const names = (await caches.keys()).filter((name) => name.startsWith("regard "));
      for (const name of names) if (name !== CACHE_NAME) await caches.delete(name);
      await scope.clients.claim();
    })(),
  );
});

addEventListener("fetch", (/** @type {any} */ event) => {
  if (event.request.method === "GET" && event.request.url.startsWith(scope.registration.scope))
    event.respondWith(keptOrFetched(event));
});

/** @param {any} event */
async function keptOrFetched(event) {
  const address = event.request.url.split(/[?#]/)[0];
  const cache = await caches.open(CACHE_NAME).catch(() => null);
  const kept = await cache?.match(address);
  if (kept) return kept;
  const response = await fetch(event.request);
  if (cache && response.status === 200)
    event.waitUntil(cache.put(address, response.clone()).catch(reportFull));
  return response;
}

// No room, or not allowed: the page says that the next visit needs the network again.
async function reportFull() {
  for (const client of await scope.clients.matchAll({ includeUncontrolled: true }))
    client.postMessage({ notKept: true });
}

// The service worker of a static site: it keeps every file of one version, so that the site works
// without a network from the second visit on. The builder fills in the version and the files of the
// page itself, which were fetched before this worker was in charge. A new version waits until no
// page of the old one is open, so that no page gets files of both.

const VERSION = "VERSION"; // also the folder of its files
const PAGE_FILES = ["PAGE_FILES"];
const CACHE_NAME = `regard ${VERSION}`;
const scope = /** @type {any} */ (self);

addEventListener("install", (/** @type {any} */ event) => {
  event.waitUntil(
    (async () => {
      const cache = await caches.open(CACHE_NAME);
      await cache.addAll(PAGE_FILES).catch(reportFull);
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

// Whatever else is on the host, such as the documentation, is none of its business.
addEventListener("fetch", (/** @type {any} */ event) => {
  const [address] = event.request.url.split(/[?#]/);
  if (event.request.method !== "GET" || !address.startsWith(scope.registration.scope)) return;
  const name = address.slice(scope.registration.scope.length).replace(/^index\.html$/, "") || "./";
  if (PAGE_FILES.includes(name) || name.startsWith(`${VERSION}/`))
    event.respondWith(keptOrFetched(event, name));
});

/** @param {any} event @param {string} name */
async function keptOrFetched(event, name) {
  const cache = await caches.open(CACHE_NAME).catch(() => null);
  const kept = await cache?.match(name);
  if (kept) return kept;
  const response = await fetch(event.request);
  if (cache && response.status === 200)
    event.waitUntil(cache.put(name, response.clone()).catch(reportFull));
  return response;
}

// No room, or not allowed: the page says that the next visit needs the network again.
async function reportFull() {
  for (const client of await scope.clients.matchAll({ includeUncontrolled: true }))
    client.postMessage({ notKept: true });
}

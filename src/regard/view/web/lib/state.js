// The state of the page is its address: #read?sentence=I+am+good&part=encoder&layer=3&head=6
//
// state.view                    which view: read, steps, map, learn, training
// state.get(name, otherwise)    a value as text;  state.number(name, otherwise) as a number
// state.set({ layer: 3 })       changes the address in place; null takes a name out
// state.set({...}, true)        as a step that going back undoes
// state.go("steps", { layer: 3 })   another view (a step); what is not named stays
// state.follow(f)               f(changed) after every change within the view: the names of the
//                               fields that changed, as a Set; forgotten when the view changes
//
// Values that equal their default need not be in the address: set them to null.

/** @param {(state: State) => void} onView */
export function createState(onView) {
  /** @type {((changed: Set<string>) => void)[]} */
  let followers = [];
  /** @type {Map<string, string>} */
  let fields = new Map();
  /** @type {State} */
  const state = {
    view: "read",
    get: (name, otherwise = "") => fields.get(name) ?? otherwise,
    number(name, otherwise = 0) {
      const value = Number(fields.get(name));
      return fields.has(name) && Number.isFinite(value) ? value : otherwise;
    },
    set(changes, step = false) {
      change(state.view, changes, step);
    },
    go(view, changes = {}) {
      change(view, changes, true);
    },
    follow(listener) {
      followers.push(listener);
      return () => {
        followers = followers.filter((one) => one !== listener);
      };
    },
    address: () => written(state.view, fields),
    start,
  };

  /** @param {string} view @param {Fields} changes @param {boolean} step */
  function change(view, changes, step) {
    const before = new Map(fields);
    const isNew = view !== state.view;
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === undefined || value === "") fields.delete(name);
      else fields.set(name, String(value));
    }
    state.view = view;
    const changed = changedNames(before, fields);
    if (!isNew && !changed.size) return;
    remember(state.address(), step);
    notify(isNew, changed);
  }

  /** @param {boolean} isNew @param {Set<string>} changed */
  function notify(isNew, changed) {
    if (isNew) {
      followers = [];
      onView(state);
    } else for (const follower of followers) follower(changed);
  }

  function start() {
    const moved = () => {
      const parsed = readAddress(location.hash);
      if (written(parsed.view, parsed.fields) === state.address()) return;
      const isNew = parsed.view !== state.view;
      const changed = changedNames(fields, parsed.fields);
      state.view = parsed.view;
      fields = parsed.fields;
      notify(isNew, changed);
    };
    window.addEventListener("popstate", moved);
    window.addEventListener("hashchange", moved);
    const parsed = readAddress(location.hash);
    state.view = parsed.view;
    fields = parsed.fields;
    onView(state);
  }
  return state;
}

/** @param {Map<string, string>} before @param {Map<string, string>} after */
function changedNames(before, after) {
  const names = new Set([...before.keys(), ...after.keys()]);
  return new Set([...names].filter((name) => before.get(name) !== after.get(name)));
}

// Whether any of these fields is among those that changed.
/** @param {Set<string>} changed @param {string[]} names */
export function touches(changed, names) {
  return names.some((name) => changed.has(name));
}

/** @param {string} hash */
function readAddress(hash) {
  const [view, rest] = hash.replace(/^#/, "").split(/\?(.*)/s);
  return { view: view || "read", fields: new Map(new URLSearchParams(rest || "")) };
}

/** @param {string} view @param {Map<string, string>} fields */
function written(view, fields) {
  const query = new URLSearchParams([...fields]).toString();
  return `#${view}${query ? `?${query}` : ""}`;
}

// In a notebook's frame the address may not be ours to change: the state then lives in the page
// alone.
/** @param {string} address @param {boolean} step */
function remember(address, step) {
  try {
    if (step) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
  } catch {
    /* nothing to remember it in */
  }
}

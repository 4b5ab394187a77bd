// Copy link: the address of what is shown. The whole state is in its fragment, which a browser does
// not send: a host learns no sentence.

import { carriedField } from "./carried.js";
import { element, replace } from "./dom.js";

const SAID_MS = 2000;

// The public site's address where one is configured (source.page.address), else the one of this
// page.
/** @param {State} state @param {Source} source */
function sharedAddress(state, source) {
  const page = source.page.address || location.href.split(/[?#]/)[0];
  return `${page}${state.address()}`;
}

/** @param {State} state @param {Source} source */
export function copyLink(state, source) {
  const title = source.page.address
    ? "Copy the public address of what is shown"
    : "Copy the address of what is shown";
  const button = element("button.quiet", { title }, "Copy link");
  button.addEventListener("click", async () => {
    const seen = await carriedField(state, source);
    const address = sharedAddress(state, source) + (seen && `&seen=${seen}`);
    try {
      await navigator.clipboard.writeText(address);
      replace(button, "Copied");
      setTimeout(() => replace(button, "Copy link"), SAID_MS);
    } catch {
      prompt("The link of what is shown:", address); // the browser allows no clipboard here
    }
  });
  return button;
}

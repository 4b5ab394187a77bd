"""Helpers of bench_page: a server for the page, and timers inside the browser."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

# timed: from an event to the end of the frame that shows it, without the wait for that frame.
WATCH = """
window.timed = (act) => new Promise((resolve) => {
  let began = 0;
  requestAnimationFrame(() => { began = performance.now(); });
  const before = performance.now();
  act();
  const handled = performance.now() - before;
  requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => resolve(handled + performance.now() - began);
    channel.port2.postMessage(0);
  });
});
window.drawnAt = new Promise((resolve) => {
  const look = () => {
    const canvas = document.querySelector("CANVAS");
    const told = document.querySelector(".statement");
    if (canvas && canvas.width > 100 && told && told.textContent) {
      const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      if (data.some((value, at) => at % 4 === 3 && value)) { resolve(performance.now()); return; }
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});
"""


# The first scene is there when its line has a shape and the share stands over it.
FIRST_ARC = """
window.drawnAt = new Promise((resolve) => {
  const look = () => {
    const drawn = document.querySelector(".arcs .arc[d]") && document.querySelector(".arcs text");
    if (drawn) requestAnimationFrame(() => resolve(performance.now()));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
});
"""


def timed_change(page: Any, act: Callable[[], None]) -> float:
    """Milliseconds from a key press to a picture that differs from the previous one."""
    page.evaluate(
        """() => {
          const sign = () => [...document.querySelectorAll("[data-side=query]")].at(-2).textContent;
          const before = sign();
          window.changed = new Promise((resolve) => {
            addEventListener("keydown", () => {
              const start = performance.now();
              const look = () => (sign() === before ? requestAnimationFrame(look)
                : requestAnimationFrame(() => resolve(performance.now() - start)));
              look();
            }, { once: true, capture: true });
          });
        }"""
    )
    act()
    return float(page.evaluate("changed"))


def timed_patch(page: Any, act: Callable[[], None]) -> float:
    """Milliseconds from a key press to new numbers on the map.

    The status line is replaced when new numbers arrive, and they are drawn in that frame.
    """
    page.evaluate(
        """() => {
          const status = document.querySelector(".main p[role=status]");
          window.patched = new Promise((resolve) => {
            addEventListener("keydown", () => {
              const start = performance.now();
              new MutationObserver((_, watching) => {
                watching.disconnect();
                requestAnimationFrame(() => resolve(performance.now() - start));
              }).observe(status, { childList: true });
            }, { once: true, capture: true });
          });
        }"""
    )
    act()
    return float(page.evaluate("patched"))


@contextmanager
def served(*files: Path) -> Iterator[str]:
    """Address of regard's own server, with its token."""
    from regard.view.page.jobs import Context
    from regard.view.page.server import address, bind, make_server

    with bind() as bound:
        port = bound.getsockname()[1]
        context = Context(files=files)
        server = make_server(context, port)
        thread = Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        time.sleep(0.5)
        yield address(port, context.token)
        server.should_exit = True
        thread.join(timeout=10)

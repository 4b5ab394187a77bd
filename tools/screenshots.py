"""Write docs/screenshots/: each view of the explorer in three sizes, light and dark.

As a real browser shows them; read-light.png is 1400 wide, read-light-390.png a phone.

    python tools/screenshots.py [FOLDER]

Needs Chromium on PATH, Playwright and Pillow (pip install '.[test]').
"""

import io
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from explorer import explorer

FOLDER = Path(__file__).parents[1] / "docs" / "screenshots"
SIZES = {1400: 900, 1024: 800, 390: 844}  # of the window: a desk, a tablet, a phone
WIDEST = max(SIZES)
COLOURS = 200  # enough for one scale, one accent and soft edges
LARGEST, MOST = 130_000, 3_000_000  # bytes of a picture, and of all
SENTENCE = "A dog ate the food because it was hungry"
LONGER = (
    "When the old man came home in the evening, he put the bread and the cheese on the table, lit "
    "the lamp, and read the letter that his daughter had sent him from the city, because he "
    "wanted to know whether she would come back before the winter."
)
# The view, its state, what is waited for, and what the window is moved to.
VIEWS = {
    "read": ("read", {"sentence": SENTENCE}, ".statement:not(:empty)", "#top"),
    "steps": ("steps", {"sentence": SENTENCE}, ".path-map canvas", "#top"),
    "map": ("map", {"sentence": LONGER, "row": 46}, ".row-table", "#top"),
    "learn": ("learn", {"page": 8, "answer": 1}, ".verdict", "[data-scene='8']"),
}


def main() -> None:
    """Open each view in both lights and three sizes, and write what is seen."""
    from playwright.sync_api import sync_playwright

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    total = 0
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with explorer() as address, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for light in ("light", "dark"):
            for width, height in SIZES.items():
                window = {"width": width, "height": height}
                page = browser.new_context(viewport=window, color_scheme=light).new_page()
                for name in VIEWS:
                    show(page, address.partition("#")[0], name)
                    size = "" if width == WIDEST else f"-{width}"
                    total += write(page, folder / f"{name}-{light}{size}.png")
                page.close()
        browser.close()
    print(f"{total / 1e6:.2f} MB in all")
    if total > MOST:
        raise SystemExit(f"all pictures need at most {MOST:,} bytes, but they have {total:,}.")


def show(page: Any, address: str, name: str) -> None:
    """Open a view and wait until it stands still."""
    view, state, ready, top = VIEWS[name]
    page.goto(f"{address}#{view}?{urlencode(state)}")
    page.locator(ready).first.wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(2500)  # the translation comes after the first picture
    page.locator(top).first.evaluate("(node) => node.scrollIntoView()")


def write(page: Any, path: Path) -> int:
    """A screenshot in few colours, which a repository can afford; its size in bytes."""
    from PIL import Image

    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shot.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{path} needs at most {LARGEST:,} bytes, but it has {size:,}.")
    print(f"{path} {size / 1000:.0f} kB")
    return size


if __name__ == "__main__":
    main()

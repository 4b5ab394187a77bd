"""Write docs/screenshots/: each view of the explorer in three sizes, light and dark, and a film.

read-light.png is 1400 pixels wide, read-light-390.png is a phone; first-scene.webp is the first
scene as it moves; model-light.png is a model that stays loaded, the small one of the tests whose
heads are built by hand, with its induction head switched off.

    python tools/screenshots.py [FOLDER]

Needs Chromium on PATH, Playwright and Pillow (pip install 'regard[test]'), and for the last one
PyTorch and transformers (pip install 'regard[models]').
"""

import io
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from explorer import explorer

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "screenshots"
SIZES = {1400: 900, 1024: 800, 390: 844}  # width: height of the window; desktop, tablet, phone
WIDEST = max(SIZES)
FILM = {"width": 900, "height": 560}
FILM_FRAMES, FILM_FRAME_MS = 14, 60  # after each click
COLOURS = 200  # enough for one colour scale, one accent and antialiasing
LARGEST, MOST = 130_000, 2_500_000  # bytes: limit per picture, limit for all
LARGEST_FILM = 300_000
SENTENCE = "A dog ate the food because it was hungry"
LONGER = (
    "When the old man came home in the evening, he put the bread and the cheese on the table, lit "
    "the lamp, and read the letter that his daughter had sent him from the city, because he "
    "wanted to know whether she would come back before the winter."
)
# View, its state, the element to wait for, the element to scroll to.
View = tuple[str, dict[str, Any], str, str]
VIEWS: dict[str, View] = {
    "read": ("read", {"sentence": SENTENCE}, ".arcs text", "#top"),
    "why": ("read", {"sentence": SENTENCE, "why": "scores"}, ".bars text", "#top"),
    "steps": ("steps", {"sentence": SENTENCE}, ".path-map canvas", "#top"),
    "map": ("map", {"sentence": LONGER, "row": 46}, ".row-list li", "#top"),
    "learn": ("learn", {"page": 3, "answer": 1}, ".verdict", "#top"),
}
MODEL_TEXT = (
    "the lighthouse number is seven nine four . what a river sang to old hills while green boats "
    "slept in rain . the lighthouse number is"
)
MODEL_STATE = {"generate": 10, "part": "decoder", "layer": 1, "head": 0}
SWITCHED_OFF = {"changes": "ablate.decoder.1.0", "row": len(MODEL_TEXT.split()) - 1}
MODEL_VIEWS: dict[str, View] = {
    "model": ("map", MODEL_STATE | SWITCHED_OFF, ".odds-list.both", "#top")
}


def main() -> None:
    """Write a screenshot of each view, light and dark, in three sizes."""
    from playwright.sync_api import sync_playwright

    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    total = 0
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        with explorer() as address:
            total += write_views(browser, address, VIEWS, folder)
            total += write_film(browser, address, folder / "first-scene.webp")
        with tempfile.TemporaryDirectory() as place:
            save_planted_model(Path(place) / "planted")
            with explorer("--model", f"{place}/planted", MODEL_TEXT) as address:
                total += write_views(browser, address, MODEL_VIEWS, folder)
        browser.close()
    print(f"{total / 1e6:.2f} MB in all")
    if total > MOST:
        raise SystemExit(f"screenshots must total at most {MOST:,} bytes, got {total:,}")


def save_planted_model(folder: Path) -> None:
    """Save the model of the tests whose heads are built by hand."""
    sys.path.append(str(ROOT))
    from tests.helpers.planted_model import planted_model, planted_tokenizer

    for part in (planted_model(), planted_tokenizer()):
        part.save_pretrained(folder)


def write_views(browser: Any, address: str, views: dict[str, View], folder: Path) -> int:
    """Write these views, light and dark, in three sizes; return their bytes."""
    total = 0
    for light in ("light", "dark"):
        for width, height in SIZES.items():
            window = {"width": width, "height": height}
            page = browser.new_context(viewport=window, color_scheme=light).new_page()
            for name, view in views.items():
                show(page, address, view)
                size = "" if width == WIDEST else f"-{width}"
                total += write(page, folder / f"{name}-{light}{size}.png")
            page.close()
    return total


def show(page: Any, address: str, view: View) -> None:
    """Open a view and wait until it has settled."""
    name, state, ready, top = view
    page.goto(f"{address.partition('#')[0]}#{name}?{urlencode(state)}")
    page.locator(ready).first.wait_for()
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(2500)  # the translation arrives after the first picture
    page.locator(top).first.evaluate("(node) => node.scrollIntoView()")


def write_film(browser: Any, address: str, path: Path) -> int:
    """The line swings to the other noun and back, the French follows; return the film's bytes."""
    from PIL import Image

    page = browser.new_context(viewport=FILM).new_page()
    show(page, address, VIEWS["read"])
    frames, times = [], []
    for ending in ("delicious", "hungry"):
        page.get_by_role("button", name=ending).click()
        for _ in range(FILM_FRAMES):
            frames.append(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
            times.append(FILM_FRAME_MS)
        times[-1] = 1800  # long enough to read the French
    frames[0].save(
        path, save_all=True, append_images=frames[1:], duration=times, loop=0, quality=45
    )
    size = path.stat().st_size
    if size > LARGEST_FILM:
        raise SystemExit(f"{path} must have at most {LARGEST_FILM:,} bytes, got {size:,}")
    print(f"{path} {size / 1000:.0f} kB")
    return size


def write(page: Any, path: Path) -> int:
    """Write a screenshot with few colours, to keep the repository small; return its bytes."""
    from PIL import Image

    shot = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    shot.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)
    size = path.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{path} must have at most {LARGEST:,} bytes, got {size:,}")
    print(f"{path} {size / 1000:.0f} kB")
    return size


if __name__ == "__main__":
    main()

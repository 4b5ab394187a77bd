"""Write the table of docs/tasks.md: clicks and seconds of five tasks for a new user in a browser.

    python tools/tasks.py [--shots FOLDER]

Needs Chromium on PATH, Playwright, torch and transformers (pip install 'regard[test]').
Seconds run from the moment the page has loaded; a person also needs time to read.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorer import REGARD, explorer

DOCUMENT = Path(__file__).parents[1] / "docs" / "tasks.md"
SIZES = {"wide": {"width": 1400, "height": 900}, "phone": {"width": 390, "height": 844}}
TEXT = "a dog ate the food because it was hungry"
PATIENCE = 60_000  # milliseconds; long, since a busy machine is slow
QUESTIONS = ".questions button"

HEADER = """\
# Five tasks for a new user

Done in Chromium by `python tools/tasks.py`, which writes this page. Seconds run from the moment the
page has loaded until the result is visible in the window, without time for reading and thinking;
clicks and keys are the same in a window 1400 pixels wide and on a phone of 390.
"""
FOOTER = """\
`regard watch` of the small model (two layers of four heads) took {seconds:.0f} s before that. Measured on
{cores} cores ({machine}) with a load of {load:.0f}. A script did the tasks; no people were timed."""  # noqa: E501


@dataclass
class User:
    """A browser page, and the clicks, keys and seconds that a task took."""

    page: Any
    clicks: int = 0
    keys: int = 0
    taken: float = 0.0  # seconds

    def click(self, locator: Any) -> None:
        """Click an element."""
        locator.click()
        self.clicks += 1

    def press(self, *keys: str) -> None:
        """Press a combination such as Control+End, or type letters."""
        for key in keys:
            is_name = "+" in key
            (self.page.keyboard.press if is_name else self.page.keyboard.type)(key)
            self.keys += 1 if is_name else len(key)

    def button(self, text: str, within: str = "button") -> Any:
        """The first button with this text."""
        return self.page.locator(within, has_text=text).first

    def see(self, selector: str, text: str | None = None) -> None:
        """Wait until an element exists and is visible without scrolling."""
        shown = self.page.locator(selector, has_text=text).first
        shown.wait_for()
        self.page.wait_for_function(IN_SIGHT, arg=shown.element_handle())


IN_SIGHT = """node => {
  const { top, bottom } = node.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}"""


def why(user: User) -> None:
    """Open the sum behind the weight of 'it' on 'dog'."""
    user.see(".arcs text", "100 %")
    user.click(user.button("Why", QUESTIONS))
    user.see(".bars text")


def ending(user: User) -> None:
    """Choose the other ending: the line swings, and the French follows."""
    user.click(user.button("delicious", ".switch button"))
    user.see(".arcs text.two", "100 %")
    user.see(".french:not(.waiting)", "elle")


def previous(user: User) -> None:
    """Show a head that looks at the previous word."""
    user.page.mouse.move(9, 9)  # what a first visitor need not read comes with the pointer
    user.click(user.button("Other heads", ".head-said button"))
    user.click(user.page.locator(".ranked button", has_text="previous token").first)
    told = user.page.locator(".run-about", has_text="looks at the word before")
    told.wait_for()  # above, on a phone


def own_model(user: User) -> None:
    """Open a watched run and choose another head."""
    user.see(".run-title", "run.regard")
    user.click(user.page.get_by_role("button", name="layer 1, head 1"))
    user.page.locator(".run-about", has_text="Layer 1, head 1").wait_for()  # above, on a phone
    user.see(".heads-column [aria-current]", "1.1")


def figure(user: User) -> None:
    """Save the figure as PDF and as SVG."""
    user.click(user.page.locator(".export-menu summary"))
    for name, start in (("PDF", b"%PDF"), ("SVG", b"<svg")):
        with user.page.expect_download() as download:
            user.click(user.page.get_by_role("menuitem", name=name, exact=True))
        content = Path(download.value.path()).read_bytes()
        if not content.startswith(start):
            raise SystemExit(f"{name} must begin with {start!r}, got {content[:20]!r}")


@dataclass(frozen=True)
class Task:
    """A task: its goal, the steps in words, and the function that does them."""

    name: str
    wanted: str
    doing: str
    act: Callable[[User], None]
    of_file: bool = False


TASKS = (
    Task("why", "See why *it* looks at *dog*", "'Why …?'", why),
    Task(
        "ending", "Change the ending, see what changes",
        "*delicious* in the switch at the end of the sentence", ending,
    ),
    Task(
        "previous", "Find a head that looks at the previous word",
        "'Other heads', one named 'previous token'", previous,
    ),
    Task(
        "own", "Open my own model",
        "`regard watch FOLDER \"text\" --save run.regard`, `regard open run.regard`, a head",
        own_model, of_file=True,
    ),
    Task("figure", "Make a figure for a paper", "Save, PDF, SVG", figure),
)  # fmt: skip


def main() -> None:
    """Do every task in both window sizes and write the table."""
    from playwright.sync_api import sync_playwright

    shots = Path(sys.argv[2]) if sys.argv[1:2] == ["--shots"] else None
    path = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        saved, watched = watched_run(Path(folder))
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        rows = []
        for of_file in (False, True):
            with explorer(*([str(saved)] if of_file else [])) as address:
                for task in (task for task in TASKS if task.of_file == of_file):
                    users = {size: do(task, browser, address, size, shots) for size in SIZES}
                    rows.append((task, users))
        browser.close()
    rows.sort(key=lambda row: TASKS.index(row[0]))
    # From the first second-level heading on, the page is written by hand.
    _, heading, rest = DOCUMENT.read_text(encoding="utf-8").partition("## ")
    DOCUMENT.write_text(document(rows, watched) + heading + rest, encoding="utf-8")


def do(task: Task, browser: Any, address: str, size: str, shots: Path | None) -> User:
    """Do one task in a new window, timed from when its first picture is visible."""
    # A new user's page plays by itself once; a script's clicks would end that at once anyway.
    page = browser.new_context(viewport=SIZES[size], reduced_motion="reduce").new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    if task.of_file:
        page.locator(".view.map:not(.loading) .row-list li").first.wait_for()
    else:
        page.locator(".french:not(.waiting) .word").first.wait_for()
        page.locator(".arcs text").first.wait_for()
    user, began = User(page), time.perf_counter()
    task.act(user)
    user.taken = time.perf_counter() - began
    print(f"{task.name} {size}: {user.clicks} clicks, {user.keys} keys, {user.taken:.1f} s")
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
        page.wait_for_timeout(1000)  # smooth scrolling and animated lines settle
        page.screenshot(path=shots / f"{task.name}-{size}.png")
    page.context.close()
    return user


def watched_run(folder: Path) -> tuple[Path, float]:
    """Watch a small random Llama on the command line; return the file and the seconds."""
    import tokenizers
    import transformers

    words = ["<s>", *dict.fromkeys(TEXT.split())]
    plain = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: at for at, word in enumerate(words)}, "a")
    )
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=plain, bos_token=words[0])
    config = transformers.LlamaConfig(
        vocab_size=len(words), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
    )  # fmt: skip
    transformers.LlamaForCausalLM(config).save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    saved = folder / "run.regard"
    began = time.perf_counter()
    command = [*REGARD, "watch", str(folder / "model"), TEXT, "--save", str(saved)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return saved, time.perf_counter() - began


def document(rows: list[tuple[Task, dict[str, User]]], watched: float) -> str:
    """The generated part of the page."""
    lines = [
        HEADER,
        "| task | steps | clicks | keys | seconds, 1400 px | seconds, 390 px |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for task, users in rows:
        wide, phone = users["wide"], users["phone"]
        if (wide.clicks, wide.keys) != (phone.clicks, phone.keys):
            raise SystemExit(f"{task.name} takes different clicks on a phone; show both")
        figures = f"{wide.clicks} | {wide.keys} | {wide.taken:.1f} | {phone.taken:.1f}"
        lines.append(f"| {task.wanted} | {task.doing} | {figures} |")
    lines += [
        "",
        FOOTER.format(
            seconds=watched,
            cores=os.cpu_count(),
            machine=platform.machine(),
            load=os.getloadavg()[0],
        ),
        "",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()

"""A real browser for every test of the view: Chromium, regard's own server, and nothing else."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
QUIET = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update",
         "--disable-sync",
         "--process-per-site")  # fmt: skip
# Chromium starts three processes for each page: one to draw it, one in reserve and one for the list
# below its address bar. It takes the last list of features alone, so Playwright's are repeated.
FEATURES_OFF = (
    "SpareRendererForSitePerProcess", "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "AimEnabled", "AvoidCorsURLLoaderRestartOnRedirect", "AvoidUnnecessaryBeforeUnloadCheckSync",
    "DestroyProfileOnBrowserClose", "HttpsFirstBalancedModeAutoEnable", "HttpsUpgrades",
    "LensOverlay", "MediaRouter", "NetworkTimeServiceQuerying", "OptimizationHints", "PaintHolding",
    "PreconnectToSearch", "TcpPortRandomizationWin", "ThirdPartyStoragePartitioning",
)  # fmt: skip
INSIDE = ("data:", "blob:", "about:")
TOKEN = "a-token-of-the-tests"  # noqa: S105
ALMOST_NOTHING = '<!doctype html><link rel="icon" href="data:,">'  # else an icon is asked for
PATIENCE = 180_000  # milliseconds: a slow or busy machine is not a wrong page


@dataclass
class Noticed:
    """What a page must not do: ask anybody else for anything, or complain.

    A test that provokes a complaint says so: ``noticed.expect("413")``.
    """

    homes: list[str]
    outside: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    expected: list[str] = field(default_factory=list)

    def expect(self, *parts: str) -> None:
        """Complaints that hold one of these parts are meant."""
        self.expected += parts

    @contextmanager
    def watching(self, context: Any) -> Iterator[None]:
        """Note what the pages of a context do."""
        events = {"request": self.request, "console": self.console, "weberror": self.thrown}
        for event, note in events.items():
            context.on(event, note)
        yield
        for event, note in events.items():
            context.remove_listener(event, note)

    def thrown(self, error: Any) -> None:
        """Note an exception that no script caught."""
        self.errors.append(f"thrown: {error.error}")

    def request(self, request: Any) -> None:
        """Note a request to anywhere but the page's own server or its own file."""
        own = request.url.startswith((*self.homes, *INSIDE))
        opened = request.url.startswith("file:") and request.is_navigation_request()
        if not own and not opened:
            self.outside.append(f"{request.resource_type} {request.url}")

    def console(self, message: Any) -> None:
        """Note an error of the console; a policy that was broken is one too."""
        if message.type == "error":
            self.errors.append(f"error: {message.text}")

    def faults(self) -> list[str]:
        """What nobody expected."""
        return [
            fault
            for fault in (*(f"asked elsewhere: {url}" for url in self.outside), *self.errors)
            if not any(part in fault for part in self.expected)
        ]


@pytest.fixture(scope="session")
def browser_and_loop() -> Iterator[tuple[Any, Any]]:
    """Chromium, started once, and the event loop that Playwright keeps running beside the tests."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs Playwright: pip install '.[test]'"
    )
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip("needs Chromium on PATH: apt install chromium")
    with _no_loop(), playwright.sync_playwright() as driver:
        loop = asyncio._get_running_loop()
        arguments = [*QUIET, f"--disable-features={','.join(FEATURES_OFF)}"]
        browser = driver.chromium.launch(executable_path=path, args=arguments)
        # Other tests run in between; a loop left running in this thread would be in their way.
        asyncio._set_running_loop(None)
        yield browser, loop
        asyncio._set_running_loop(loop)
        browser.close()


@contextmanager
def _no_loop() -> Iterator[None]:
    try:
        yield
    finally:
        asyncio._set_running_loop(None)


@pytest.fixture
def browser(browser_and_loop: tuple[Any, Any]) -> Iterator[Any]:
    """The browser, with its loop running only as long as this test does."""
    chromium, loop = browser_and_loop
    asyncio._set_running_loop(loop)
    yield chromium
    asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """A function that starts regard's own server: its address.

    ``serve(path, ...)`` on .regard files or none; ``serve(model=transformer)`` in place of the
    shipped one; ``serve(trainings=(folder,))`` with the folder of a monitored training;
    ``serve(live=...)`` with a model that stays loaded.
    """
    with ExitStack() as stack:
        yield lambda *files, **options: stack.enter_context(_serving(files, **options))


@pytest.fixture(scope="session")
def served(serve: Callable[..., str]) -> str:
    """The address of a server without files, without a trailing slash."""
    return serve()


@contextmanager
def _serving(
    files: tuple[Path, ...], model: Any = None, trainings: tuple[Path, ...] = (), live: Any = None
) -> Iterator[str]:
    from regard.view.page.jobs import Context
    from regard.view.page.readings import Readings
    from regard.view.page.server import HOST, bind, make_server

    with bind() as bound:
        port = bound.getsockname()[1]
        sources = {"files": files, "trainings": trainings, "model": live}
        context = Context(readings=Readings(model), token=TOKEN, **sources)
        server = make_server(context, port)
        bound.listen(128)  # from here on a client waits until the server runs
        thread = Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        yield f"http://{HOST}:{port}"
        # All at once, whatever a page still waits for: how a server ends is what test_server tests.
        context.workers.close()
        server.should_exit = server.force_exit = True
        thread.join(timeout=5)  # its end is that of the tests in any case: the thread is a daemon


@pytest.fixture
def noticed(served: str) -> Iterator[Noticed]:
    """What the pages of this test did that they must not; the test fails on any of it."""
    found = Noticed([served])
    yield found
    assert found.faults() == []


def _context(browser: Any, served: str, **options: Any) -> Any:
    context = browser.new_context(base_url=served, reduced_motion="reduce", **options)
    context.set_extra_http_headers({"Authorization": f"Bearer {TOKEN}"})
    context.set_default_timeout(PATIENCE)
    return context


@pytest.fixture(scope="session")
def shared_context(browser_and_loop: tuple[Any, Any], served: str) -> Iterator[Any]:
    """A profile for pages that change nothing of it.

    One small page of it stays open: with it stays the process that draws all its pages, which
    takes a quarter less time for the next one than a process that was just started.
    """
    chromium, loop = browser_and_loop
    asyncio._set_running_loop(loop)
    context = _context(chromium, served)
    page = context.new_page()
    page.route("**/*", lambda route: route.fulfill(content_type="text/html", body=ALMOST_NOTHING))
    page.goto("/")
    asyncio._set_running_loop(None)
    yield context
    asyncio._set_running_loop(loop)
    context.close()
    asyncio._set_running_loop(None)


@pytest.fixture
def new_page(
    browser: Any, served: str, shared_context: Any, noticed: Noticed
) -> Iterator[Callable[..., Any]]:
    """A function that opens a watched page: ``new_page(width=390, dark=True)``.

    With an option of a profile, such as ``has_touch=True`` or ``offline=True``, or else
    ``alone=True``, the page has a profile of its own. Addresses are relative to the server:
    ``page.goto("/#read")``. Another server's address has to be made known first:
    ``noticed.homes.append(serve(path))``.
    """
    with ExitStack() as stack:
        stack.callback(_clean, shared_context)
        stack.enter_context(noticed.watching(shared_context))

        def open_page(
            width: int = 1280, height: int = 800, dark: bool = False, alone: bool = False,
            **options: Any,
        ) -> Any:  # fmt: skip
            context = shared_context
            if alone or options:
                context = _context(browser, served, **options)
                stack.callback(context.close)
                stack.enter_context(noticed.watching(context))
            page = context.new_page()
            stack.callback(page.close)
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme="dark" if dark else "light")
            return page

        yield open_page


def _clean(context: Any) -> None:
    """Leave nothing of a test to the next one."""
    context.clear_cookies()
    context.pages[0].evaluate("localStorage.clear()")


@pytest.fixture
def page(new_page: Callable[..., Any]) -> Any:
    """One page, 1280 wide, light."""
    return new_page()


def _wait_for_frame(page: Any) -> None:
    """Wait until the page draws its next frame; one that is being replaced has none."""
    from playwright.sync_api import Error

    with suppress(Error):
        page.evaluate("() => new Promise(requestAnimationFrame)")


@pytest.fixture
def until() -> Callable[..., None]:
    """Wait until an expression holds; Playwright's own way is what the page's policy forbids.

    A function is called here, any other expression in the page.
    """

    def wait(page: Any, expression: str | Callable[[], Any], argument: Any = None) -> None:
        end = monotonic() + PATIENCE / 1000
        while not (expression() if callable(expression) else page.evaluate(expression, argument)):
            assert monotonic() < end, f"it never came true: {expression}"
            _wait_for_frame(page)

    return wait


@pytest.fixture
def sideways() -> Callable[[Any], int]:
    """How many pixels a page is wider than its window; 0 is what a phone needs."""
    return lambda page: page.evaluate(
        "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


@pytest.fixture
def offline_page(tmp_path: Path, new_page: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes HTML to disk and opens it from there, with the network off."""

    def open_html(html: str, **options: Any) -> Any:
        path = tmp_path / "page.html"
        path.write_text(html, encoding="utf-8")
        page = new_page(offline=True, **options)
        page.goto(path.as_uri())
        return page

    return open_html


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[Any], dict[str, bytes]]:
    """Everything that a page's Save menu offers: file name -> content."""

    def save_all(page: Any) -> dict[str, bytes]:
        page.click(".export-menu summary")
        entries = page.locator(".export-list button")
        entries.first.wait_for()  # the menu fills when it opens, a moment after the click
        found = {}
        for entry in entries.all():
            with page.expect_download() as download:
                entry.click()
            path = tmp_path / "saved"
            download.value.save_as(path)
            found[download.value.suggested_filename] = path.read_bytes()
        page.locator(".export-box", has_text="Saved as").wait_for()
        return found

    return save_all

"""A site, built once; tests of it are skipped, with the reason, where a part is missing."""

import os
import shutil
from pathlib import Path

import pytest
from tests.helpers.static_host import serving

from regard.errors import FileError

LIMIT_MS = 180_000  # a loaded machine; a quiet one needs seconds


@pytest.fixture(scope="session")
def wheels():
    folder = os.environ.get("REGARD_SITE_WHEELS")
    return Path(folder) if folder else None


@pytest.fixture(scope="session")
def site(tmp_path_factory, wheels):
    from regard.view.site.build import build_site

    folder = tmp_path_factory.mktemp("site") / "public"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "index.html").write_text("<!doctype html><title>Documentation</title>")
    try:
        return build_site(folder, wheels=wheels)
    except FileError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def one_file(tmp_path_factory, site, wheels):
    from regard.view.site.build import build_file

    return build_file(tmp_path_factory.mktemp("file") / "explorer.html", wheels=wheels).path


@pytest.fixture
def host(site):
    with serving(site.path) as made:
        yield made


@pytest.fixture(scope="session")
def chromium():
    """Headless Chromium."""
    playwright = pytest.importorskip("playwright.sync_api", reason="it drives Chromium")
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium here")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """A function that opens a page in a context of the browser, which it makes if none is given."""
    opened = []

    def open_page(address, context=None, script=None, **options):
        context = context or chromium.new_context(
            **{"viewport": {"width": 1400, "height": 900}, "accept_downloads": True, **options}
        )
        opened.append(context)
        if script:
            context.add_init_script(script)
        page = context.new_page()
        page.set_default_timeout(LIMIT_MS)
        page.problems, page.addresses = [], []
        page.on("request", lambda request: page.addresses.append(request.url))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on(
            "console",
            lambda message: (
                page.problems.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.goto(address, wait_until="commit")
        return page

    yield open_page
    for context in dict.fromkeys(opened):
        context.close()

"""The token of the address in a real browser: exchanged for a cookie, gone from the address."""

import pytest

from regard.view.page.access import launch_page

TOKEN = "a-token-of-the-tests"  # noqa: S105


@pytest.fixture
def stranger(browser, served, noticed):
    """A page of a browser that knows no token."""
    context = browser.new_context(base_url=served)
    yield context.new_page()
    context.close()


def test_the_token_becomes_a_cookie_and_leaves_the_address(stranger, served):
    stranger.goto(f"/?token={TOKEN}#steps?from=robots")
    stranger.wait_for_selector(".why .line")
    assert stranger.url == f"{served}/#steps?from=robots"
    (cookie,) = stranger.context.cookies()
    assert cookie["name"] == f"regard-{served.rpartition(':')[2]}"
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert stranger.evaluate("document.cookie") == ""
    stranger.reload()
    stranger.wait_for_selector(".why .line")


@pytest.mark.parametrize("name", ["__proto__", "constructor", "toString", "nowhere"])
def test_an_address_that_names_no_view_is_the_read_view(stranger, name):
    stranger.goto(f"/?token={TOKEN}#{name}")
    stranger.wait_for_selector(".arcs text")
    assert stranger.title() == "Look · regard"


def test_a_busy_server_is_asked_again(stranger):
    """The first two answers of each kind are 503."""
    asked = []

    def busy(route):
        asked.append(route.request.url)
        if asked.count(route.request.url) <= 2:
            route.fulfill(status=503, json={"error": "The page is busy."})
        else:
            route.continue_()

    stranger.route("**/api/*", busy)
    stranger.goto(f"/?token={TOKEN}#steps?from=robots")
    stranger.wait_for_selector(".why .line")
    assert len(asked) == 3 * len(set(asked))


def test_without_the_token_a_sentence_is_all_there_is(stranger):
    answer = stranger.goto("/#steps?from=robots")
    assert answer.status == 403
    assert "open the address that `regard open` printed" in stranger.content()


def test_the_browser_is_started_with_a_private_file(stranger, served, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    with launch_page(f"{served}/?token={TOKEN}#steps?from=robots") as url:
        (path,) = tmp_path.iterdir()
        assert url == path.as_uri()
        assert path.stat().st_mode & 0o777 == 0o600
        stranger.goto(url)
        stranger.wait_for_selector(".why .line")
        assert stranger.url == f"{served}/#steps?from=robots"
    assert list(tmp_path.iterdir()) == []

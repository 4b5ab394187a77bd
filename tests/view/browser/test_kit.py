"""The kit itself: what a page must not do is noticed."""

import asyncio

import pytest


async def _one() -> int:
    await asyncio.sleep(0)
    return 1


@pytest.mark.parametrize("time", [1, 2])
def test_other_tests_may_run_loops_of_their_own(browser_and_loop, time):
    """Playwright's loop is out of the way outside a test with a page, before and after one."""
    assert asyncio.run(_one()) == 1


def test_a_page_opens(offline_page):
    page = offline_page("<title>here</title><p>ßÄ")
    assert page.title() == "here"
    assert page.locator("p").inner_text() == "ßÄ"


def test_the_loop_is_free_after_a_page():
    assert asyncio.run(_one()) == 1


@pytest.mark.parametrize(
    ("html", "fault"),
    [
        ("<img src='http://example.invalid/a.png'>", "asked elsewhere: image http://example"),
        ("<link rel=stylesheet href='https://example.invalid/a.css'>", "asked elsewhere: styles"),
        ("<img src='other.png'>", "asked elsewhere: image file:"),
        ("<script>throw new Error('oh')</script>", "thrown: oh"),
        ("<script>console.error('bad')</script>", "error: bad"),
    ],
    ids=["outside", "style", "another file", "thrown", "console"],
)
def test_what_must_not_happen_is_noticed(offline_page, noticed, until, html, fault):
    page = offline_page(html)
    until(page, lambda: any(found.startswith(fault) for found in noticed.faults()))
    noticed.expect("asked elsewhere", "ERR_", "oh", "bad")

"""A built site in Firefox: a typed sentence, an experiment, no network, and the one file."""

import pytest
from tests.helpers.firefox import Firefox, is_installed

pytestmark = pytest.mark.site
READY = "return document.documentElement.dataset.python === 'ready'"
SHOWS = "return document.body.textContent.includes(arguments[0])"
TYPE = """
const box = document.querySelector("textarea");
box.value = arguments[0];
box.dispatchEvent(new Event("input", { bubbles: true }));
"""


@pytest.fixture
def firefox(tmp_path):
    if not is_installed():
        pytest.skip("no Firefox here")
    browser = Firefox(tmp_path)
    yield browser
    browser.close()


def use(firefox, address):
    """Type a sentence, then make an experiment."""
    firefox.wait(SHOWS, "Un chien")
    firefox.wait(READY)
    firefox.run(TYPE, "The cat sat on the mat because it was warm.")
    firefox.wait(SHOWS, "Le chat")
    firefox.visit(f"{address}#read?changes=redirect.6.4.encoder.5.6")
    firefox.wait(SHOWS, "qu'elle avait faim")


def test_a_folder_and_again_without_a_network(firefox, host):
    firefox.visit(host.address)
    use(firefox, host.address)
    host.stop()
    firefox.visit("about:blank")
    firefox.visit(host.address)
    use(firefox, host.address)


def test_one_file(firefox, one_file):
    firefox.visit(one_file.as_uri())
    use(firefox, one_file.as_uri())
    firefox.run("location.hash = '#check'")
    firefox.wait("return document.querySelector('.check-buttons button') !== null")
    firefox.run("document.querySelector('.check-buttons button').click()")
    firefox.wait(SHOWS, "no scaling")

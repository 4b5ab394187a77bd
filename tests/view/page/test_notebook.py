"""Widget of a result: the page as a trait, the selection back in Python, and its absence said."""

import sys

import numpy as np
import pytest

import regard
from regard.errors import ArgumentError, BackendError
from regard.view.page.notebook import HtmlOutput


@pytest.fixture
def steps():
    return regard.self_attention(*[np.eye(2)] * 4, words=["a", "b"])


def test_without_anywidget_the_way_out_is_said(steps, monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(BackendError) as caught:
        steps.widget()
    assert str(caught.value) == (
        "a widget needs anywidget, which is not installed: pip install 'regard[notebook]'. Without "
        "it the result shows the same page, but no selection comes back to Python."
    )


def test_the_real_package_carries_page_and_selection(steps, monkeypatch):
    pytest.importorskip("anywidget", reason="needs anywidget: pip install '.[notebook]'")
    shown = steps.widget()
    assert "DecompressionStream" in shown.page
    assert "export default" in shown._esm
    assert shown.title == "Steps of regard"
    heard = []
    shown.observe(lambda change: heard.append(change.new), names="selection")
    shown.set_state({"selection": {"part": "encoder", "layer": 1, "queries": [3]}})
    assert heard == [shown.selection] == [{"part": "encoder", "layer": 1, "queries": [3]}]
    monkeypatch.setattr("regard.view.page.notebook.MAX_OUTPUT_CHARACTERS", 10)
    with pytest.raises(ArgumentError, match="a widget's page must have at most 10 characters, got"):
        steps.widget()


def test_marimo_shows_the_widget(steps, monkeypatch):
    pytest.importorskip("anywidget", reason="needs anywidget: pip install '.[notebook]'")
    assert steps._display_().title == "Steps of regard"
    monkeypatch.setattr("regard.view.page.notebook.MAX_OUTPUT_CHARACTERS", 10)
    assert isinstance(steps._display_(), HtmlOutput)  # a page that is too large for a widget


def test_marimo_without_anywidget_has_the_frame_without_a_script(steps, monkeypatch):
    """marimo shuts HTML with a script in a frame of 400 pixels."""
    monkeypatch.setitem(sys.modules, "anywidget", None)
    kind, html = steps._display_()._mime_()
    assert kind == "text/html"
    assert "<iframe data-regard" in html
    assert "<script" not in html

"""Every row of the table of renderers names a type and a function that exist."""

from importlib import import_module

import pytest

from regard.display import render
from regard.view import RENDERERS

FORMS = {"text", "html", "marimo", "widget", "picture", "worksheet", "page", "svg", "image"}


@pytest.mark.parametrize("name", RENDERERS)
def test_type_exists(name):
    module, _, kind = name.rpartition(".")
    found = getattr(import_module(module), kind)
    assert isinstance(found, type)
    # The lookup goes by this name, so one that was only imported there would never be found.
    assert f"{found.__module__}.{found.__qualname__}" == name


@pytest.mark.parametrize(
    ("form", "target"), [row for forms in RENDERERS.values() for row in forms.items()]
)
def test_renderer_exists(form, target):
    module, _, function = target.partition(":")
    found = getattr(import_module(module), function)
    assert form in FORMS
    assert callable(found)
    assert found.__module__ == module


def test_a_type_without_a_renderer():
    with pytest.raises(TypeError) as error:
        render("picture", 3)
    assert str(error.value) == "regard.view has no 'picture' renderer for int"

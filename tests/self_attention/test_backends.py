"""Backends: who can serve, and why another cannot."""

import numpy as np

from regard.self_attention.backends import BACKENDS, Backend, usable_backends


def test_numpy_serves():
    assert [backend.name for backend in usable_backends()] == ["numpy"]


def test_an_old_numpy_is_a_reason(monkeypatch):
    monkeypatch.delattr(np, "vecdot")
    monkeypatch.setattr(np, "__version__", "1.26.4")
    assert BACKENDS[0].reasons_against() == [
        "it needs numpy 2.0 or later, but numpy is 1.26.4: pip install -U numpy"
    ]
    assert usable_backends() == ()


def test_info_prints_every_reason():
    from regard.cli.info import _say_backend

    absent = Backend("triton", "on a GPU", lambda: ["no GPU was found", "triton is not installed"])
    said = _say_backend({"about": absent.about, "against": absent.reasons_against()})
    assert said == "cannot serve: no GPU was found; triton is not installed"

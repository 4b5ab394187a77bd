"""Backends that can serve, and the reasons against the others."""

import sys

import numpy as np

from regard.engine import tensors
from regard.engine.tensors import BACKENDS, Backend


def test_numpy_serves_and_comes_first():
    assert BACKENDS[0].reasons_against() == []
    assert [backend.name for backend in BACKENDS] == ["numpy", "torch", "triton"]


def test_an_old_numpy_is_a_reason(monkeypatch):
    monkeypatch.delattr(np, "vecdot")
    monkeypatch.setattr(np, "__version__", "1.26.4")
    assert BACKENDS[0].reasons_against() == [
        "numpy must be 2.0 or later, got 1.26.4: pip install -U numpy"
    ]


def test_what_is_not_installed_is_a_reason(monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(tensors, "NVIDIA_DEVICE", tmp_path / "nvidia")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert BACKENDS[1].reasons_against() == ["torch is not installed: pip install 'regard[models]'"]
    assert BACKENDS[2].reasons_against() == [
        "torch is not installed: pip install 'regard[models]'",
        "triton is not installed: pip install triton",
        "there is no NVIDIA GPU here",
    ]


def test_an_old_triton_is_a_reason(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    monkeypatch.setattr("importlib.metadata.version", lambda name: "3.2.0")
    assert tensors.reasons_against_triton() == [
        "triton must be 3.3 or later, got 3.2.0: pip install -U triton"
    ]
    monkeypatch.setattr("importlib.metadata.version", lambda name: "3.10.0+git1")
    assert tensors.reasons_against_triton() == []


def test_info_prints_every_reason():
    from regard.cli.info import _describe_backend

    absent = Backend("triton", "on a GPU", lambda: ["no GPU was found", "triton is not installed"])
    text = _describe_backend({"about": absent.about, "against": absent.reasons_against()})
    assert text == "unavailable: no GPU was found; triton is not installed"

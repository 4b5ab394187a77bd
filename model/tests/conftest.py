"""The small untrained model of the transformer's tests, to judge; threads as in all tests."""

from tests.transformer.conftest import folder, model, one_torch, tokens_path

import tests.conftest

__all__ = ["folder", "model", "one_torch", "tests", "tokens_path"]

"""The small untrained model of the transformer's tests, to judge."""

from tests.transformer.conftest import folder, model, one_torch, tokens_path

__all__ = ["folder", "model", "one_torch", "tokens_path"]

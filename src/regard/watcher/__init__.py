"""Attention of any Hugging Face model, recorded while the model runs unchanged."""

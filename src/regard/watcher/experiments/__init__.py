"""Experiments on a watched model: attention changed, the model run again."""

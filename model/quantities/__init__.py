"""Generated sentences with numbers, which teach the model to copy digits."""

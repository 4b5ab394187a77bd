"""Text to tokens and words."""

"""Someone else's attention, diagnosed: code, and numbers worked by hand."""

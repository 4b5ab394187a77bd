"""Generated sentence pairs that mark which noun a pronoun stands for."""

"""The judge of a model's pronoun head, and the measures of all heads."""

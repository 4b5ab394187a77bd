"""English and French forms of nouns, adjectives and verbs."""

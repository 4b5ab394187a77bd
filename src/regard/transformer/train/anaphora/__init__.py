"""Generator of English-French text that asks what a pronoun stands for."""

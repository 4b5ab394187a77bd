"""TEXT -> TOKENS -> WORDS."""

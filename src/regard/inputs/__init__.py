"""TEXT -> TOKENS -> VECTORS: what a sentence is before attention sees it."""

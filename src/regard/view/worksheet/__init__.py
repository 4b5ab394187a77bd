"""Self-attention on paper: a worksheet with blanks, and a key whose numbers follow from it."""

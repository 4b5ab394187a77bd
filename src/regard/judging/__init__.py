"""Is the attention of a running program right? Rows are redone in float64."""

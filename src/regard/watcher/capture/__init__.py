"""Recording: every attention of a running program, taken down as observations."""

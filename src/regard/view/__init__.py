"""Anything above -> something to look at."""

"""Whole corpora: every head of a model described over as many documents as there are."""

"""Watching a training: exact measures of every head, alerts, and where they are written."""

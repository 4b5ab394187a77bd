"""Figures: lines between words or a heatmap, as SVG, PNG and PDF, with provenance."""

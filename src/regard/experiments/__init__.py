"""INTERVENTIONS: a run repeated with one thing changed, and why a score is what it is."""

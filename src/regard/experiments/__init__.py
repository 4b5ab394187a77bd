"""Experiments: a run repeated with one thing changed, and why a score is what it is.

One set of changes, results and mathematics for every kind of model. What a kind of model has to
offer is ``experiment.ModelAdapter``; ``transformer.experiment`` implements it for the shipped model
and ``watcher.experiments`` for watched torch models.
"""

"""VECTORS -> QUERY, KEY, VALUE -> SCORES -> WEIGHTS -> OUTPUT.

``steps`` is the textbook and the specification; ``stream`` and ``observe`` are the same mathematics
at any length; ``why`` and ``reading`` explain single numbers of the steps.
"""

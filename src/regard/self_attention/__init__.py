"""VECTORS -> QUERY, KEY, VALUE -> SCORES -> WEIGHTS -> OUTPUT.

``steps`` is the textbook and the specification; ``stream`` and ``observe`` are the same mathematics
at any length; ``explain`` says where single numbers of the steps come from.
"""

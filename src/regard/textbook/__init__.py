"""VECTORS -> QUERY, KEY, VALUE -> SCORES -> WEIGHTS -> OUTPUT, every number kept and explained.

The specification.
"""

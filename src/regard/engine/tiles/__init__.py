"""The engine: arguments checked, work planned, tiles computed on all cores."""

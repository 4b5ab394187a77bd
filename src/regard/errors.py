"""What can go wrong for a reader, said in one sentence: what was needed, what came, what next."""


class RegardError(Exception):
    """Any error that regard raises on purpose."""


class ShapeError(RegardError, ValueError):
    """An array does not have the axes it needs."""


class ArgumentError(RegardError, ValueError):
    """An argument's value cannot be used."""


class NotAskedError(RegardError, AttributeError):
    """A fact was not asked for when the observation was made."""


class FileError(RegardError, ValueError):
    """A file cannot be read as what it should be."""


class BackendError(RegardError, RuntimeError):
    """No backend can serve this call."""


class RankError(RegardError, RuntimeError):
    """A rank that others wait for is gone, late or has failed."""

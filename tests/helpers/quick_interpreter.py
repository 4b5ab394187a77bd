"""Triton's interpreter without work that it does again and again: the same results, sooner.

It looks through the whole language at every call of a function inside a kernel, and combines the
elements of an exclusive or, of which its sort is made, one by one in Python.
"""

import inspect
from functools import lru_cache
from typing import Any

import numpy as np

INSIDES = ("_patch_lang", "_LangPatchScope", "_get_np_dtype", "ReduceOps", "tl")


def install() -> None:
    """Have the interpreter skip what is done already.

    A second call changes nothing, nor does one with a Triton of other insides.
    """
    from triton.runtime import interpreter

    if not all(hasattr(interpreter, name) for name in INSIDES):
        return
    own = interpreter._patch_lang, interpreter._get_np_dtype
    if own[0].__module__ == __name__:
        return
    interpreter._patch_lang = _patch_once(interpreter, own[0])
    interpreter._get_np_dtype = _remembered(interpreter, own[1])
    interpreter.ReduceOps.generic_reduce = _reduce_at_once(
        interpreter, interpreter.ReduceOps.generic_reduce
    )


def _patch_once(interpreter: Any, own: Any) -> Any:
    """Inside a launch the language is the interpreter's already: nothing has to be put in place."""
    language = interpreter.tl

    def is_patched(module: Any) -> bool:
        builtins = [module.arange, module.tensor.sum, module.tensor.__add__, module.dot]
        if module is language:
            builtins.append(module.math.exp)
        return module.static_range.__module__ == interpreter.__name__ and not any(
            map(language.core.is_builtin, builtins)
        )

    def patch(fn: Any) -> Any:
        modules = [x for x in fn.__globals__.values() if inspect.ismodule(x)]
        modules = [x for x in modules if x in (language, language.core)]
        if modules and all(map(is_patched, modules)):
            return interpreter._LangPatchScope()
        return own(fn)

    return patch


def _remembered(interpreter: Any, own: Any) -> Any:
    remembered = lru_cache(maxsize=64)(own)
    scalar = interpreter.tl.dtype
    return lambda dtype: remembered(dtype) if type(dtype) is scalar else own(dtype)


def _reduce_at_once(interpreter: Any, own: Any) -> Any:
    """The exclusive or of one array along one axis, by NumPy."""

    def reduce(self: Any, given: Any) -> Any:
        arrays = given if isinstance(given, tuple) else (given,)
        is_xor = self.combine_fn is interpreter.tl.standard._xor_combine
        if not is_xor or len(arrays) != 1 or self.axis is None:
            return own(self, given)
        (array,) = arrays
        data = np.bitwise_xor.reduce(array.handle.data, axis=self.axis, keepdims=self.keep_dims)
        return [self.to_tensor(data, array.dtype)]

    return reduce

"""Functions whose calls are awaited, functions that yield, and plain ones: which is which."""

import asyncio
import inspect
import sys
from collections.abc import Callable
from functools import partial
from typing import Any


def is_kind(function: object, *kinds: Callable[[object], bool]) -> bool:
    """Whether one of these tests of `inspect` holds for a function, or an object that is called."""
    while isinstance(function, partial):
        function = function.func
    call_method = getattr(type(function), "__call__", None)  # noqa: B004
    return any(kind(function) or kind(call_method) for kind in kinds)


def is_async(function: object) -> bool:
    """Whether its calls are to be awaited."""
    return is_kind(function, inspect.iscoroutinefunction, has_coroutine_mark)


def yields(function: object) -> bool:
    """Whether its calls are generators, asynchronous ones included."""
    return is_kind(function, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


# That of functions compiled by Cython, and before Python 3.12 the only one.
COROUTINE_MARK = getattr(asyncio.coroutines, "_is_coroutine", object())


def has_coroutine_mark(function: object) -> bool:
    return getattr(function, "_is_coroutine", None) is COROUTINE_MARK


def declare_coroutine_function(function: Any) -> None:
    """Have decorators that take coroutine functions, for retries or caches, await its calls."""
    if sys.version_info >= (3, 12):
        inspect.markcoroutinefunction(function)
    else:
        function._is_coroutine = COROUTINE_MARK


def takes_key(function: Callable[..., Any]) -> bool:
    """Whether it has a keyword-only parameter `key`, for what its items have in common."""
    try:
        parameter = inspect.signature(function).parameters.get("key")
    except (TypeError, ValueError):
        return False
    return parameter is not None and parameter.kind is parameter.KEYWORD_ONLY

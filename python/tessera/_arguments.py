"""Arguments by their names: numbers, flags and words, refused with the name and what was given instead."""

from __future__ import annotations

import functools
import inspect
import math
import numbers
import operator
import os
import reprlib
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar, cast

import numpy as np

from . import _core
from .errors import InvalidArgument, OptionError

# Names that other libraries, or other functions here, have for what a function takes.
_SYNONYMS = {"M": ("precond",), "precond": ("M",), "preconditioner": ("precond", "M"), "alpha": ("damping",),
             "max_iter": ("maxiter",), "max_iterations": ("maxiter",), "max_time": ("time_limit",)}


def kind_of(value: object) -> str:
    """The type of `value` with the package that it comes from, for messages."""
    module, name = type(value).__module__.split(".")[0], type(value).__qualname__
    return name if module in ("builtins", "__main__") else f"{module}.{name}"


def shown(value: object) -> str:
    """The type of `value`, and the value itself where it is short."""
    words = reprlib.repr(value) if isinstance(value, (numbers.Number, str, list, tuple, dict)) else ""
    words = words.replace("'", '"') if isinstance(value, str) else words
    return "None" if value is None else f"{kind_of(value)} {words}" if 0 < len(words) <= 40 else kind_of(value)


def hint(word: str, words: Collection[str]) -> str:
    """The end of a message: the nearest of `words`, if one is near."""
    near = next((each for each in _SYNONYMS.get(word, ()) if each in words), "") or _core.nearest_name(word, list(words))
    return f"; did you mean {near}?" if near else ""


def require_word(name: str, word: object, words: Collection[str]) -> None:
    """Refuses what is none of `words`."""
    if not isinstance(word, str):
        raise OptionError(f"{name}: expected one of {', '.join(words)}, got {shown(word)}")
    if word not in words:
        raise InvalidArgument(f'{name} "{word}" is none of {", ".join(words)}{hint(word, words)}')


_NO_NUMBERS = (bool, str, bytes, np.bool_, np.complexfloating)


def number(name: str, value: Any, least: float = -math.inf) -> float:
    """`value` as a float that is not below `least`."""
    try:
        result = None if isinstance(value, _NO_NUMBERS) else float(value)
    except (TypeError, ValueError):
        result = None
    if result is None:
        raise OptionError(f"{name}: expected a number, got {shown(value)}")
    if not result >= least:
        raise InvalidArgument(f"{name}: expected a number >= {least:g}, got {result:g}")
    return result


def count(name: str, value: Any, least: int = 0) -> int:
    """`value` as an int that is not below `least`; 1e3 is one."""
    is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    try:
        result = None if isinstance(value, _NO_NUMBERS) else int(value) if is_whole else operator.index(value)
    except TypeError:
        result = None
    if result is None:
        raise OptionError(f"{name}: expected a whole number, got {shown(value)}")
    if not least <= result < 2**63:
        raise InvalidArgument(f"{name}: expected a whole number in [{least}, 2^63), got {result}")
    return result


def flag(name: str, value: object) -> bool:
    """`value` as a bool."""
    if not isinstance(value, (bool, np.bool_)):
        raise OptionError(f"{name}: expected True or False, got {shown(value)}")
    return bool(value)


def text(name: str, value: object) -> str:
    """`value`, a str."""
    if not isinstance(value, str):
        raise OptionError(f"{name}: expected a word, got {shown(value)}")
    return value


def path(name: str, value: Any) -> str:
    """`value`, a path, as a str."""
    try:
        return str(os.fspath(value))
    except TypeError:
        raise OptionError(f"{name}: expected a path, got {shown(value)}") from None


def function(name: str, value: Any) -> Any:
    """`value`, a function or None."""
    if value is not None and not callable(value):
        raise OptionError(f"{name}: expected a function, got {shown(value)}")
    return value


_Call = TypeVar("_Call", bound=Callable[..., Any])


def _unexpected(name: str, words: Collection[str]) -> OptionError:
    return OptionError(f'unexpected keyword argument "{name}"{hint(name, words)}')


def by_name(call: _Call) -> _Call:
    """`call`, which refuses a keyword that it does not take with the nearest that it does."""
    words = inspect.signature(call).parameters

    @functools.wraps(call)
    def checked(*args: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in words:
                raise _unexpected(name, words)
        return call(*args, **keywords)

    return cast(_Call, checked)


def assign(options: object, kinds: Mapping[str, Callable[[str, Any], Any]], given: Mapping[str, Any],
           known: Collection[str] = ()) -> None:
    """Sets the attributes of `options` that `given` names, each checked by its function of `kinds`.

    `known` are further names that the caller takes, for "did you mean".
    """
    for name, value in given.items():
        if name not in kinds:
            raise _unexpected(name, [*kinds, *known])
        try:
            setattr(options, name, kinds[name](name, value))
        except TypeError as error:
            if isinstance(error, OptionError):
                raise
            raise InvalidArgument(f"{name}: {value} is too large") from None

"""Arrays that NumPy refuses to write while the library reads them in place."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy.typing as npt


class _Loan(weakref.ref[Any]):
    """A view that the library reads, and the id of its array."""

    __slots__ = ("key",)
    key: int


_lock = threading.Lock()
_loans: dict[int, _Loan] = {}  # those that have not ended, by id
_readers: dict[int, list[Any]] = {}  # by the id of an array that was made read-only here: the array, number of readers
_gone: deque[int] = deque()  # readers that have ended and are still counted
_ended: list[int] = []  # arrays without readers: views, while the memory below them is read-only


def lend(array: npt.NDArray[Any], size: int) -> tuple[npt.NDArray[Any], Callable[[], Any]]:
    """A view of the first elements of `array`, which is read-only while the view lives, and a call that ends that before.

    An array that is read-only already, or could not be made writeable again, stays as it is.
    """
    view = array[:size]
    loan = _Loan(view, _end)
    loan.key = id(array)
    _lock.acquire()
    try:
        entry = _readers.get(loan.key)
        if entry is None:
            flags = array.flags
            if not flags.writeable or not flags.owndata and not _can_come_back(array):
                return view, nothing
            flags.writeable = False
            _readers[loan.key] = [array, 1]
        else:
            entry[1] += 1
        _loans[id(loan)] = loan
    finally:
        _release()
    return view, functools.partial(_end, loan)


def nothing() -> None:
    pass


def _release() -> None:
    """Ends a section of the lock, and counts the readers that have ended during it."""
    _lock.release()
    if _gone:
        _settle()


os.register_at_fork(before=_lock.acquire, after_in_parent=_release, after_in_child=_release)


def _can_come_back(array: npt.NDArray[Any]) -> bool:
    if id(array.base) in _readers:
        return True  # with the memory that it is a view of
    probe = array[...]
    probe.flags.writeable = False
    try:
        probe.flags.writeable = True
    except ValueError:
        return False
    return True


def _end(loan: _Loan) -> None:
    if _loans.pop(id(loan), None) is not None:
        # The collector may call this within a section of the lock: whoever has it settles, too.
        _gone.append(loan.key)
        _settle()


def _settle() -> None:
    while _gone and _lock.acquire(blocking=False):
        try:
            while _gone:
                key = _gone.popleft()
                _readers[key][1] -= 1
                _ended.append(key)
            for key in 2 * _ended:  # memory, then the views of it
                _make_writeable(key)
            _ended[:] = [key for key in _ended if key in _readers and _readers[key][1] == 0]
        finally:
            _lock.release()


def _make_writeable(key: int) -> None:
    entry = _readers.get(key)
    if entry is None or entry[1] > 0:
        return
    try:
        entry[0].flags.writeable = True
    except ValueError:
        return
    del _readers[key]

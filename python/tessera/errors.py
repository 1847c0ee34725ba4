"""Exceptions of Tessera. Not reaching a tolerance is none of them: it is a status in the report."""

import numpy as np


class Error(Exception):
    """Root of all exceptions of Tessera."""


class InvalidArgument(Error, ValueError):
    """An argument outside its documented range."""


class OptionError(InvalidArgument, TypeError):
    """An argument of a wrong type, or one that the function or the method does not have; the message names it."""


class DimensionError(Error, ValueError):
    """Operands whose sizes do not fit together; the message names both."""


class InvalidMatrix(Error, ValueError):
    """Data of a matrix that break an invariant; the message names the row and the entry."""


class SingularMatrix(InvalidMatrix, np.linalg.LinAlgError):
    """A matrix without an inverse where one is needed."""


class NotSupported(Error, NotImplementedError):
    """A feature that this build does not have for these arguments."""


class IoError(Error, OSError):
    """A file that cannot be opened or read."""


class ParseError(Error, ValueError):
    """A file that violates its format.

    Attributes
    ----------
    file : str
        Name as it was given.
    line, column : int
        From 1; 0 in a binary file.
    byte : int
        Position in a binary file, from 0.
    """

    file = ""
    line = column = byte = 0


class OutOfMemory(Error, MemoryError):
    """Memory that could not be allocated.

    Attributes
    ----------
    requested_bytes, available_bytes : int
        Size of the allocation, and what was free then (0: unknown).
    """

    requested_bytes = available_bytes = 0


class BudgetExceeded(Error):
    """A factorization that needs more work, memory or time than its options allow."""


class DeviceUnavailable(Error, RuntimeError):
    """The device does not exist, or this build has no backend for it."""


class CudaError(Error, RuntimeError):
    """A call of the CUDA runtime failed.

    Attributes
    ----------
    code : int
        Status of the library that failed.
    """

    code = 0

"""Arrays on a GPU, without a copy: what has `__cuda_array_interface__` or `__dlpack__`.

`__cuda_array_interface__` names the stream in which an array is complete; Tessera works in that stream, in the order of
the caller's own work. With `__dlpack__` alone the stream is the one that the caller names, or CUDA's default stream.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core
from .errors import DimensionError, InvalidArgument, NotSupported

CUDA, CUDA_MANAGED = 2, 13  # in DLPack

# Streams that matrices were adopted with, by address: memory of the library is given back in its stream, perhaps long
# after the caller has let go of it.
_streams: dict[int, Any] = {}


def is_device_array(array: Any) -> bool:
    """Whether `array` lies on a GPU."""
    if isinstance(array, np.ndarray):
        return False
    # Asked first: an array answers it much faster than it makes its __cuda_array_interface__.
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[0]) in (CUDA, CUDA_MANAGED)
    return hasattr(array, "__cuda_array_interface__")


def is_device_csr(A: Any) -> bool:
    """Whether `A` is a CSR matrix with arrays on a GPU, as those of CuPy."""
    if all(hasattr(A, name) for name in ("indptr", "indices", "data", "shape")):
        return is_device_array(A.data)
    return False


def interface_of(array: Any) -> dict[str, Any] | None:
    """`__cuda_array_interface__`, or None. It is made anew at every look: look once per call."""
    return getattr(array, "__cuda_array_interface__", None)


def stream_of(interface: dict[str, Any] | None) -> int | None:
    """The stream in which an array with this interface is complete, as the driver names it; None: not known."""
    stream = interface.get("stream") if interface else None
    if stream == 0:
        raise InvalidArgument("__cuda_array_interface__: the stream 0 is not allowed by the protocol")
    # 1 is the default stream of the process.
    return 0 if stream == 1 else stream


def kept_stream(stream: Any) -> Any:
    """The address of a stream, which from now on lives until the interpreter ends.

    `stream` is an object of CuPy or PyTorch, or an address; the object of an address is known while it is current.
    """
    candidates = [stream]
    if "cupy" in sys.modules:
        candidates.append(sys.modules["cupy"].cuda.get_current_stream())
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized():
        candidates.append(sys.modules["torch"].cuda.current_stream())
    address = next((getattr(stream, name) for name in ("ptr", "cuda_stream") if hasattr(stream, name)), stream)
    for candidate in candidates:
        if address and address in (getattr(candidate, "ptr", None), getattr(candidate, "cuda_stream", None)):
            _streams[address] = candidate
    return address


def ordinal_of(array: Any) -> int:
    """The number of the GPU."""
    if hasattr(array, "__dlpack_device__"):
        return int(array.__dlpack_device__()[1])
    device = getattr(array, "device", 0)
    return int(getattr(device, "id", getattr(device, "index", 0)) or 0)


def from_interface(array: Any, interface: dict[str, Any], ordinal: int | None = None,
                   device_type: int = CUDA) -> Any:
    """The vector behind an interface, for the extension; it keeps `array` alive."""
    shape, strides = interface["shape"], interface.get("strides")
    dtype = np.dtype(interface["typestr"])
    if len(shape) == 2 and shape[1] == 1 and strides is None:
        shape = shape[:1]
    if len(shape) != 1:
        raise DimensionError(f"an array of shape {tuple(shape)}: a vector is needed")
    if strides is not None and shape[0] > 1 and strides[0] != dtype.itemsize:
        raise NotSupported(f"a vector with a stride of {strides[0]} bytes: its elements must be contiguous")
    pointer, _ = interface["data"]
    return _core.view(pointer or 0, shape[0], dtype.char, device_type, ordinal_of(array) if ordinal is None else ordinal, array)


def as_array(array: Any, interface: dict[str, Any] | None, stream: Any = None) -> Any:
    """What the extension takes: the vector itself where it speaks DLPack, ordered before `stream`."""
    if interface is not None:
        return from_interface(array, interface)
    return _core.from_capsule(array.__dlpack__(stream=stream or 1))


def as_vector(array: Any, size: int, dtype: npt.DTypeLike, name: str, context: _core.Context | None = None) -> Any:
    """A vector on a GPU of the wanted size and type; neither is converted there."""
    interface = interface_of(array)
    if context is not None:
        wait_for(context, stream_of(interface))
    vector = as_array(array, interface, context.stream if context is not None else None)
    kind, elements, dimensions = _core.describe(vector)
    if dimensions != 1 or elements != size:
        raise DimensionError(f"{name} has {elements} elements in {dimensions} dimensions, the matrix {size} rows")
    if kind != np.dtype(dtype).char:
        raise InvalidArgument(f"{name} is not of type {np.dtype(dtype)}, as the matrix is: arrays on a GPU stay as they are")
    return vector


def wait_for(context: _core.Context, stream: int | None) -> None:
    """Work in `context` from now on comes after what `stream` has got; None: nothing is known of it."""
    if stream is not None and stream != context.stream:
        context.wait_for(_core.Context(context.device, stream))


def adopt_csr(A: Any, stream: Any = None) -> Any:
    """A CSR matrix on a GPU, in place, in a context with the caller's stream."""
    if stream is None:
        stream = stream_of(interface_of(A.data))
    stream = kept_stream(stream)
    context = _core.Context(f"cuda:{ordinal_of(A.data)}", stream or 0)
    indptr, indices, data = (as_array(each, interface_of(each), stream) for each in (A.indptr, A.indices, A.data))
    return _core.adopt(A.shape[0], A.shape[1], indptr, indices, data, context)


def new_like(array: Any, size: int, make: str = "empty") -> Any:
    """A vector of the library that `array` comes from, on its GPU, by its function of that name: "empty" or "zeros"."""
    module = sys.modules[type(array).__module__.split(".")[0]]
    if module.__name__ == "torch":
        return getattr(module, make)(size, dtype=array.dtype, device=array.device)
    return getattr(module, make)(size, dtype=array.dtype)

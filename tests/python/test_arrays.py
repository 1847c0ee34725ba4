"""Arrays of SciPy and of others in place: shown by addresses; other formats, orders and types as users expect."""

import numpy as np
import pytest
import scipy.sparse as sp

import tessera
from tessera import _core, _device
from tessera._matrix import as_matrix


def random_matrix(rows=30, cols=20, seed=1, dtype=np.float64, index=np.int32):
    matrix = sp.random_array((rows, cols), density=.2, rng=np.random.default_rng(seed), format="csr", dtype=dtype)
    matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
    return matrix


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_int32_matrices_stay_where_they_are(dtype, kind):
    A = kind(random_matrix(dtype=dtype))
    assert A.indices.dtype == np.int32
    offsets, columns, values = as_matrix(A).addresses
    assert columns == address(A.indices) and values == address(A.data)
    assert offsets != address(A.indptr)  # widened: 8 bytes per row
    assert tessera.Plan(A)._core.address == address(A.data)


def test_int64_matrices_share_offsets_and_values():
    A = random_matrix(index=np.int64)
    offsets, columns, values = as_matrix(A).addresses
    assert offsets == address(A.indptr) and values == address(A.data)
    assert columns != address(A.indices)  # narrowed: 4 bytes per nonzero
    np.testing.assert_allclose(tessera.Plan(A) @ np.ones(20), A @ np.ones(20), rtol=1e-14)


def test_the_product_is_memory_of_the_library():
    C = tessera.spgemm(random_matrix(), random_matrix(20, 30))
    assert not C.data.flags.owndata and not C.indices.flags.owndata
    C.data *= 2  # nobody else reads it
    assert C.has_canonical_format


def test_a_plan_keeps_the_arrays_alive():
    A = random_matrix(2000, 2000)
    want = A @ np.ones(2000)
    plan = tessera.Plan(A)
    del A
    _ = [np.full(80000, np.nan) for _ in range(20)]
    np.testing.assert_allclose(plan @ np.ones(2000), want, rtol=1e-13)


@pytest.mark.parametrize("kind", [sp.csc_array, sp.coo_array, sp.bsr_array, sp.lil_array, sp.dok_array, sp.csc_matrix])
def test_other_formats_are_converted(kind):
    A = random_matrix()
    np.testing.assert_allclose(tessera.Plan(kind(A)) @ np.ones(20), A @ np.ones(20), rtol=1e-14)


def test_dense_integer_and_boolean_matrices():
    dense = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(tessera.Plan(dense) @ np.ones(4), dense.sum(axis=1))
    np.testing.assert_array_equal(tessera.Plan(sp.csr_array(dense > 4)) @ np.ones(4), (dense > 4).sum(axis=1))


def test_unsorted_and_duplicate_columns_are_brought_in_order_in_a_copy():
    A = sp.csr_array((np.array([1., 2., 4., 8.]), np.array([2, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 3))
    before = A.indices.copy()
    np.testing.assert_array_equal(tessera.Plan(A) @ np.array([1., 10., 100.]), [102., 120.])
    np.testing.assert_array_equal(A.indices, before)
    # SciPy's flag may be wrong, where the arrays were changed after it had looked.
    B = random_matrix(3, 3, seed=2)
    B = sp.csr_array((np.ones(3), np.array([0, 1, 2]), np.array([0, 3, 3, 3])), shape=(3, 3))
    assert B.has_canonical_format
    B.indices[:] = [2, 1, 0]
    np.testing.assert_array_equal(tessera.Plan(B) @ np.array([1., 2., 4.]), [7., 0., 0.])


def test_columns_out_of_range_are_refused():
    A = random_matrix(4, 4)
    A.indices[-1] = 9
    with pytest.raises(ValueError):
        tessera.Plan(A)


def test_complex_values_are_refused():
    with pytest.raises(TypeError, match="complex128"):
        tessera.Plan(sp.eye_array(3, dtype=complex))
    with pytest.raises(TypeError, match="complex128"):
        tessera.cg(sp.eye_array(3), np.ones(3, complex))


@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (5, 0), (0, 5), (1, 7)])
def test_small_and_empty_matrices(shape):
    A = sp.csr_array(np.ones(shape))
    np.testing.assert_array_equal(tessera.Plan(A) @ np.ones(shape[1]), A @ np.ones(shape[1]))


class FakeDeviceArray:
    """Memory of the host that tells of itself as arrays on a GPU do."""

    def __init__(self, array, stream=None):
        self.array = array
        self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "version": 3,
                                         "data": (address(array), False), "strides": None, "stream": stream}


def view_of(array, *arguments, **named):
    return _device.from_interface(array, _device.interface_of(array), *arguments, **named)


def test_the_cuda_array_interface_is_read_in_place():
    A = random_matrix()
    views = [view_of(FakeDeviceArray(each), 0, device_type=1) for each in (A.indptr, A.indices, A.data)]
    matrix = _core.adopt(30, 20, *views)
    assert matrix.addresses[1:] == (address(A.indices), address(A.data))
    plan = _core.Plan64(matrix, "csr", "", False, "not_guaranteed", 1)
    x, y = np.ones(20), np.zeros(30)
    plan.apply(view_of(FakeDeviceArray(x), 0, device_type=1),
               view_of(FakeDeviceArray(y), 0, device_type=1), False)
    np.testing.assert_allclose(y, A @ x, rtol=1e-14)


def test_dlpack_is_read_in_place():
    x, y = np.ones(20), np.zeros(30)
    A = random_matrix()
    tessera.Plan(A)._core.apply(_core.from_capsule(x.__dlpack__()), _core.from_capsule(y.__dlpack__()), False)
    np.testing.assert_allclose(y, A @ x, rtol=1e-14)


def test_streams_of_the_cuda_array_interface():
    assert _device.stream_of(_device.interface_of(FakeDeviceArray(np.ones(2), stream=1))) == 0
    assert _device.stream_of(_device.interface_of(FakeDeviceArray(np.ones(2), stream=4096))) == 4096
    assert _device.stream_of(_device.interface_of(FakeDeviceArray(np.ones(2)))) is None
    with pytest.raises(ValueError, match="stream 0"):
        _device.stream_of(_device.interface_of(FakeDeviceArray(np.ones(2), stream=0)))


def test_strides_and_types_of_device_arrays():
    fake = FakeDeviceArray(np.ones(4))
    fake.__cuda_array_interface__["strides"] = (16,)
    with pytest.raises(tessera.NotSupported, match="16 bytes"):
        view_of(fake)
    with pytest.raises(tessera.InvalidArgument, match="float32, float64"):
        view_of(FakeDeviceArray(np.ones(4, np.int8)))


def test_without_a_gpu_arrays_on_one_are_refused():
    if tessera.build_info()["cuda"] != "none":
        pytest.skip("a build with CUDA may find a GPU")
    with pytest.raises(tessera.DeviceUnavailable):
        tessera.Plan(random_matrix())._core.apply(view_of(FakeDeviceArray(np.ones(20))), np.zeros(30), False)

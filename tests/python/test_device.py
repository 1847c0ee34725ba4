"""Arrays of CuPy and PyTorch on a GPU: in place, in the caller's stream. Skips without CuPy and a GPU."""

import numpy as np
import pytest

import tessera
from tessera._matrix import as_matrix

cupy = pytest.importorskip("cupy")
try:
    if tessera.build_info()["cuda"] == "none" or cupy.cuda.runtime.getDeviceCount() == 0:
        raise RuntimeError
except RuntimeError:
    pytest.skip("no GPU, or a build without CUDA", allow_module_level=True)
import cupyx.scipy.sparse as csp


def poisson(side=40, dtype=np.float64):
    host = tessera.generate("poisson2d", side, dtype=dtype)
    return host, csp.csr_matrix(host)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrices_of_cupy_stay_where_they_are(dtype):
    host, A = poisson(dtype=dtype)
    _, columns, values = as_matrix(A).addresses
    assert columns == A.indices.data.ptr and values == A.data.data.ptr
    plan = tessera.Plan(A)
    assert plan.device == "cuda:0" and plan._core.address == A.data.data.ptr
    x = cupy.arange(1600, dtype=dtype)
    y = plan @ x
    assert isinstance(y, cupy.ndarray)
    np.testing.assert_allclose(y.get(), host @ x.get(), rtol=1e-4 if dtype is np.float32 else 1e-12, atol=1e-3)


def test_columns_of_64_bits():
    host, A = poisson()
    arrays = (A.indptr.astype(cupy.int64), A.indices.astype(cupy.int64), A.data)

    class Wide:
        indptr, indices, data = arrays
        shape = A.shape

    offsets, _, values = as_matrix(Wide()).addresses
    assert offsets == arrays[0].data.ptr and values == arrays[2].data.ptr
    y = tessera.Plan(Wide()) @ cupy.ones(1600)
    np.testing.assert_allclose(y.get(), host @ np.ones(1600), atol=1e-12)


@pytest.mark.parametrize("method", [tessera.cg, tessera.bicgstab, tessera.gmres, tessera.idr])
@pytest.mark.parametrize("M", [None, "jacobi", "amg", "ilu0"])
def test_methods_in_the_stream_of_the_caller(method, M):
    with cupy.cuda.Stream(non_blocking=True) as stream:
        _, A = poisson()
        b = A @ cupy.ones(1600)
        plan = tessera.Plan(A)
        assert plan._context.stream == stream.ptr
        x, info = method(plan, b, M=M, rtol=1e-10)
        error = abs(x - 1).max()
    assert info == 0 and isinstance(x, cupy.ndarray) and float(error) < 1e-6


def test_the_ladder_and_first_guesses():
    _, A = poisson()
    b = A @ cupy.ones(1600)
    result = tessera.solve(A, b, rtol=1e-10)
    assert result.converged and float(abs(result.x - 1).max()) < 1e-6
    assert tessera.cg(A, b, cupy.ones(1600)).report.iterations == 0
    seen = []
    tessera.cg(A, b, callback=lambda info: seen.append(info.iteration))
    assert seen == list(range(len(seen)))


def test_work_waits_for_the_stream_of_an_array():
    _, A = poisson(200)
    plan = tessera.Plan(A, stream=cupy.cuda.Stream(non_blocking=True))
    with cupy.cuda.Stream(non_blocking=True) as stream:
        x = cupy.zeros(40000)
        for _ in range(200):
            x += 1
        y = cupy.empty(40000)
        plan.apply(x, y)
        plan._context.synchronize()
        want = A @ cupy.full(40000, 200.)
        stream.synchronize()
        np.testing.assert_allclose(y.get(), want.get(), atol=1e-9)


def test_other_types_and_places_are_refused():
    _, A = poisson()
    with pytest.raises(tessera.InvalidArgument, match="float64"):
        tessera.cg(A, cupy.ones(1600, np.float32))
    with pytest.raises(tessera.InvalidArgument, match="host"):
        tessera.cg(A, np.ones(1600))
    with pytest.raises(tessera.DimensionError, match="1599"):
        tessera.cg(A, cupy.ones(1599))


def test_tensors_of_torch():
    torch = pytest.importorskip("torch")
    host, A = poisson()
    plan = tessera.Plan(A)
    x = torch.arange(1600, dtype=torch.float64, device="cuda")
    y = plan @ x
    assert isinstance(y, torch.Tensor)
    np.testing.assert_allclose(y.cpu().numpy(), host @ np.arange(1600.), atol=1e-9)


def test_a_matrix_of_the_host_on_a_gpu():
    host, _ = poisson()
    plan = tessera.Plan(host, device="cuda")
    x, info = tessera.cg(plan, cupy.asarray(host @ np.ones(1600)), M=tessera.Preconditioner(plan, "amg"))
    assert info == 0 and float(abs(x - 1).max()) < 1e-5


def test_ranks_and_products():
    host = tessera.generate("rmat:scale=8")
    A = csp.csr_matrix(host)
    np.testing.assert_allclose(tessera.pagerank(A).ranks, tessera.pagerank(host).ranks, atol=1e-9)
    np.testing.assert_allclose(tessera.spgemm(A, A).toarray(), (host @ host).toarray(), atol=1e-9)

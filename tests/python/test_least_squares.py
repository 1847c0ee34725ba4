"""Least squares against SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import tessera


def rectangular(m=120, n=50, seed=1):
    return sp.random_array((m, n), density=.1, rng=np.random.default_rng(seed), format="csr")


def right_side(A):
    return np.random.default_rng(2).standard_normal(A.shape[0])


@pytest.mark.parametrize("method", [tessera.lsmr, tessera.cgls])
@pytest.mark.parametrize("shape", [(120, 50), (50, 120), (60, 60)])
@pytest.mark.parametrize("damp", [0.0, 0.3])
def test_agrees_with_scipy(method, shape, damp):
    A = rectangular(*shape)
    b = right_side(A)
    result = method(A, b, damp, atol=1e-12, btol=1e-12, conlim=0)
    assert result.converged, result.report.reason
    want = spla.lsmr(A, b, damp, atol=1e-14, btol=1e-14, conlim=0, maxiter=10000)
    np.testing.assert_allclose(result.x, want[0], rtol=1e-6, atol=1e-7 * want[7])
    r = b - A @ result.x
    report = result.report
    np.testing.assert_allclose(report.residual, np.linalg.norm(r), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(report.normal_residual, np.linalg.norm(A.T @ r - damp**2 * result.x), atol=1e-12)
    np.testing.assert_allclose(report.x_norm, np.linalg.norm(result.x), rtol=1e-12)
    assert report.method == method.__name__ and report.test != "none"


def test_float_and_preconditioner():
    A = rectangular() @ sp.diags_array(10.0**-(np.arange(50) % 4))
    b = right_side(A)
    plain, scaled = (tessera.lsmr(A, b, atol=1e-10, precond=p) for p in ("none", "jacobi"))
    assert plain.converged and scaled.converged and 2 * scaled.report.iterations < plain.report.iterations
    np.testing.assert_allclose(plain.x, scaled.x, rtol=1e-5, atol=1e-5)
    single = tessera.lsmr(rectangular().astype(np.float32), b.astype(np.float32), atol=1e-5)
    assert single.x.dtype == np.float32 and single.converged


def test_plans_functions_and_guesses():
    A = rectangular()
    b = right_side(A)
    want = tessera.lsmr(A, b, atol=1e-10).x
    plan = tessera.Plan(A, transpose=True)
    assert (tessera.lsmr(plan, b, atol=1e-10).x == want).all()
    by_function = tessera.cgls(spla.aslinearoperator(A), b, atol=1e-10)
    np.testing.assert_allclose(by_function.x, want, atol=1e-7)
    assert by_function.report.kernel == "function"
    assert tessera.lsmr(A, b, atol=1e-9, x0=want).report.iterations <= 2
    with pytest.raises(tessera.NotSupported, match="transpose=True"):
        tessera.lsmr(tessera.Plan(A), b)
    with pytest.raises(tessera.InvalidArgument, match="is a function here"):
        tessera.lsmr(spla.aslinearoperator(A), b, precond="jacobi")
    with pytest.raises(TypeError, match="restart"):
        tessera.lsmr(A, b, restart=3)


def test_endings():
    A = rectangular()
    b = right_side(A)
    x, info = tessera.lsmr(A, b, maxiter=3)
    assert info == 3 and x.shape == (50,)
    report = tessera.lsmr(A, b, conlim=2.0).report
    assert report.status == "stagnated" and report.condition > 2 and "cond(A)" in report.reason
    seen = []
    stopped = tessera.lsmr(A, b, callback=lambda info: seen.append(info.residual) or info.iteration == 5, history=True)
    assert stopped.report.status == "interrupted" and len(stopped.report.history) == len(seen) == 6
    assert (np.diff(seen) <= 0).all()
    assert "cond(A) at least" in str(stopped.report) and tessera.lsmr(A, A @ np.ones(50)).report.test == "residual"

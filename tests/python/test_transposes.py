"""Products with the transpose of a preconditioner, and solves with Aᵀ, against NumPy and SciPy."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse.linalg as spla

import tessera

SYMMETRIC = ("jacobi", "spai:0", "fsai", "ic0", "ict", "direct", "amg")
GENERAL = ("jacobi", "spai", "poly:4", "neumann:3", "neumann:3:explicit:1e-2", "ilu0", "iluk:2", "ilut", "ilutp",
           "bjacobi:4:ilu0", "amg", "direct")


def flow(n=7, dtype=np.float64):
    return tessera.generate(f"convdiff:{n}", dtype=dtype)


def right_side(A, seed=0):
    return np.random.default_rng(seed).standard_normal(A.shape[0]).astype(A.dtype)


def residual(A, x, b):
    return np.linalg.norm(b - A.astype(np.float64) @ x) / np.linalg.norm(b)


def expect_transposes(M):
    identity = np.eye(M.shape[0], dtype=M.dtype)
    dense = M @ identity
    # "amg" works in float32 by default.
    limit = 1e-5 * np.abs(dense).max()
    assert np.abs(M.T @ identity - dense.T).max() < limit
    assert np.abs(M.H @ identity - dense.T).max() < limit
    assert np.abs(M.rmatmat(identity) - dense.T).max() < limit
    assert np.abs(M.rmatvec(identity[3]) - dense[3]).max() < limit
    assert np.abs(M.T.T @ identity - dense).max() < limit
    return dense


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", GENERAL)
def test_transposes_of_preconditioners(kind, dtype):
    dense = expect_transposes(tessera.Preconditioner(flow(dtype=dtype), kind))
    assert kind == "jacobi" or np.abs(dense - dense.T).max() > 1e-3 * np.abs(dense).max()


@pytest.mark.parametrize("kind", SYMMETRIC)
def test_transposes_of_symmetric_preconditioners(kind):
    M = tessera.Preconditioner(tessera.generate("poisson2d:9"), kind)
    assert M.info["is_symmetric"]
    expect_transposes(M)


@pytest.mark.parametrize("kind", GENERAL)
def test_scipy_methods_with_transposed_products_take_them(kind):
    A = flow()
    b = right_side(A)
    M = tessera.Preconditioner(A, kind)
    x, info = spla.bicg(A, b, M=M, rtol=1e-9)
    assert info == 0 and residual(A, x, b) < 1e-8
    x, info = spla.qmr(A, b, M1=M, M2=spla.aslinearoperator(np.eye(A.shape[0])), rtol=1e-9)
    assert info == 0 and residual(A, x, b) < 1e-8


@pytest.mark.parametrize("method", ["gmres", "bicgstab", "idr"])
@pytest.mark.parametrize("kind", (None, *GENERAL))
def test_solves_with_the_transpose(kind, method):
    A = flow()
    b = right_side(A)
    solver = tessera.Solver(A, method, M=kind, rtol=1e-10)
    expected = np.linalg.solve(A.toarray().T, b)
    for _ in range(2):
        result = solver.solve_transposed(b)
        assert result.converged, result.report.reason
        assert np.linalg.norm(result.x - expected) < 1e-7 * np.linalg.norm(expected)
        assert result.report.residual == pytest.approx(np.linalg.norm(b - A.T @ result.x), rel=1e-2, abs=1e-13)
        assert residual(A, solver.solve(b).x, b) < 1e-9


@pytest.mark.parametrize("method", ["cg", "minres"])
def test_symmetric_methods(method):
    A = tessera.generate("poisson2d:12")
    b = right_side(A)
    result = tessera.Solver(A, method, M="amg").solve_transposed(b)
    assert result.converged and residual(A, result.x, b) < 1e-7


def test_cg_says_so_where_the_transpose_does_not_suit_it():
    A = flow()
    b = right_side(A)
    result = tessera.Solver(A, "cg", maxiter=500).solve_transposed(b)
    assert not result.converged or residual(A.T, result.x, b) < 1e-7


def test_float32():
    A = flow(dtype=np.float32)
    b = right_side(A)
    result = tessera.Solver(A, "gmres", M="ilu0").solve_transposed(b)
    assert result.converged and result.x.dtype == np.float32
    assert residual(A.T, result.x.astype(np.float64), b) < 2e-5


def test_guess_shape_and_reports():
    A = flow()
    b = right_side(A)
    solver = tessera.Solver(A, "gmres", M="direct", rtol=1e-12, history=True)
    result = solver.solve_transposed(b[:, None])
    assert result.x.shape == (A.shape[0], 1) and len(result.report.history) > 0
    again = solver.solve_transposed(b, x0=result.x[:, 0])
    assert again.report.iterations == 0 and np.array_equal(again.x, result.x[:, 0])
    with pytest.raises(tessera.DimensionError):
        solver.solve_transposed(b[:-1])


def test_direct_factors_serve_both():
    A = flow(12)
    plan = tessera.Plan(A)
    M = tessera.Preconditioner(plan, "direct")
    before = M.info
    solver = tessera.Solver(plan, "richardson", M=M, rtol=1e-12)
    b = right_side(A)
    forward, transposed = solver.solve(b), solver.solve_transposed(b)
    assert forward.converged and transposed.converged
    assert forward.report.iterations <= 2 and transposed.report.iterations <= 2
    assert M.info == before                            # set-up and memory are those of one factorization
    assert np.dot(transposed.x, b) == pytest.approx(np.dot(b, forward.x), rel=1e-9)


@pytest.mark.parametrize("kind", ["ilu0", "spai", "poly:4", "amg", "direct"])
def test_new_values(kind):
    A = flow()
    B = A.copy()
    B.data = B.data * np.random.default_rng(1).uniform(0.9, 1.1, B.nnz)
    b = right_side(A)
    plan = tessera.Plan(A)
    M = tessera.Preconditioner(plan, kind)
    solver = tessera.Solver(plan, "gmres", M=M, rtol=1e-10)
    assert residual(A.T, solver.solve_transposed(b).x, b) < 1e-9
    plan.update_values(B.data)
    M.refresh(plan)
    result = solver.solve_transposed(b)
    assert result.converged and residual(B.T, result.x, b) < 1e-9
    expect_transposes(M)


def test_operators_of_scipy():
    A = flow()
    b = right_side(A)
    inverse = spla.splu(A.tocsc())
    M = spla.LinearOperator(A.shape, matvec=inverse.solve, rmatvec=lambda r: inverse.solve(r, "T"), dtype=float)
    result = tessera.Solver(spla.aslinearoperator(A), "gmres", M=M).solve_transposed(b)
    assert result.converged and residual(A.T, result.x, b) < 1e-7
    no_adjoint = spla.LinearOperator(A.shape, matvec=lambda x: A @ x, dtype=float)
    with pytest.raises(NotImplementedError):
        tessera.Solver(no_adjoint, "gmres").solve_transposed(b)


def test_matrices_as_preconditioners():
    A = flow()
    b = right_side(A)
    result = tessera.Solver(A, "gmres", M=np.linalg.inv(A.toarray())).solve_transposed(b)
    assert result.converged and result.report.iterations <= 2 and residual(A.T, result.x, b) < 1e-7


def test_a_cycle_that_is_not_linear_is_refused():
    M = tessera.Preconditioner(flow(), "amg", cycle="k")
    with pytest.raises(tessera.NotSupported, match="V and W"):
        M.rmatvec(np.ones(M.shape[0]))
    solver = tessera.Solver(flow(), "gmres", M=M)
    with pytest.raises(tessera.NotSupported, match="V and W"):
        solver.solve_transposed(np.ones(M.shape[0]))
    assert solver.solve(np.ones(M.shape[0])).converged


@pytest.mark.parametrize("kind", ["ilu0", "spai", "poly:4", "amg", "direct"])
def test_threads_share_a_solver(kind):
    A = flow(12)
    solver = tessera.Solver(A, "gmres", M=kind, rtol=1e-10)
    sides = [right_side(A, seed) for seed in range(12)]

    def both(b):
        return residual(A, solver.solve(b).x, b), residual(A.T, solver.solve_transposed(b).x, b)

    with ThreadPoolExecutor(4) as pool:
        assert np.max(list(pool.map(both, sides))) < 1e-9


def test_gradient():
    """f = xᵀ x with A x = b: by b it is λ = A⁻ᵀ 2 x, by a_ij it is -λ_i x_j."""
    A = flow(6)
    b = right_side(A)
    plan = tessera.Plan(A)
    solver = tessera.Solver(plan, "gmres", M="ilu0", rtol=1e-13)
    x = solver.solve(b).x
    adjoint = solver.solve_transposed(2 * x).x
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    by_values = -adjoint[rows] * x[A.indices]

    def value(A, b):
        x = np.linalg.solve(A.toarray(), b)
        return x @ x

    for k in (0, 17, A.nnz - 1):
        lower, upper = A.copy(), A.copy()
        step = 1e-6
        lower.data[k] -= step
        upper.data[k] += step
        assert by_values[k] == pytest.approx((value(upper, b) - value(lower, b)) / (2 * step), rel=1e-5, abs=1e-8)
    direction = right_side(A, 5)
    slope = (value(A, b + 1e-6 * direction) - value(A, b - 1e-6 * direction)) / 2e-6
    assert adjoint @ direction == pytest.approx(slope, rel=1e-5)

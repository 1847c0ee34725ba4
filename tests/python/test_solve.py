"""Solvers against SciPy; statuses, callbacks, Ctrl-C, threads, leaks."""

import gc
import os
import resource
import signal
import threading
import time
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import tessera


def poisson(side=20):
    return tessera.generate("poisson2d", side)


def nonsymmetric(n=300, seed=3):
    rng = np.random.default_rng(seed)
    A = sp.random_array((n, n), density=.03, rng=rng, format="csr") - .5 * sp.eye_array(n)
    return sp.csr_array(A + sp.diags_array(np.asarray(abs(A).sum(axis=1)).ravel() + 1))


@pytest.mark.parametrize("matrix", [poisson, nonsymmetric])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_solve_agrees_with_splu(matrix, dtype):
    A = matrix().astype(dtype)
    b = np.random.default_rng(5).standard_normal(A.shape[0]).astype(dtype)
    tolerance = 1e-9 if dtype is np.float64 else 1e-5
    result = tessera.solve(A, b, rtol=tolerance)
    assert result.converged and result.x.dtype == dtype
    want = spla.spsolve(sp.csc_matrix(A, dtype=float), b.astype(float))
    assert np.linalg.norm(result.x - want) <= 1e4 * tolerance * np.linalg.norm(want)
    residual = np.linalg.norm(b - A.astype(float) @ result.x.astype(float))
    assert residual <= 1.01 * result.report.target and abs(residual - result.report.residual) <= .02 * residual + 1e-12


@pytest.mark.parametrize("method", [tessera.cg, tessera.bicgstab, tessera.gmres, tessera.idr])
@pytest.mark.parametrize(
    "M", [None, "jacobi", "amg", "fsai:2", "spai:0", "poly:3", "neumann:2:explicit", "ilu0", "ilut:1e-2:10"])
def test_every_method_with_preconditioners(method, M):
    A = poisson()
    x, info = method(A, A @ np.arange(400.), M=M, rtol=1e-10)
    assert info == 0
    np.testing.assert_allclose(x, np.arange(400.), atol=1e-6)


def test_methods_and_preconditioners_by_name():
    A = nonsymmetric()
    b = A @ np.ones(300)
    direct = tessera.solve(A, b, method="direct")
    assert direct.report.iterations <= 2 and abs(direct.x - 1).max() < 1e-12
    report = tessera.solve(A, b, method="gmres", precond="ilutp:1e-3:20").report
    assert (report.method, report.precond, report.converged) == ("gmres", "ilutp:1e-3:20", True)
    assert tessera.solve(poisson(), np.ones(400), precond="amg").report.method == "cg"
    assert tessera.solve(A, b, method="bicgstab", precond="spai").converged
    assert tessera.solve(A, b, precond="ilu0").report.method == "gmres"
    assert tessera.solve(poisson(), np.ones(400), method="richardson", precond="amg").converged


def test_minres_of_an_indefinite_matrix_and_chebyshev_with_bounds():
    A = (poisson() - 1.3 * sp.eye(400)).tocsr()
    b = A @ np.arange(400.)
    result = tessera.minres(A, b, rtol=1e-10, maxiter=2000)
    assert result.converged and result.report.method == "minres"
    np.testing.assert_allclose(result.x, np.arange(400.), atol=1e-4)
    expected, info = spla.minres(A, b, rtol=1e-10, maxiter=2000)
    assert info == 0
    np.testing.assert_allclose(result.x, expected, atol=1e-3)  # SciPy ends by another test
    assert tessera.solve(A, b, method="minres", maxiter=2000).converged
    low = 8 * np.sin(np.pi / 42)**2
    bounded = tessera.chebyshev(poisson(), np.ones(400), spectrum_low=low, spectrum_high=8 - low)
    assert bounded.converged
    assert tessera.chebyshev(poisson(), np.ones(400)).report.iterations > bounded.report.iterations


def test_operators_and_preconditioners_of_scipy():
    A = poisson()
    b = A @ np.ones(400)
    for operator in (spla.aslinearoperator(A), spla.LinearOperator((400, 400), matvec=lambda x: A @ x)):
        assert tessera.cg(operator, b, rtol=1e-10).converged
    ilu = spla.spilu(sp.csc_matrix(A))
    M = spla.LinearOperator((400, 400), matvec=ilu.solve)
    assert tessera.gmres(A, b, M=M).report.iterations < tessera.gmres(A, b).report.iterations
    assert tessera.cg(A, b, M=sp.diags_array(1 / A.diagonal()).tocsr()).converged


@pytest.mark.parametrize("restart", [4, 9, 50])
def test_gmres_from_the_left_is_scipys(restart):
    A = sp.csr_array(sp.diags_array(2. ** (np.arange(300) % 7)) @ nonsymmetric())
    b = np.random.default_rng(3).standard_normal(300)
    M = sp.diags_array(1 / A.diagonal()).tocsr()
    norms = []
    x, info = spla.gmres(A, b, M=M, rtol=1e-8, restart=restart, maxiter=100, callback=norms.append, callback_type="pr_norm")
    assert info == 0
    ours = tessera.gmres(A, b, M=M, rtol=1e-8, restart=restart, side="left", maxiter=5000)
    assert ours.converged and abs(ours.report.iterations - len(norms)) <= 1
    assert np.linalg.norm(b - A @ ours.x) <= 1.001e-8 * np.linalg.norm(b)
    np.testing.assert_allclose(ours.x, x, atol=1e-6 * abs(x).max())
    with pytest.raises(tessera.InvalidArgument, match="none of left, right"):
        tessera.gmres(A, b, side="both")
    with pytest.raises(tessera.InvalidArgument, match="side does not apply to \"idr\""):
        tessera.idr(A, b, side="left")


def test_preconditioners_serve_scipy():
    A = poisson()
    x, info = spla.cg(tessera.Plan(A), A @ np.ones(400), M=tessera.Preconditioner(A, "amg"), rtol=1e-10)
    assert info == 0 and abs(x - 1).max() < 1e-6


def test_first_guesses_and_shapes():
    A = poisson()
    b = A @ np.ones(400)
    x0 = np.ones(400)
    assert tessera.cg(A, b, x0).report.iterations == 0
    np.testing.assert_array_equal(x0, 1)  # not written
    assert tessera.solve(A, b.reshape(-1, 1)).x.shape == (400, 1)
    assert tessera.solve(A, b.tolist()).converged
    assert tessera.solve(sp.csr_array((0, 0)), np.ones(0)).x.shape == (0,)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("method", [tessera.cg, tessera.bicgstab, tessera.gmres])
def test_several_right_hand_sides(method, order):
    A = poisson()
    want = np.random.default_rng(1).standard_normal((400, 5))
    B = np.asarray(A @ want, order=order)
    B[:, 3] = 0
    before = B.copy()
    result = method(A, B, M="jacobi", rtol=1e-10)
    X, infos = result
    assert X.shape == B.shape and result.converged and list(infos) == [0] * 5
    np.testing.assert_array_equal(B, before)
    want[:, 3] = 0
    np.testing.assert_allclose(X, want, atol=1e-7)
    for j in (0, 2, 4):
        alone = method(A, B[:, j], M="jacobi", rtol=1e-10)
        assert abs(result.reports[j].iterations - alone.report.iterations) <= 2
        np.testing.assert_array_equal(result.solutions[j].x, X[:, j])
    assert method(A, B, X, M="jacobi", rtol=1e-9).info.sum() == 0
    strided = np.zeros((400, 10))
    strided[:, ::2] = B
    np.testing.assert_allclose(method(A, strided[:, ::2], M="jacobi", rtol=1e-10).x, X, atol=1e-8)


def test_columns_end_on_their_own():
    A = poisson()
    B = np.ones((400, 3))
    B[7, 1] = np.nan
    result = tessera.cg(A, B)
    assert [report.status for report in result.reports] == ["converged", "not_finite", "converged"]
    assert not result.converged and result.info[1] != 0
    assert tessera.cg(A, np.ones((400, 0))).x.shape == (400, 0)
    with pytest.raises(tessera.DimensionError, match="columns of 400"):
        tessera.cg(A, np.ones((399, 2)))
    with pytest.raises(tessera.DimensionError, match="x0 has shape"):
        tessera.cg(A, np.ones((400, 2)), np.ones((400, 3)))
    seen = []
    assert tessera.cg(A, np.ones((400, 2)), callback=lambda info: seen.append(info.iteration) or len(seen) > 3
                      ).reports[1].status == "interrupted"
    assert seen == [0, 1, 2, 3]


@pytest.mark.parametrize("matrix", [poisson, nonsymmetric])
def test_the_ladder_serves_all_columns(matrix):
    A = matrix()
    want = np.random.default_rng(2).standard_normal((A.shape[0], 4))
    result = tessera.solve(A, A @ want, rtol=1e-10)
    assert result.converged
    np.testing.assert_allclose(result.x, want, atol=1e-6)
    direct = tessera.solve(A, A @ want, method="direct")
    np.testing.assert_allclose(direct.x, want, atol=1e-9)


def test_new_values_in_plan_preconditioner_and_solver():
    A = poisson()
    plan = tessera.Plan(A)
    M = tessera.Preconditioner(plan, "amg")
    solver = tessera.Solver(plan, "cg", M=M, rtol=1e-10)
    first = solver.solve(A @ np.ones(400))
    plan.update_values(3 * A.data)
    M.refresh(plan)
    np.testing.assert_allclose(tessera.Preconditioner(plan, "jacobi") @ np.ones(400), 1 / 12)
    second = solver.solve(A @ np.ones(400), x0=first.x)
    np.testing.assert_allclose(second.x, first.x / 3, rtol=1e-7)


def test_not_to_converge_is_a_status():
    A = poisson()
    b = np.ones(400)
    x, info = tessera.cg(A, b, maxiter=3)
    assert info == 3
    assert tessera.cg(A, b, maxiter=3).report.status == "max_iterations"
    indefinite = sp.diags_array(np.r_[np.ones(5), -np.ones(5)]).tocsr()
    report = tessera.cg(indefinite, np.arange(1., 11)).report
    assert report.status == "breakdown" and report.breakdown == "indefinite" and report.info == -1
    assert tessera.cg(A, b * np.nan).report.status == "not_finite"
    singular = sp.csr_array(np.ones((3, 3)))
    report = tessera.solve(singular, np.array([1., 2., 3.])).report
    assert not report.converged and report.proof


def test_callbacks_see_every_iteration_and_may_stop():
    A, seen = poisson(), []
    report = tessera.cg(A, np.ones(400), callback=lambda info: seen.append((info.iteration, info.residual))).report
    assert [i for i, _ in seen] == list(range(report.iterations + 1))
    stopped = tessera.cg(A, np.ones(400), callback=lambda info: info.iteration == 5)
    assert stopped.report.status == "interrupted" and "callback" in stopped.report.reason
    with pytest.raises(ZeroDivisionError):
        tessera.solve(A, np.ones(400), callback=lambda info: 1 / 0)


def test_errors_name_sizes():
    A = poisson(5)
    with pytest.raises(tessera.DimensionError, match="24 elements.*25 rows"):
        tessera.solve(A, np.ones(24))
    with pytest.raises(ValueError, match="5 x 25"):
        tessera.solve(A[:5], np.ones(5), method="cg", precond="none")
    with pytest.raises(tessera.DimensionError, match="5 x 25.*lsmr"):
        tessera.solve(A[:5], np.ones(5), precond="amg", method="gmres")
    with pytest.raises(tessera.InvalidArgument, match='"sor"'):
        tessera.solve(A, np.ones(25), method="sor")
    with pytest.raises(tessera.InvalidArgument, match="ilut"):
        tessera.solve(A, np.ones(25), precond="ilut:x")
    with pytest.raises(TypeError, match="rtoll"):
        tessera.solve(A, np.ones(25), rtoll=1)
    with pytest.raises(np.linalg.LinAlgError):
        tessera.Preconditioner(sp.csr_array((3, 3)), "direct")
    with pytest.raises(tessera.InvalidMatrix, match="row"):
        tessera.Preconditioner(sp.csr_array(np.array([[1., 0], [1, 0]])), "jacobi")


def test_ctrl_c_ends_a_solve_soon(interrupts):
    A = tessera.generate("poisson2d", 300)
    sent = []

    def send():
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    threading.Timer(.3, send).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        while time.monotonic() < begin + 20:
            tessera.cg(A, np.ones(90000), rtol=1e-12, history=False)
    # Room for a machine that does other things; alone it takes 20 ms.
    assert time.monotonic() - sent[0] < .5


def test_two_threads_solve_side_by_side():
    A = tessera.generate("poisson2d", 300)
    b = A @ np.ones(90000)
    ticks, results = [], {}

    def work(name):
        results[name] = tessera.cg(A, b, rtol=1e-10, maxiter=300)

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        ticks.append(time.monotonic())
        time.sleep(.001)
    # This thread went on meanwhile, so the lock was released.
    assert len(ticks) > 10
    np.testing.assert_array_equal(results["a"].x, results["b"].x)


def test_nothing_leaks_over_ten_thousand_solves():
    A = poisson(3)
    b = np.ones(9)

    def some(count):
        for _ in range(count):
            tessera.cg(A, b, M="jacobi", callback=lambda info: None)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = some(1000)
    after = some(10000 if os.environ.get("TESSERA_LONG_TESTS") else 2000)
    assert after - before < 4096  # KiB


def test_a_callback_that_refers_to_its_solver_is_collected():
    class Holder:
        pass

    def used_up():
        holder = Holder()
        holder.solver = tessera.Solver(poisson(3), "cg", callback=lambda info: holder is None)
        holder.solver.solve(np.ones(9))
        return weakref.ref(holder)

    gone = used_up()
    gc.collect()
    assert gone() is None


def test_a_solver_costs_little_per_call():
    A = poisson(3)
    solver = tessera.Solver(A, "cg")
    b = A @ np.ones(9)
    times = []
    for _ in range(200):
        begin = time.perf_counter()
        result = solver.solve(b)
        times.append(time.perf_counter() - begin - result._facts["times_ms"]["solve"] / 1e3)
    # 10 microseconds alone; the bound leaves room for a busy machine.
    assert np.median(times) < 2e-4


@pytest.mark.parametrize("matrix,method,precond", [(poisson, "auto", "auto"), (poisson, "cg", "amg"),
                                                   (nonsymmetric, "gmres", "ilu0"), (nonsymmetric, "auto", "none")])
def test_mixed_precision_reaches_what_single_does_not(matrix, method, precond):
    A = matrix()
    b = np.random.default_rng(5).standard_normal(A.shape[0])
    result = tessera.solve(A, b, method=method, precond=precond, precision="mixed", rtol=1e-12)
    assert result.converged and result.x.dtype == np.float64 and result.report.fallback == ""
    assert result.report.single_iterations == result.report.iterations
    assert np.linalg.norm(b - A @ result.x) <= 1.01e-12 * np.linalg.norm(b)


def test_mixed_precision_refuses():
    A = poisson()
    for method in ("idr", "direct", "minres", "chebyshev"):
        with pytest.raises(tessera.InvalidArgument, match=f'not "{method}"'):
            tessera.solve(A, np.ones(400), precision="mixed", method=method)
    for method in ("auto", "cg"):
        with pytest.raises(tessera.InvalidArgument, match=r"one right-hand side, b has shape \(400, 3\)"):
            tessera.solve(A, np.ones((400, 3)), precision="mixed", method=method)
    assert tessera.solve(A, np.ones((400, 1)), precision="mixed").x.shape == (400, 1)
    tall = sp.vstack([A, A]).tocsr()
    with pytest.raises(tessera.DimensionError, match="800 x 400"):
        tessera.solve(tall, np.ones(800), precision="mixed")
    with pytest.raises(tessera.InvalidArgument, match="float64"):
        tessera.solve(A.astype(np.float32), np.ones(400, np.float32), precision="mixed")


def wait_for_work():
    """Until what was interrupted is done, and let go of."""
    end = time.monotonic() + 400
    while tessera._core.left_behind() and time.monotonic() < end:
        time.sleep(.02)
    assert tessera._core.left_behind() == 0


def set_up():
    plan = tessera.Plan(tessera.generate("poisson3d", 28))
    return lambda: tessera.Preconditioner(plan, "direct")


def ladder():
    A = tessera.generate("poisson3d", 28)
    return lambda: tessera.solve(A, np.ones(28**3), method="direct")


@pytest.mark.parametrize("work", [set_up, ladder])
def test_ctrl_c_does_not_wait_for_work_that_looks_at_no_flag(interrupts, work):
    call = work()
    assert tessera._core.left_behind() == 0
    threading.Timer(.03, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        call()
    # The work is not done yet; what comes next is not disturbed by it.
    assert tessera._core.left_behind() == 1
    assert tessera.solve(poisson(30), np.ones(900)).converged
    wait_for_work()


def test_ctrl_c_ends_products_and_plans(interrupts):
    graph = tessera.generate("rmat:scale=12")
    for call in (lambda: tessera.spgemm(graph, graph), lambda: tessera.Plan(graph, kernel="csr5")):
        threading.Timer(.03, os.kill, (os.getpid(), signal.SIGINT)).start()
        with pytest.raises(KeyboardInterrupt):
            while True:
                call()
        wait_for_work()
    assert abs(tessera.spgemm(graph, graph) - graph @ graph).max() == 0


def test_a_fork_works_with_helpers_of_its_own():
    A = tessera.generate("poisson3d", 28)
    tessera.Plan(A)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        plan = tessera.Plan(A)
        os._exit(0 if plan.shape == A.shape else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_interrupted_rank_iterations_end_by_themselves(interrupts):
    graph = tessera.generate("rmat:scale=14")
    seen = threading.Event()

    def interrupt_once(info):
        if info.iteration == 3:
            seen.set()
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        tessera.pagerank(graph, damping=.999999, tol=0., maxiter=10**6, callback=interrupt_once)
    assert seen.is_set()
    wait_for_work()

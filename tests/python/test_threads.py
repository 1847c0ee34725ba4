"""Objects shared by threads: every result is checked against NumPy; calls that would wait for themselves are refused."""

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import tessera
from tessera import _readonly

THREADS = 4
CALLS = int(os.environ.get("TESSERA_THREAD_CALLS", "25"))  # of each thread
SIZE = 900
A = tessera.testing.generate("poisson2d", 30)
FLOW = tessera.testing.generate("convdiff", 7)
PRECONDITIONERS = ["jacobi", "spai", "fsai", "amg", "poly", "poly:4:explicit:1e-3", "neumann:3", "ilu0", "iluk:1", "ilut",
                   "ilutp", "ic0", "ict", "direct"]
METHODS = ["cg", "bicgstab", "gmres", "idr", "minres", "chebyshev", "richardson"]


@pytest.fixture(autouse=True)
def switch_often():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def vector(k, size=SIZE):
    return np.random.default_rng(k % 40).standard_normal(size)


def on_threads(call, calls=None):
    """The results of call(k), k = 0, 1, ..., from all threads at once; no call may hang."""
    start = threading.Barrier(THREADS)

    def work(first):
        start.wait()
        return [(k, call(k)) for k in range(first, THREADS * (calls or CALLS), THREADS)]

    with ThreadPoolExecutor(THREADS) as pool:
        return [each for future in [pool.submit(work, t) for t in range(THREADS)] for each in future.result(300)]


def assert_solves(matrix, results, rtol=1e-8):
    """x of b = vector(k), by the residual that NumPy computes."""
    for k, result in results:
        b = vector(k, matrix.shape[0])
        assert result.converged, (k, result.report.reason)
        assert np.linalg.norm(b - matrix @ result.x) <= 1.01 * rtol * np.linalg.norm(b), k


@pytest.mark.parametrize("kernel", tessera.kernels())
def test_plans(kernel):
    plan = tessera.Plan(A, kernel, transpose=True)

    def products(k):
        return plan @ vector(k), plan.T @ vector(k), plan @ np.column_stack([vector(k), vector(k + 1), vector(k + 2)])

    for k, (y, yt, Y) in on_threads(products):
        np.testing.assert_allclose(y, A @ vector(k), rtol=0, atol=1e-13)
        np.testing.assert_allclose(yt, A.T @ vector(k), rtol=0, atol=1e-13)
        np.testing.assert_allclose(Y[:, 2], A @ vector(k + 2), rtol=0, atol=1e-13)
    assert_solves(A, on_threads(lambda k: tessera.cg(plan, vector(k))))


@pytest.mark.parametrize("kind", PRECONDITIONERS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_preconditioners(kind, dtype):
    matrix = A.astype(dtype)
    plan = tessera.Plan(matrix)
    M = tessera.Preconditioner(plan, kind)
    want = [M @ vector(k).astype(dtype) for k in range(40)]
    for k, z in on_threads(lambda k: M @ vector(k).astype(dtype)):
        np.testing.assert_array_equal(z, want[k % 40])
    rtol = 1e-8 if dtype is np.float64 else 1e-4
    assert_solves(A, on_threads(lambda k: tessera.gmres(plan, vector(k).astype(dtype), M=M, rtol=rtol)),
                  rtol if dtype is np.float64 else 1.1 * rtol)


@pytest.mark.parametrize("kind", ["direct", "ilu0", "ilutp", "spai", "poly", "amg"])
def test_transposed_preconditioners_from_their_first_product_on(kind):
    M = tessera.Preconditioner(FLOW, kind)
    size = FLOW.shape[0]
    columns = np.column_stack([M @ e for e in np.eye(size)])
    for k, z in on_threads(lambda k: M.rmatvec(vector(k, size)), 2):
        np.testing.assert_allclose(z, columns.T @ vector(k, size), rtol=1e-5, atol=1e-5 * np.abs(z).max())


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("M", [None, "amg"])
def test_one_solver(method, M):
    if M is None and method in ("richardson", "chebyshev"):
        M = "ilu0" if method == "richardson" else "jacobi"
    solver = tessera.Solver(A, method, M=M)
    assert_solves(A, on_threads(lambda k: solver.solve(vector(k))))


@pytest.mark.parametrize("M", ["amg", "ilutp", "direct"])
def test_one_solver_of_both_systems(M):
    solver = tessera.Solver(tessera.Plan(FLOW, transpose=True), "gmres", M=tessera.Preconditioner(FLOW, M))
    size = FLOW.shape[0]

    def solve(k):
        return solver.solve(vector(k, size)) if k % 3 else solver.solve_transposed(vector(k, size))

    results = on_threads(solve)
    assert_solves(FLOW, [each for each in results if each[0] % 3])
    assert_solves(FLOW.T, [each for each in results if each[0] % 3 == 0])


CALLS_OF_FUNCTIONS = {
    "solve": lambda k: tessera.solve(A, vector(k)),
    "direct": lambda k: tessera.solve(A, vector(k), method="direct"),
    "mixed": lambda k: tessera.solve(A, vector(k), precision="mixed"),
    "operators": lambda k: tessera.cg(spla.aslinearoperator(A), vector(k), M=spla.aslinearoperator(sp.eye_array(SIZE))),
    "lsmr": lambda k: tessera.lsmr(A, vector(k), atol=1e-10, btol=1e-10),
    "cgls": lambda k: tessera.cgls(A, vector(k), atol=1e-10, btol=1e-10, precond="jacobi"),
}


@pytest.mark.parametrize("name", CALLS_OF_FUNCTIONS)
def test_solutions(name):
    assert_solves(A, on_threads(CALLS_OF_FUNCTIONS[name]))


@pytest.mark.parametrize("method", ["auto", "cg", "gmres", "minres"])
def test_columns(method):
    plan = tessera.Plan(A)
    M = tessera.Preconditioner(plan, "amg")

    def solve(k):
        B = np.column_stack([vector(k), vector(k + 1), vector(k + 2)])
        return tessera.solve(plan, B, method=method, **({} if method == "auto" else {"precond": M}))

    for k, result in on_threads(solve):
        for j in range(3):
            assert_solves(A, [(k + j, result.solutions[j])])


def test_graphs_and_products():
    graph = sp.random_array((60, 60), density=.1, rng=np.random.default_rng(3), format="csr")
    square = (graph @ graph).toarray()
    ranks, hubs, katz = tessera.pagerank(graph).ranks, tessera.hits(graph).hubs.ranks, tessera.katz(graph).ranks
    dense = graph.toarray()
    out = dense.sum(axis=1)
    np.testing.assert_allclose(  # the definition
        ranks, .85 * (dense[out > 0] / out[out > 0, None]).T @ ranks[out > 0] + (.85 * ranks[out == 0].sum() + .15) / 60,
        atol=1e-8)

    def calls(k):
        return tessera.pagerank(graph).ranks, tessera.hits(graph).hubs.ranks, tessera.katz(graph).ranks, \
            tessera.spgemm(graph, graph)

    for _, (r, h, c, S) in on_threads(calls):
        np.testing.assert_array_equal(r, ranks)
        np.testing.assert_array_equal(h, hubs)
        np.testing.assert_array_equal(c, katz)
        np.testing.assert_allclose(S.toarray(), square, rtol=1e-14)


def test_new_values_come_between_products_and_solves():
    plan = tessera.Plan(A, transpose=True)
    M = tessera.Preconditioner(plan, "ilu0")
    solver = tessera.Solver(plan, "cg", M=M)
    values = A.data.copy()

    def call(k):
        if k % 3 == 0:
            plan.update_values((1 + k % 7) * values)
            M.refresh(plan)
            return "changed", None
        if k % 3 == 1:
            return "product", plan @ vector(k)
        return "solve", solver.solve(vector(k)).x

    for k, (kind, got) in on_threads(call, 4 * CALLS):
        if kind == "product":
            scale = got @ (A @ vector(k)) / np.sum((A @ vector(k)) ** 2)
            np.testing.assert_allclose(got, round(scale) * (A @ vector(k)), rtol=0, atol=1e-12)
        elif kind == "solve":
            scale = vector(k) @ (A @ got) / np.sum((A @ got) ** 2)
            assert abs(scale - round(scale)) < 1e-6
            assert np.linalg.norm(vector(k) - round(scale) * (A @ got)) <= 1.01e-8 * np.linalg.norm(vector(k))


def test_a_callback_may_use_the_plan_but_not_change_it_nor_solve_with_its_solver():
    plan = tessera.Plan(A)
    M = tessera.Preconditioner(plan, "amg")

    def calling(function):
        solver = tessera.Solver(plan, "cg", M=M, callback=lambda info: function(solver))
        return solver.solve(vector(1))

    def look(solver):
        M.matvec(plan @ vector(2))
        tessera.cg(plan, vector(3), M=M)

    assert_solves(A, [(1, calling(look))])
    for function in (lambda solver: solver.solve(vector(2)), lambda solver: plan.update_values(A.data),
                     lambda solver: M.refresh(plan)):
        with pytest.raises(tessera.InvalidArgument, match="by a callback of a call that uses the same object"):
            calling(function)
    assert_solves(A, [(1, calling(look))])


def test_a_change_that_waits_does_not_stop_the_call_that_it_waits_for():
    large = tessera.testing.generate("poisson2d", 150)  # set-up of such a size has a thread of its own
    plan, b = tessera.Plan(large), np.ones(large.shape[0])
    changes = []

    def callback(info):
        if not changes:
            changes.append(threading.Thread(target=plan.update_values, args=(2 * large.data,)))
            changes[0].start()
            time.sleep(.1)
            assert tessera.solve(plan, b, rtol=.1).converged
            assert changes[0].is_alive()

    assert tessera.cg(plan, b, rtol=.1, callback=callback).converged
    changes[0].join(30)
    np.testing.assert_allclose(plan @ b, 2 * (large @ b), atol=1e-12)


def test_an_inner_solver_serves_several_outer_ones():
    inner = tessera.Solver(A, "cg", rtol=1e-10)
    M = spla.LinearOperator(A.shape, matvec=lambda r: inner.solve(r).x)
    outer = [tessera.Solver(A, "richardson", M=M) for _ in range(THREADS)]
    assert_solves(A, on_threads(lambda k: outer[k % THREADS].solve(vector(k))))


def test_solvers_that_call_each_other_are_refused_not_stuck():
    both_run = threading.Barrier(2)

    def solver_calling(other):
        others = [other]

        def callback(info):
            if others:
                both_run.wait(20)
                solvers[others.pop()].solve(vector(5))

        return callback

    solvers = [tessera.Solver(A, "cg", callback=solver_calling(1 - k)) for k in range(2)]
    with ThreadPoolExecutor(2) as pool:
        results = [pool.submit(solver.solve, vector(1)) for solver in solvers]
        failures = [each.exception(30) for each in results]
    assert sorted(type(each) for each in failures if each is not None) == [tessera.InvalidArgument], failures


def busy_solver():
    """A solver whose call in another thread goes on until the event is set, its plan, and that thread."""
    runs, may_end = threading.Event(), threading.Event()

    def callback(info):
        if threading.current_thread() is not threading.main_thread():
            runs.set()
            may_end.wait(30)

    plan = tessera.Plan(A)
    solver = tessera.Solver(plan, "cg", callback=callback)
    thread = threading.Thread(target=solver.solve, args=(vector(1),))
    thread.start()
    assert runs.wait(30)
    return solver, plan, may_end, thread


def test_ctrl_c_ends_a_wait(interrupts):
    solver, _, may_end, thread = busy_solver()
    threading.Timer(.2, lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)).start()
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        solver.solve(vector(2))
    assert time.monotonic() - start < 10
    may_end.set()
    thread.join(30)
    assert_solves(A, [(2, solver.solve(vector(2)))])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_does_not_wait_for_threads_that_it_has_not():
    _, plan, may_end, thread = busy_solver()
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        plan.update_values(2 * A.data)
        x = tessera.cg(plan, vector(2)).x
        os._exit(0 if np.linalg.norm(vector(2) - 2 * (A @ x)) < 1e-6 else 1)
    may_end.set()
    thread.join(30)
    assert os.waitpid(child, 0)[1] == 0


# Values changed in place under a living plan.


def writeable(matrix):
    return matrix.data.flags.writeable, matrix.indices.flags.writeable, matrix.indptr.flags.writeable


def test_arrays_are_read_only_while_a_plan_reads_them():
    B = sp.csr_array(A, copy=True)
    first, second = tessera.Plan(B), tessera.Plan(B, "sell")
    assert writeable(B) == (False, False, True)  # the offsets were widened
    with pytest.raises(ValueError, match="read-only"):
        B.data *= 2
    del first
    assert writeable(B) == (False, False, True)
    del second
    assert writeable(B) == (True, True, True)
    B.data *= 2
    solver = tessera.Solver(B, "cg")
    assert not B.data.flags.writeable
    del solver
    assert B.data.flags.writeable
    for function in (lambda: tessera.solve(B, vector(1)), lambda: tessera.cg(B, vector(1), M="amg"),
                     lambda: tessera.pagerank(abs(B)), lambda: tessera.spgemm(B, B), lambda: tessera.Preconditioner(B, "amg")):
        kept = function()
        assert writeable(B) == (True, True, True), kept


def test_updated_values_set_the_matrix_free():
    B = sp.csr_array(A, copy=True)
    plan = tessera.Plan(B)
    plan.update_values(B.data)
    B.data *= 2
    np.testing.assert_allclose(plan @ vector(1), A @ vector(1), atol=1e-13)
    plan.update_values(B.data)
    np.testing.assert_allclose(plan @ vector(1), 2 * (A @ vector(1)), atol=1e-13)
    assert not B.indices.flags.writeable
    del plan
    assert writeable(B) == (True, True, True)


def test_readers_that_end_while_another_array_is_lent_are_counted():
    mine, fixed = np.ones(3), np.ones(3)
    fixed.flags.writeable = False
    view, end = _readonly.lend(mine, 3)
    with _readonly._lock:  # as another thread has it
        end()
    _readonly.lend(fixed, 3)
    assert mine.flags.writeable and not fixed.flags.writeable


def test_arrays_that_were_read_only_stay_so():
    B = sp.csr_array(A, copy=True)
    B.data.flags.writeable = False
    plan = tessera.Plan(B)
    plan.update_values(3 * B.data)
    del plan
    assert not B.data.flags.writeable and B.indices.flags.writeable


def test_views_of_arrays_come_back_with_them():
    B = sp.csr_array(A, copy=True)
    view = sp.csr_array((B.data[:], B.indices, B.indptr), shape=B.shape)
    for order in ((view, B), (B, view)):
        first, second = (tessera.Plan(each) for each in order)
        del first
        assert not order[1].data.flags.writeable
        del second
        assert writeable(B) == writeable(view) == (True, True, True)


def test_matrices_of_the_library_come_back():
    B = tessera.spgemm(A, A)
    plan = tessera.Plan(B)
    assert not B.data.flags.writeable
    del plan
    B.data *= 2


def test_a_refused_matrix_stays_writeable():
    B = sp.csr_array((np.ones(3), np.array([0, 1, 7]), np.arange(4)), shape=(3, 8))
    B.indices[2] = 9
    try:
        tessera.Plan(B)
    except ValueError as error:  # its traceback keeps what the frames hold
        assert error.__traceback__ is not None
        assert writeable(B) == (True, True, True)
    else:
        pytest.fail("column 9 of 8 was taken")


def test_threads_plan_one_matrix():
    B = sp.csr_array(A, copy=True)
    results = on_threads(lambda k: tessera.cg(B, vector(k)))
    assert_solves(A, results)
    assert writeable(B) == (True, True, True)


def test_scipy_reads_what_a_plan_reads():
    from scipy.sparse import csgraph

    B = sp.csr_array(A, copy=True)
    plan = tessera.Plan(B)
    for look in (lambda: B @ vector(1), lambda: (B + B.T).sum(), lambda: B.toarray(), lambda: B[3:5].max(), lambda: B.tocsc(),
                 lambda: spla.spsolve(B, vector(1)), lambda: spla.splu(B.tocsc()), lambda: spla.norm(B),
                 lambda: spla.eigsh(B, 1), lambda: csgraph.connected_components(B),
                 lambda: csgraph.breadth_first_order(B, 0),
                 lambda: csgraph.minimum_spanning_tree(B), lambda: csgraph.reverse_cuthill_mckee(B)):
        look()
    assert not B.data.flags.writeable and plan.shape == B.shape

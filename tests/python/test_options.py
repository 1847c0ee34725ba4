"""Defaults and promotion by type, and arguments that are refused by name below tessera.Error."""

import functools
import pathlib
import time

import networkx
import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as spla

import tessera


def poisson(side=12):
    return tessera.generate("poisson2d", side)


A, ONES = poisson(), np.ones(144)
GRAPH = networkx.les_miserables_graph()
SYSTEMS = [tessera.solve, tessera.cg, tessera.gmres, tessera.idr, tessera.minres]


@pytest.mark.parametrize("method", SYSTEMS + [tessera.bicgstab])
@pytest.mark.parametrize("family,size", [("poisson3d", 20), ("poisson2d", 60)])
def test_the_tolerance_of_single_precision_can_be_met(method, family, size):
    matrix = tessera.generate(family, size, dtype=np.float32)
    b = matrix @ np.ones(matrix.shape[0], np.float32)
    result = method(matrix, b, maxiter=2000)
    assert result.converged and result.x.dtype == np.float32
    assert result.report.target == pytest.approx(1e-5 * np.linalg.norm(b.astype(float)), rel=1e-5)
    exact = matrix.astype(float)
    assert np.linalg.norm(b - exact @ result.x) <= 1.1e-5 * np.linalg.norm(b.astype(float))
    assert method(matrix.astype(float), b.astype(float), maxiter=2000).report.target < 1e-7 * np.linalg.norm(b)


@pytest.mark.parametrize("types", [
    ("f4", "f4", "f4"), ("f4", "f8", "f4"), ("f4", "f4", "f8"), ("f8", "f4", "f4"), ("i4", "i4", None), ("i8", "f4", None),
    ("f4", "i8", None), ("f4", "f2", None), ("f8", "f8", "i4"), ("?", "f8", None)])
@pytest.mark.parametrize("method", SYSTEMS + [tessera.lsmr, functools.partial(tessera.solve, method="direct")])
def test_types_are_promoted_as_numpy_does(method, types):
    of_a, of_b, of_x = types
    matrix = (sp.eye_array(144) if of_a == "?" else A).astype(of_a).tocsr()
    b, x0 = (3 * ONES).astype(of_b), None if of_x is None else ONES.astype(of_x)
    result = method(matrix, b, x0=x0)
    common = np.result_type(*(each for each in types if each is not None))
    want = np.float32 if common in (np.float32, np.float16) else np.float64
    assert result.converged and result.x.dtype == want
    assert np.linalg.norm(b - matrix.astype(float) @ result.x) <= 1e-4 * np.linalg.norm(b.astype(float))


def test_what_exists_in_another_type_is_refused_by_name():
    single = A.astype(np.float32)
    plan = tessera.Plan(single)
    for call in (lambda: tessera.cg(plan, ONES), lambda: tessera.solve(plan, ONES), lambda: tessera.solve(plan, A.toarray()),
                 lambda: tessera.Solver(single).solve(ONES), lambda: tessera.Solver(plan).solve(ONES.tolist())):
        with pytest.raises(tessera.InvalidArgument, match="of type float32, b of type float64"):
            call()
    with pytest.raises(tessera.InvalidArgument, match="x0 of type float64"):
        tessera.cg(plan, ONES.astype(np.float32), ONES)
    with pytest.raises(tessera.InvalidArgument, match="M is of type float32"):
        tessera.cg(A, ONES, M=tessera.Preconditioner(plan, "jacobi"))
    assert tessera.cg(A, ONES.astype(np.float32)).x.dtype == np.float64


# Words that a message has to have. All errors are below tessera.Error.
@pytest.mark.parametrize("call,words", [
    (lambda: tessera.cg(A, ONES, rtol="1e-8"), 'rtol: expected a number, got str "1e-8"'),
    (lambda: tessera.solve(A, ONES, atol=[1]), "atol: expected a number, got list [1]"),
    (lambda: tessera.cg(A, ONES, rtol=-1), "rtol: expected a number >= 0, got -1"),
    (lambda: tessera.solve(A, ONES, rtol=np.nan), "rtol: expected a number >= 0, got nan"),
    (lambda: tessera.cg(A, ONES, maxiter=2.5), "maxiter: expected a whole number, got float 2.5"),
    (lambda: tessera.gmres(A, ONES, maxiter=-1), "maxiter: expected a whole number in [0, 2^63), got -1"),
    (lambda: tessera.gmres(A, ONES, maxiter=True), "maxiter: expected a whole number, got bool True"),
    (lambda: tessera.gmres(A, ONES, restart=2**40), "restart: 1099511627776 is too large"),
    (lambda: tessera.gmres(A, ONES, restart=0), "restart"),
    (lambda: tessera.gmres(A, ONES, side=3), "side: expected a word, got int 3"),
    (lambda: tessera.cg(A, ONES, history="no"), 'history: expected True or False, got str "no"'),
    (lambda: tessera.cg(A, ONES, callback=3), "callback: expected a function, got int 3"),
    (lambda: tessera.cg(A, ONES, time_limit="1s"), 'time_limit: expected a number, got str "1s"'),
    (lambda: tessera.Solver(A, "cg", seed=None), "seed: expected a whole number, got None"),
    (lambda: tessera.lsmr(A, ONES, atol="1"), 'atol: expected a number, got str "1"'),
    (lambda: tessera.cgls(A, ONES, damp=None, conlim="x"), 'conlim: expected a number, got str "x"'),
    (lambda: tessera.lsmr(A, ONES, maxiter=1.5), "maxiter: expected a whole number"),
    # Names.
    (lambda: tessera.cg(A, ONES, tol=1e-5), '"tol"; did you mean rtol?'),
    (lambda: tessera.solve(A, ONES, rtoll=1e-5), '"rtoll"; did you mean rtol?'),
    (lambda: tessera.solve(A, ONES, M="amg"), '"M"; did you mean precond?'),
    (lambda: tessera.cg(A, ONES, precond="amg"), '"precond"; did you mean M?'),
    (lambda: tessera.cg(A, ONES, max_iter=5), '"max_iter"; did you mean maxiter?'),
    (lambda: tessera.gmres(A, ONES, restrt=5), '"restrt"; did you mean restart?'),
    (lambda: tessera.lsmr(A, ONES, timelimit=5), '"timelimit"; did you mean time_limit?'),
    (lambda: tessera.solve(A, ONES, method="gmress"), 'none of auto, cg'),
    (lambda: tessera.solve(A, ONES, method="gmress"), "did you mean gmres?"),
    (lambda: tessera.Solver(A, "bicgstb"), "did you mean bicgstab?"),
    (lambda: tessera.cg(A, ONES, M="ilutq"), "did you mean ilut"),
    (lambda: tessera.Preconditioner(A, "amgg"), "did you mean amg?"),
    (lambda: tessera.Preconditioner(A, 3), "preconditioner: expected a word, got int 3"),
    (lambda: tessera.Preconditioner(A, "amg", cycel="w"), 'has no option "cycel"; did you mean \'cycle\'?'),
    (lambda: tessera.Preconditioner(A, "amg", cycle="ww"), "amg: cycle \"ww\" is none of v, w, k; did you mean 'w'?"),
    (lambda: tessera.Preconditioner(A, "amg", max_levels="3"), 'amg: max_levels: expected a whole number, got str "3"'),
    (lambda: tessera.Preconditioner(A, "amg", max_levels=2.5), "amg: max_levels: expected a whole number, got float 2.5"),
    (lambda: tessera.Preconditioner(A, "amg", cycle=1), "amg: cycle: expected a word, got int 1"),
    (lambda: tessera.Preconditioner(A, "ilut", drop_tolerance="x"), 'ilut: drop_tolerance: expected a number, got str "x"'),
    (lambda: tessera.Preconditioner(A, "poly", explicit_matrix=2), "poly: explicit_matrix: expected True or False, got int 2"),
    (lambda: tessera.Preconditioner(A, "bjacobi"), "bjacobi:4:ilu0"),
    (lambda: tessera.Preconditioner(A, "bjacobi:4:amg"), '"amg" is none of ilu0, iluk'),
    # Options of other methods.
    (lambda: tessera.cg(A, ONES, restart=5), 'restart does not apply to "cg": it belongs to gmres'),
    (lambda: tessera.solve(A, ONES, method="idr", restart=5), 'restart does not apply to "idr": it belongs to gmres'),
    (lambda: tessera.cg(A, ONES, spectrum_low=3.), 'spectrum_low does not apply to "cg": it belongs to chebyshev'),
    (lambda: tessera.gmres(A, ONES, spectrum_low=3.), 'spectrum_low does not apply to "gmres"'),
    (lambda: tessera.minres(A, ONES, seed=7), 'seed does not apply to "minres": it belongs to bicgstab, idr'),
    (lambda: tessera.idr(A, ONES, side="right"), 'side does not apply to "idr"'),
    (lambda: tessera.solve(A, ONES, spectrum_high=3.), 'spectrum_high does not apply to "auto"'),
    (lambda: tessera.solve(A, ONES, method="direct", restart=3), 'restart does not apply to "direct"'),
    (lambda: tessera.solve(A, ONES, precond="amg", restart=3), 'restart does not apply to "cg"'),
    (lambda: tessera.solve(A, ONES, method="direct", precond="amg"), 'precond does not apply to "direct"'),
    (lambda: tessera.solve(A, np.ones((144, 2)), method="minres", seed=3), 'seed does not apply to "minres"'),
    (lambda: tessera.solve(A[:, :9], ONES, atol=1.), 'atol does not apply to "lsmr"'),
    (lambda: tessera.solve(A[:, :9], ONES, restart=1), "restart"),
    (lambda: tessera.solve(A[:, :9], ONES, precond="amg"), 'precond "amg" is none of none, jacobi'),
    # Matrices and vectors.
    (lambda: tessera.solve("a.mtx", ONES), 'A is str "a.mtx", a path: tessera.read'),
    (lambda: tessera.pagerank(pathlib.Path("a.mtx")), "Path, a path: tessera.read"),
    (lambda: tessera.Plan(None), "A is None, no matrix"),
    (lambda: tessera.cg(lambda x: x, ONES), "a function: LinearOperator(shape, matvec=function)"),
    (lambda: tessera.cg(A, ONES, M=spla.splu(A.tocsc())), "M is SuperLU, factors: LinearOperator"),
    (lambda: tessera.cg(A, ONES, M=spla.splu(A.tocsc()).solve), "a function: LinearOperator"),
    (lambda: tessera.solve(GRAPH, ONES), "A is networkx.Graph, a graph: networkx.to_scipy_sparse_array"),
    (lambda: tessera.solve({}, ONES), "A is dict {}, no matrix"),
    (lambda: tessera.solve(ONES, A), "A has shape (144,): a matrix has 2 dimensions"),
    (lambda: tessera.solve(ONES, ONES), "A has shape (144,): a matrix has 2 dimensions"),
    (lambda: tessera.cg(A, sp.csr_array(ONES[:, None])), "b is a sparse matrix of shape (144, 1): b.toarray()"),
    (lambda: tessera.cg(A, ONES, sp.csr_array(ONES[:, None])), "x0 is a sparse matrix"),
    (lambda: tessera.lsmr(A, sp.csr_array(ONES[:, None])), "b is a sparse matrix"),
    (lambda: tessera.Plan(A) @ sp.csr_array(ONES[:, None]).tocoo().data.astype(str), "x of type"),
    (lambda: tessera.solve(A, None), "b is None: an array is needed"),
    (lambda: tessera.solve(A, "b.mtx"), 'b is str "b.mtx": an array is needed'),
    (lambda: tessera.solve(A, 3.), "b is float 3.0: an array is needed"),
    (lambda: tessera.solve(A, ["x"] * 144), "b of type <U1: numbers are needed"),
    (lambda: tessera.solve(A, 1j * ONES), "b of type complex128"),
    (lambda: tessera.solve(A * 1j, ONES), "A of type complex128"),
    (lambda: tessera.solve([[1., 2.], [3.]], ONES), "A: "),
    (lambda: tessera.spgemm(A, "b"), 'B is str "b"'),
    # Edges.
    (lambda: tessera.pagerank([(0, 1), (1, 2)]), "A is list [(0, 1), (1, 2)], with tuples: edges are for networkx"),
    (lambda: tessera.katz([(0, 1, .5), (1, 2, .5), (2, 0, 1.)]), "read_edges"),
    (lambda: tessera.hits(((0, 1), (1, 0))), "read_edges"),
    (lambda: tessera.pagerank(GRAPH.edges), "EdgeView, no matrix"),
    (lambda: tessera.pagerank(zip([0], [1])), "zip, no matrix"),
    # Graphs and generators.
    (lambda: tessera.pagerank(GRAPH, dangling={"Valjean": 1}), "dangling: expected one of teleport, uniform, self, drop, got dict"),
    (lambda: tessera.pagerank(GRAPH, dangling="uniforn"), "did you mean uniform?"),
    (lambda: tessera.pagerank(GRAPH, "0.85"), 'damping: expected a number, got str "0.85"'),
    (lambda: tessera.pagerank(GRAPH, tol=-1.), "tol: expected a number >= 0"),
    (lambda: tessera.pagerank(GRAPH, personalization={"Valjean": "much"}), 'personalization: expected a number, got str "much"'),
    (lambda: tessera.pagerank(GRAPH, kernel=3), "kernel: expected a word, got int 3"),
    (lambda: tessera.katz(GRAPH, beta={"Valjean": 1}), "beta: expected a number, got dict"),
    (lambda: tessera.katz(GRAPH, maxiter="9"), 'maxiter: expected a whole number, got str "9"'),
    (lambda: tessera.hits(GRAPH, history=1), "history: expected True or False, got int 1"),
    (lambda: tessera.generate("poisson2d", 3.5), "size: expected a whole number, got float 3.5"),
    (lambda: tessera.generate("poisson2d", seed="x"), 'seed: expected a whole number, got str "x"'),
    (lambda: tessera.generate(3), "family: expected a word, got int 3"),
    (lambda: tessera.generate("elasticity3d", 4, nu="x"), 'nu: expected a number, got str "x"'),
    (lambda: tessera.Plan(A, 3), "kernel: expected a word, got int 3"),
    (lambda: tessera.Plan(A, transpose="yes"), 'transpose: expected True or False, got str "yes"'),
    (lambda: tessera.Plan(A, expected_products=1.5), "expected_products: expected a whole number"),
    (lambda: tessera.spgemm(A, A, memory_limit="1"), 'memory_limit: expected a whole number, got str "1"'),
    (lambda: tessera.read(3), "path: expected a path, got int 3"),
    (lambda: tessera.read("a.mtx", "float99"), "dtype: "),
    (lambda: tessera.read("a.mtx", int), "dtype: expected float64 or float32, got int64"),
    (lambda: tessera.generate("poisson2d", 3, dtype="float99"), "dtype: "),
    # Keywords of functions that list them, and values of plans.
    (lambda: tessera.pagerank(GRAPH, alpha=.9), '"alpha"; did you mean damping?'),
    (lambda: tessera.pagerank(GRAPH, max_iter=9), '"max_iter"; did you mean maxiter?'),
    (lambda: tessera.hits(GRAPH, nstart=1), 'unexpected keyword argument "nstart"'),
    (lambda: tessera.katz(GRAPH, weigth=None), '"weigth"; did you mean weight?'),
    (lambda: tessera.spgemm(A, A, workflw="esc"), '"workflw"; did you mean workflow?'),
    (lambda: tessera.read("a.mtx", dtyp=float), '"dtyp"; did you mean dtype?'),
    (lambda: tessera.Plan(A, kernl="csr"), '"kernl"; did you mean kernel?'),
    (lambda: tessera.Plan(A).update_values("x"), 'values is str "x": an array is needed'),
    (lambda: tessera.Plan(A).update_values(A.data * 1j), "values of type complex128"),
    (lambda: tessera.Plan(A).update_values(A.data[None]), "the matrix 672 nonzeros"),
    (lambda: tessera.Plan(A) @ np.ones((144, 2), complex), "x of type complex128"),
    (lambda: tessera.Plan(A).apply(ONES, out=[0.]), "out is list [0.0]: an array is needed"),
    (lambda: tessera.Plan(A).apply(ONES, out=np.frombuffer(bytes(1152))), "which may be written"),
    (lambda: tessera.Plan(A).T @ ONES, "make the plan with transpose=True"),
    (lambda: tessera.Plan(A, stream=1), "stream is for a matrix that lies on a GPU"),
    (lambda: tessera.solve(tessera.Plan(A), ONES, stream=1), "stream is for a matrix that lies on a GPU"),
    # Words of C++ become those of Python.
    (lambda: tessera.Preconditioner(A, "amg", sweeps=-1), "sweeps must be in [1, 8], got -1"),
    (lambda: tessera.Preconditioner(A, "amg", near_nullspace=np.nan * ONES), "near_nullspace must be finite, got nan"),
])
def test_what_is_wrong_is_named(call, words):
    with pytest.raises(tessera.Error) as caught:
        call()
    assert words in str(caught.value)
    assert not any(word in str(caught.value) for word in ("--", "nanobind", "::"))


def test_wrong_types_are_type_errors_too():
    for call in (lambda: tessera.cg(A, ONES, rtol="1"), lambda: tessera.cg(A, ONES, tol=1), lambda: tessera.Plan(None),
                 lambda: tessera.Preconditioner(A, "amg", max_levels="3")):
        with pytest.raises(TypeError) as caught:
            call()
        assert isinstance(caught.value, tessera.OptionError) and isinstance(caught.value, ValueError)


def test_whole_numbers_may_be_floats():
    assert tessera.cg(A, ONES, maxiter=1e1).report.iterations == 10
    assert tessera.gmres(A, ONES, restart=np.float64(5), maxiter=np.int32(7)).report.iterations == 7
    assert tessera.generate("poisson2d", 4.0).shape == (16, 16)
    assert tessera.Preconditioner(A, "amg", max_levels=1.0, sweeps=np.int64(2)).shape == A.shape


class Items:
    """Looked at item by item, it never ends; so are sparse matrices of JAX."""

    shape = (10**9, 10**9)

    def __len__(self):
        return 10**9

    def __getitem__(self, i):
        return Items()


def test_unknown_objects_are_refused_at_once():
    begin = time.monotonic()
    for call in (lambda: tessera.solve(Items(), ONES), lambda: tessera.cg(A, Items()), lambda: tessera.pagerank(Items()),
                 lambda: tessera.cg(A, ONES, M=Items()), lambda: tessera.lsmr(A, ONES, x0=Items())):
        with pytest.raises(tessera.Error, match="Items"):
            call()
    assert time.monotonic() - begin < 1


def test_lists_of_names():
    assert {"auto", "cg", "gmres", "direct", "lsmr"} <= set(tessera.methods())
    assert {"none", "jacobi", "amg", "bjacobi", "direct"} <= set(tessera.preconditioners())
    b = A @ np.arange(144.)
    for method in tessera.methods():
        result = tessera.solve(A, b, method=method)
        assert result.converged and method in ("auto", result.report.method), method
    for name in tessera.preconditioners():
        spec = "bjacobi:4" if name == "bjacobi" else name
        assert tessera.cg(A, b, M=spec).converged, name


def test_block_jacobi_is_that_of_the_blocks():
    M = tessera.Preconditioner(A, "bjacobi:3:ilut:0:144")
    assert "bjacobi:3:ilut:0:144" in repr(M)
    r = np.random.default_rng(1).standard_normal(144)
    dense, want = A.toarray(), np.empty(144)
    for i in range(0, 144, 48):
        want[i:i + 48] = np.linalg.solve(dense[i:i + 48, i:i + 48], r[i:i + 48])
    natural = tessera.Preconditioner(A, "bjacobi:3:iluk:60")
    np.testing.assert_allclose(natural @ r, want, rtol=1e-10)
    assert tessera.cg(A, ONES, M="bjacobi:4:ilu0").report.precond == "bjacobi:4:ilu0"
    assert tessera.cg(A, r, M="bjacobi:2:ic0").report.iterations < tessera.cg(A, r).report.iterations


@pytest.mark.parametrize("shape", [(144, 9), (9, 144)])
def test_rectangular_systems_are_least_squares(shape):
    matrix = A[:shape[0], :shape[1]]
    b = np.random.default_rng(1).standard_normal(shape[0])
    result = tessera.solve(matrix, b, rtol=1e-12)
    assert result.converged and (result.report.method, result.report.precond) == ("lsmr", "none")
    np.testing.assert_allclose(result.x, np.linalg.lstsq(matrix.toarray(), b)[0], atol=1e-8)
    assert tessera.solve(matrix, b, method="cgls", precond="jacobi").report.precond == "jacobi"
    assert tessera.solve(matrix, b, maxiter=1).report.status == "max_iterations"
    with pytest.raises(tessera.DimensionError, match=f"{shape[0]} x {shape[1]}.*lsmr"):
        tessera.solve(matrix, b, method="gmres")


def elasticity(side=6):
    matrix = tessera.generate("elasticity3d", side)
    # The face x = 0 is clamped and left out; x runs fastest.
    axis = np.arange(side, dtype=float)
    return matrix, np.stack(np.meshgrid(axis, axis, axis[1:], indexing="ij")[::-1], -1).reshape(-1, 3)


def test_near_nullspace_has_a_vector_per_column():
    matrix, places = elasticity()
    n = matrix.shape[0]
    b = np.random.default_rng(2).standard_normal(n)

    def iterations(**options):
        return tessera.cg(matrix, b, M=tessera.Preconditioner(matrix, "amg", block_size=3, **options)).report.iterations

    constants = np.tile(np.eye(3), (n // 3, 1))
    assert iterations(near_nullspace=constants) == iterations(near_nullspace=np.asfortranarray(constants)) == iterations()
    # Rotations about the axes: a x places.
    rotations = np.stack([np.cross(axis, places).ravel() for axis in np.eye(3)], -1)
    rigid = np.hstack([constants, rotations])
    # Rigid body modes map to forces at the clamped face alone.
    assert abs(matrix @ rigid).max(axis=1).reshape(-1, 3).max(axis=1)[places[:, 0] > 1].max() < 1e-12
    by_places = iterations(coordinates=places)
    assert iterations(near_nullspace=rigid) == by_places < iterations()
    unnamed = tessera.Preconditioner(matrix, "amg", coordinates=places)  # unknowns per node follow
    assert tessera.cg(matrix, b, M=unnamed).report.iterations == by_places
    for wrong in (constants.ravel(), constants.T, constants.T.ravel(), constants[1:]):
        with pytest.raises(tessera.DimensionError, match=r"near_nullspace has shape .*\(540, k\) is needed"):
            iterations(near_nullspace=wrong)
    for wrong in (places.ravel(), places.T, places[1:], places[:, :2]):
        with pytest.raises(tessera.DimensionError, match="coordinates have shape"):
            iterations(coordinates=wrong)


KINDS = ["jacobi", "spai:0", "spai:1", "fsai:1", "amg", "poly:3", "poly:3:explicit:1e-3", "neumann:2", "ilu0", "iluk:1",
         "ilut:1e-3:10", "ilutp:1e-3:10", "ic0", "ict", "bjacobi:2:ilu0", "direct"]


@pytest.mark.parametrize("kind,options", [(kind, {}) for kind in KINDS] + [("amg", {"prepare_refresh": True})])
def test_refresh_takes_new_values_and_no_other_positions(kind, options):
    M = tessera.Preconditioner(A, kind, **options)
    before = M @ ONES
    more = sp.csr_array(A + sp.coo_array(([-.3, -.3], ([0, 50], [50, 0])), shape=A.shape))
    fewer = A.copy()
    fewer[0, 1] = fewer[1, 0] = 0
    fewer.eliminate_zeros()
    elsewhere = sp.csr_array(fewer + sp.coo_array(([-.3, -.3], ([0, 50], [50, 0])), shape=A.shape))
    for other in (more, fewer, elsewhere, tessera.Plan(more)):
        with pytest.raises(tessera.InvalidMatrix, match="refresh takes new values alone: the positions are not"):
            M.refresh(other)
    np.testing.assert_array_equal(M @ ONES, before)
    M.refresh(2 * A)
    np.testing.assert_allclose(M @ ONES, before / 2, rtol=1e-6)
    own = A.copy()
    M = tessera.Preconditioner(own, kind, **options)
    own.data *= 4  # M does not look at them
    np.testing.assert_array_equal(M @ ONES, before)
    M.refresh(own)
    np.testing.assert_allclose(M @ ONES, before / 4, rtol=1e-6)
    M.refresh((4 * A).astype(np.float32))
    np.testing.assert_allclose(M @ ONES, before / 4, rtol=1e-6)
    with pytest.raises(tessera.DimensionError):
        M.refresh(A[:100, :100])
    with pytest.raises(tessera.InvalidArgument, match="Plan of type float32"):
        M.refresh(tessera.Plan(A.astype(np.float32)))


def test_limits_end_as_in_the_command():
    hard = tessera.generate("poisson2d", 60)
    b = hard @ np.ones(3600)
    assert tessera.cg(hard, b, maxiter=0).report.status == "max_iterations"
    for options in ({}, {"M": "amg"}):
        report = tessera.cg(hard, b, time_limit=0, **options).report
        assert report.status == "time_limit" and report.info == 1
        assert "set up; ||b" in report.reason or not options
        assert {each.status for each in tessera.cg(hard, np.stack([b, b], 1), time_limit=0, **options).reports} == {"time_limit"}
    for options in ({}, {"method": "direct"}, {"precond": "amg"}, {"method": "lsmr"}):
        assert tessera.solve(hard, b, time_limit=0, **options).report.status == "time_limit"
    # Refinement by exact factors ends where it lowers the residual no more.
    report = tessera.solve(hard, b, method="direct", rtol=1e-18).report
    assert report.status in ("stagnated", "max_iterations") and report.iterations <= 10

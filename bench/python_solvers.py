#!/usr/bin/env python3
"""Solvers against CuPy's cg, gmres, minres, lsmr and cgs on a GPU, per iteration and to a tolerance, and what a call costs
over C++; prints JSON.

    python_solvers.py [--problems poisson3d:200,...] [--precond none|jacobi] [--rtol 1e-8] [--maxiter 5000] [FILE.mtx.gz...]

Problems are generated ones (default: Poisson 3D with 20, 40 and 200 points a side, 2D with 300), and the files. Matrices that
are not symmetric leave out cg and minres, rectangular ones all but lsmr. BiCGSTAB stands beside cgs: both take two products
per iteration. Everything runs in one stream that is not the default one: the caller's.

Cost of a call: what `Solver.solve` takes beyond the solve that C++ times inside it, median of 200 calls of one iteration;
its parts are timed apart. On the host the same with NumPy.

Per iteration: the best of five solves of 100 iterations. To the tolerance: the best of three, with iterations counted in
one more solve, since CuPy counts by callbacks. CuPy computes the residual of every x. Its minres and lsmr test something
else than ||b - A x|| <= rtol ||b||: their rtol is lowered by tens until that holds.
"""

import argparse
import functools
import inspect
import json
import pathlib
import sys
import time

import cupy
import cupyx.scipy.sparse as csp
import cupyx.scipy.sparse.linalg as cspla
import numpy as np

import tessera
from tessera._matrix import as_vector
from tessera._solve import _first_guess

# Ours and CuPy's.
PAIRS = {"cg": "cg", "minres": "minres", "gmres": "gmres", "bicgstab": "cgs", "lsmr": "lsmr"}
RESTART = 50
FIXED_ITERATIONS = 100
LEAST_RTOL = 1e-15


def best(work, rounds):
    times = []
    for _ in range(rounds):
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - begin)
    return min(times)


class Problem:
    def __init__(self, name, matrix):
        self.name, self.shape, self.nnz, self.host = name, matrix.shape, matrix.nnz, matrix
        self.A = csp.csr_matrix(matrix)
        self.A.sort_indices()
        self.is_symmetric = matrix.shape[0] == matrix.shape[1] and abs(matrix - matrix.T).max() == 0
        self.diagonal = cupy.asarray(matrix.diagonal())
        # With more rows than columns b is random, else b = A x.
        rng = cupy.random.default_rng(1)
        m, n = matrix.shape
        self.b = rng.standard_normal(m) if m > n else self.A @ rng.standard_normal(n)

    def methods(self):
        if self.shape[0] != self.shape[1]:
            return ["lsmr"]
        return [method for method in PAIRS if self.is_symmetric or method not in ("cg", "minres")]

    def residuals(self, x):
        """norm(b - A x) / norm(b), and norm(A^T r) / (norm(A) norm(r)) with the Frobenius norm of A."""
        r = self.b - self.A @ x
        size = float(cupy.linalg.norm(r))
        whole = float(cupy.linalg.norm(self.A.data)) * size
        gradient = float(cupy.linalg.norm(self.A.T @ r))
        return {"residual": size / float(cupy.linalg.norm(self.b)), "optimality": gradient / whole if whole else 0.0}


def least_squares_test(shape, rtol):
    """Of lsmr. With no more rows than columns ||r|| <= rtol ||b|| alone: CuPy's test adds atol ||A|| ||x|| to it."""
    return {"atol": rtol if shape[0] > shape[1] else 0.0, "btol": rtol, "conlim": 0}


class Tessera:
    name = "tessera"

    def __init__(self, problem, precond):
        self.b = problem.b
        self.plan = tessera.Plan(problem.A)
        self.transposable = functools.cache(lambda: tessera.Plan(problem.A, transpose=True))  # for lsmr
        self.M = None if precond == "none" else precond

    def solver(self, method, rtol, maxiter):
        """A function that solves and returns x, iterations and status, or None where this tessera has no such method."""
        if method == "lsmr":
            solve = self.least_squares(rtol, maxiter)
        else:
            options = {"restart": RESTART} if method == "gmres" else {}
            try:
                solve = tessera.Solver(self.plan, method, M=self.M, rtol=rtol, maxiter=maxiter, **options).solve
            except tessera.InvalidArgument:
                solve = None
        if solve is None:
            return None

        def run():
            done = solve(self.b)
            return done.x, done.report.iterations, done.report.status

        return run

    def least_squares(self, rtol, maxiter):
        function = getattr(tessera, "lsmr", None)
        return function and functools.partial(function, self.transposable(), **least_squares_test(self.plan.shape, rtol),
                                              maxiter=maxiter)

    def counted(self, method, rtol, maxiter):
        return self.solver(method, rtol, maxiter)()


class CuPy:
    name = "cupy"

    def __init__(self, problem, precond):
        self.A, self.b = problem.A, problem.b
        inverse = None if precond == "none" else 1.0 / problem.diagonal
        self.M = None if inverse is None else cspla.LinearOperator(self.A.shape, matvec=lambda x: inverse * x,
                                                                  dtype=self.A.dtype)

    def solver(self, method, rtol, maxiter, callback=None):
        function = getattr(cspla, PAIRS[method], None)
        if function is None:
            return None
        if method == "lsmr":
            arguments = {**least_squares_test(self.A.shape, rtol), "maxiter": maxiter}
        else:
            tolerance = "rtol" if "rtol" in inspect.signature(function).parameters else "tol"
            arguments = {tolerance: rtol, "maxiter": maxiter, "M": self.M, "callback": callback}
        if method == "gmres":
            arguments["restart"] = RESTART

        def run():
            done = function(self.A, self.b, **arguments)
            failed = done[1] == 7 if method == "lsmr" else done[1] != 0
            return done[0], done[2] if method == "lsmr" else None, "max_iterations" if failed else "converged"

        return run

    def counted(self, method, rtol, maxiter):
        calls = 0

        def count(_):
            nonlocal calls
            calls += 1

        x, iterations, status = self.solver(method, rtol, maxiter, count)()
        return x, iterations or calls * (RESTART if method == "gmres" else 1), status


def per_iteration(side, method):
    run = side.solver(method, 1e-30, FIXED_ITERATIONS)
    _, iterations, _ = side.counted(method, 1e-30, FIXED_ITERATIONS)
    run()
    return best(run, 5) / max(iterations, 1) * 1e6


def median_us(work, calls=200):
    """Of what `work` returns, seconds."""
    work()
    return float(np.median([work() for _ in range(calls)])) * 1e6


def seconds_of(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def call_cost(A, b):
    """Microseconds of a call beyond the solve of C++, whole and in parts."""
    plan = tessera.Plan(A)
    solver = tessera.Solver(plan, "cg", rtol=1e-30, maxiter=1)

    def beyond():
        begin = time.perf_counter()
        done = solver.solve(b)
        return time.perf_counter() - begin - done._facts["times_ms"]["solve"] / 1e3

    vector = as_vector(b, plan.shape[0], plan.dtype, "b", plan._context)
    x, target = _first_guess(None, b, plan.shape[0], plan.dtype, plan._context)

    def beyond_of_extension():
        begin = time.perf_counter()
        facts = solver._core.solve(vector, target)
        return time.perf_counter() - begin - facts["times_ms"]["solve"] / 1e3

    parts = {"b": lambda: as_vector(b, plan.shape[0], plan.dtype, "b", plan._context),
             "x": lambda: _first_guess(None, b, plan.shape[0], plan.dtype, plan._context)}
    return {"call": median_us(beyond), "extension": median_us(beyond_of_extension),
            **{name: median_us(functools.partial(seconds_of, part)) for name, part in parts.items()}}


def is_met(problem, found, rtol):
    consistent = problem.shape[0] <= problem.shape[1]
    return found["residual"] <= 1.01 * rtol or (not consistent and found["optimality"] <= rtol)


def to_tolerance(problem, side, method, rtol, maxiter):
    """Rtol of the call, iterations, status, residuals by CuPy, whether they meet the tolerance, milliseconds."""
    asked = rtol
    while True:
        x, iterations, status = side.counted(method, asked, maxiter)
        found = problem.residuals(x)
        met = is_met(problem, found, rtol)
        if met or status != "converged" or side.name == "tessera" or asked <= LEAST_RTOL:
            break
        asked /= 10
    return {"rtol": asked, "iterations": iterations, "status": status, **found, "met": met,
            "ms": best(side.solver(method, asked, maxiter), 3) * 1e3}


def measure(problem, side, method, rtol, maxiter):
    if side.solver(method, rtol, maxiter) is None:
        return {"skipped": f"{side.name} has no {method if side.name == 'tessera' else PAIRS[method]}"}
    try:
        return {"per_iteration_us": per_iteration(side, method), **to_tolerance(problem, side, method, rtol, maxiter)}
    except Exception as error:  # one that fails must not end the others
        return {"failed": f"{type(error).__name__}: {error}"}


def compare(problem, precond, rtol, maxiter):
    if precond == "jacobi" and (problem.shape[0] != problem.shape[1] or not bool((problem.diagonal != 0).all())):
        return {"problem": problem.name, "skipped": "jacobi needs a square matrix with a full diagonal"}
    sides = [Tessera(problem, precond), CuPy(problem, precond)]
    results = []
    for method in problem.methods():
        if method == "lsmr" and precond != "none":
            continue
        entry = {"method": method, "cupy_method": PAIRS[method]}
        entry |= {side.name: measure(problem, side, method, rtol, maxiter) for side in sides}
        for key, name in (("per_iteration_us", "speedup_per_iteration"), ("ms", "speedup_to_tolerance")):
            if key in entry["tessera"] and key in entry["cupy"]:
                entry[name] = entry["cupy"][key] / entry["tessera"][key]
        print(problem.name, json.dumps(entry), file=sys.stderr, flush=True)
        results.append(entry)
    costs = {}
    if problem.is_symmetric:
        costs = {"call_cost_us": {"gpu": call_cost(problem.A, problem.b), "host": call_cost(problem.host, problem.b.get())}}
    return {"problem": problem.name, **costs, "rows": problem.shape[0], "cols": problem.shape[1], "nnz": problem.nnz,
            "kernel": sides[0].plan.info.kernel, "methods": results}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--problems", default="poisson3d:20,poisson3d:40,poisson3d:200,poisson2d:300")
    parser.add_argument("--precond", choices=("none", "jacobi"), default="none")
    parser.add_argument("--rtol", type=float, default=1e-8)
    parser.add_argument("--maxiter", type=int, default=5000)
    arguments = parser.parse_args()
    problems = {name: functools.partial(tessera.generate, name) for name in arguments.problems.split(",") if name}
    problems |= {path.name.split(".mtx")[0]: functools.partial(tessera.read, path) for path in arguments.files}
    device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    with cupy.cuda.Stream(non_blocking=True):
        results = [compare(Problem(name, make()), arguments.precond, arguments.rtol, arguments.maxiter)
                   for name, make in problems.items()]
    print(json.dumps({"benchmark": "python_solvers", "device": device, "build": tessera.build_info(),
                      "cupy": cupy.__version__, "numpy": np.__version__, "precond": arguments.precond,
                      "rtol": arguments.rtol, "maxiter": arguments.maxiter, "results": results}, indent=1))


if __name__ == "__main__":
    main()

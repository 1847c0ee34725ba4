#!/usr/bin/env python3
"""CG per iteration against CuPy's own on a GPU, and what a call costs over C++; prints JSON.

    python_cg.py [SIDE...]      Poisson 3D with so many points a side (default 20 40 200)

Both iterate a fixed number of times without a preconditioner; the best of five.
"""

import inspect
import json
import sys
import time

import cupy
import cupyx.scipy.sparse as csp
import cupyx.scipy.sparse.linalg as cspla

import tessera


def best(work, rounds=5):
    times = []
    for _ in range(rounds):
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        work()
        cupy.cuda.Device().synchronize()
        times.append(time.perf_counter() - begin)
    return min(times)


def compare(side, iterations=100):
    A = csp.csr_matrix(tessera.generate("poisson3d", side))
    b = cupy.random.default_rng(1).standard_normal(A.shape[0])
    plan = tessera.Plan(A)
    solver = tessera.Solver(plan, "cg", rtol=1e-30, maxiter=iterations)
    result = solver.solve(b)
    ours = best(lambda: solver.solve(b)) / result.report.iterations
    tolerance = "rtol" if "rtol" in inspect.signature(cspla.cg).parameters else "tol"
    theirs = best(lambda: cspla.cg(A, b, **{tolerance: 1e-30}, maxiter=iterations)) / iterations
    overhead = best(lambda: solver.solve(b), 20) - solver.solve(b).report.times_ms["solve"] / 1e3
    return {"rows": A.shape[0], "iterations": result.report.iterations, "kernel": plan.info.kernel,
            "tessera_us": ours * 1e6, "cupy_us": theirs * 1e6, "ratio": theirs / ours, "call_overhead_us": overhead * 1e6}


sides = [int(word) for word in sys.argv[1:]] or [20, 40, 200]
name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
print(json.dumps({"device": name, "build": tessera.build_info(), "cupy": cupy.__version__,
                  "results": [compare(side) for side in sides]}, indent=1))

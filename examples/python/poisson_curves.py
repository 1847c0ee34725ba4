"""Solves Poisson's equation with several preconditioners and draws their curves of convergence.

    python poisson_curves.py [SIDE]

Writes curves.png where matplotlib is installed.
"""

import sys

import numpy as np

import tessera

side = int(sys.argv[1]) if len(sys.argv) > 1 else 60
A = tessera.generate("poisson2d", side)
b = A @ np.ones(A.shape[0])

reports = {}
for precond in ("none", "jacobi", "ic0", "amg"):
    result = tessera.solve(A, b, method="cg", precond=precond, rtol=1e-10)
    reports[precond] = result.report
    print(f"{precond:>8}: {result.report.status} after {result.report.iterations} iterations, "
          f"error {abs(result.x - 1).max():.1e}")

try:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
except ImportError:
    print("no matplotlib here: no plot")
else:
    figure, axes = pyplot.subplots()
    for precond, report in reports.items():
        axes.semilogy(report.history.iteration, report.history.residual, label=precond)
    axes.set_xlabel("iteration")
    axes.set_ylabel("residual")
    axes.legend()
    figure.savefig("curves.png", dpi=120)
    print("curves.png shows the residuals")

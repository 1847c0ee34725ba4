"""What the first hour in Python looks like, on a machine where nothing but the package, SciPy and NetworkX is installed.

Run by scripts/clean-debian.sh. Its results are held against SciPy and NetworkX.
"""

import networkx
import numpy as np
import scipy.sparse as sp

import tessera

# Ten lines solve a matrix of SciPy.
T = sp.diags_array([-np.ones(99), 2 * np.ones(100), -np.ones(99)], offsets=[-1, 0, 1])
A = sp.csr_array(sp.kronsum(T, T))
b = A @ np.ones(A.shape[0])
result = tessera.solve(A, b)
print(result.report)
assert result.converged and np.linalg.norm(b - A @ result.x) <= 1.01e-8 * np.linalg.norm(b)

# Five rank a graph of NetworkX.
graph = networkx.karate_club_graph()
ranks = tessera.pagerank(graph, damping=0.85, tol=1e-14)
want = networkx.pagerank(graph, alpha=0.85, tol=1e-15, max_iter=1000)
print(ranks.top(3))
assert max(abs(ranks.as_dict()[node] - want[node]) for node in graph) < 1e-8

# Five multiply.
C = tessera.spgemm(A, A)
plan = tessera.Plan(A, kernel="merbit")
y = plan @ b
assert abs(C - A @ A).max() == 0 and np.allclose(y, A @ b, rtol=1e-13)
print(tessera.build_info())

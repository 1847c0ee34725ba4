#!/usr/bin/env python3
"""That scripts/quality.py finds what it is there to find: reports that contradict x, and outcomes that left the page."""

import fractions
import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))

import quality  # noqa: E402
import quality_page  # noqa: E402
import quality_runs  # noqa: E402
import quality_systems  # noqa: E402


def small_system():
    return quality_systems.System("small", [], (3, 3), [[0, 1], [0, 1, 2], [1, 2]],
                                  [[0.1, 0.7], [1e8, -0.3, 2.0], [0.9, 1e-8]])


def exact_residual(system, x):
    """The norm of b - A x in rational numbers, up to its square root."""
    rows = [fractions.Fraction(b) - sum(fractions.Fraction(value) * fractions.Fraction(x[column])
                                        for column, value in zip(columns, values))
            for columns, values, b in zip(system.columns, system.values, system.b)]
    return float(sum(row * row for row in rows)) ** 0.5


def report(status, residual):
    return {"result": {"status": status, "iterations": 5, "residual": {"true": residual}, "method": "cg",
                       "precond": "none"}}


class Residuals(unittest.TestCase):
    def test_are_those_of_rational_arithmetic(self):
        system = small_system()
        for x in (system.exact, [each * (1 + 1e-9) for each in system.exact], [0.3, -0.2, 0.1]):
            accuracy = system.accuracy(x)
            self.assertLessEqual(abs(accuracy["residual"] - exact_residual(system, x)), accuracy["bound"])

    def test_have_a_bound_near_rounding(self):
        accuracy = small_system().accuracy([0.3, -0.2, 0.1])
        self.assertLess(accuracy["bound"], 1e-14 * accuracy["residual"])

    def test_of_least_squares_are_orthogonal_to_the_columns(self):
        line = quality_systems.System("line", [], (3, 1), [[0], [0], [0]], [[1.0], [2.0], [2.0]])
        best = (line.b[0] + 2 * line.b[1] + 2 * line.b[2]) / 9
        self.assertLess(line.optimality([best], False), 1e-15)
        self.assertGreater(line.optimality([best + 0.1], True), 1e-3)


class Reports(unittest.TestCase):
    def faults(self, status, x, residual):
        return quality_runs.judged(small_system(), report(status, residual), x)[1]

    def test_that_are_true_pass(self):
        system = small_system()
        self.assertEqual(self.faults("converged", system.exact, exact_residual(system, system.exact)), [])
        self.assertEqual(self.faults("stagnated", [0.0] * 3, system.b_norm), [])

    def test_of_a_wrong_residual_are_faults(self):
        self.assertEqual(len(self.faults("stagnated", [0.0] * 3, small_system().b_norm * (1 + 1e-12))), 1)

    def test_of_convergence_without_a_small_residual_are_faults(self):
        x = [each * (1 + 1e-7) for each in small_system().exact]
        self.assertEqual(len(self.faults("converged", x, exact_residual(small_system(), x))), 1)


class Pages(unittest.TestCase):
    def survey(self):
        facts = {"A": {"rows": 3, "cols": 3, "nnz": 7, "kind": "general", "reason": ""}}
        outcomes = {"A": {"solve": {"auto": solved(3, by="cg jacobi"), "gmres none": solved(77)}}}
        return types.SimpleNamespace(facts=facts, outcomes=outcomes)

    def differences(self, **outcomes):
        before = self.survey()
        options = {name: [] for name in before.outcomes["A"]["solve"]}
        page = quality_page.Page(before.facts, before.outcomes, options, "solve").markdown()
        after = self.survey()
        after.outcomes["A"]["solve"].update(outcomes)
        return quality.check(after, page)[0]

    def test_are_read_back(self):
        self.assertEqual(self.differences(), [])

    def test_allow_iterations_that_rounding_explains(self):
        self.assertEqual(self.differences(**{"gmres none": solved(85)}), [])
        self.assertEqual(len(self.differences(**{"gmres none": solved(90)})), 1)

    def test_differ_where_a_status_does(self):
        self.assertEqual(len(self.differences(**{"gmres none": {"word": "limit", "residual": 1e-3}})), 1)

    def test_allow_another_rung_of_the_ladder(self):
        self.assertEqual(self.differences(auto=solved(30, by="direct")), [])
        self.assertEqual(len(self.differences(auto=solved(30, by="cg jacobi"))), 1)
        self.assertEqual(len(self.differences(auto={"word": "limit", "residual": 1e-3, "by": "direct"})), 1)


def solved(iterations, **more):
    return {"word": "solved", "iterations": iterations, "residual": 4e-9, **more}


if __name__ == "__main__":
    unittest.main()

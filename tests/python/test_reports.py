"""Reports as text, as HTML with their curve, and as plots; the examples of docstrings, documents and examples/."""

import dataclasses
import doctest
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

import numpy as np
import pytest

import tessera

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def solved(**options):
    A = tessera.generate("poisson2d", 20)
    return tessera.cg(A, np.ones(400), **options)


def test_reports_are_dataclasses_with_histories():
    report = solved().report
    assert dataclasses.is_dataclass(report) and "converged after" in str(report)
    assert len(report.history) == report.iterations + 1
    assert report.history.residual[-1] <= report.target
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.status = "other"
    assert solved(history=False).report.history is None


def test_html_holds_a_curve():
    html = solved()._repr_html_()
    svg = xml.etree.ElementTree.fromstring(re.search("<svg.*</svg>", html)[0])
    points = [pair.split(",") for pair in svg.find("{*}polyline").get("points").split()]
    heights = [float(y) for _, y in points]
    assert heights[0] < heights[-1]  # residuals fall
    assert "<svg" not in solved(history=False)._repr_html_()
    assert "&lt;=" in html  # words are escaped
    assert "<svg" in tessera.pagerank(tessera.generate("rmat:scale=6"))._repr_html_()


def test_plots():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = solved().report.plot()
    assert axes.get_yscale() == "log" and len(axes.lines) == 2
    with pytest.raises(ValueError, match="history"):
        solved(history=False).report.plot()


@pytest.mark.parametrize("module", [tessera._plan, tessera._solve, tessera.testing])
def test_docstrings(module):
    result = doctest.testmod(module)
    assert result.attempted > 0 and result.failed == 0


@pytest.mark.parametrize("document", ["README.md", "docs/python.md", "docs/tutorial.md"])
def test_snippets_of_documents(document):
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / document).read_text(), re.S)
    assert snippets
    names = {}
    for snippet in snippets:
        exec(compile(snippet, document, "exec"), names)


@pytest.mark.parametrize("example", sorted((ROOT / "examples/python").glob("*.py")), ids=lambda path: path.name)
def test_examples(example, tmp_path):
    run = subprocess.run([sys.executable, str(example)], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "converged" in run.stdout

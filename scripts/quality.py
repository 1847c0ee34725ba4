#!/usr/bin/env python3
"""What `solve` makes of all real matrices, by every method and preconditioner, beside SciPy and Eigen: docs/quality.md.

  scripts/quality.py [FOLDER] [--page docs/quality.md]      run everything and write the tables of the page
  scripts/quality.py [FOLDER] --check docs/quality.md       run `solve` on small matrices; differences from the page fail

  FOLDER          holds NAME.mtx.gz files; default: $TESSERA_TEST_DATA, without it generated matrices alone
  --solve PATH    the command (default build/release/bin/solve)
  --eigen PATH    bench_quality_eigen (default build/release/bin/bench_quality_eigen; without it Eigen is left out)
  --results FILE  outcomes, one JSON document a line: a run that was cut off goes on where it ended
  --matrices A,B  these only

Right-hand sides are made here and given to all alike: b = A x for random x in [-1, 1), and random b for matrices with more
rows than columns. After each solve ||b - A x|| is computed here from the written x. A report that contradicts it beyond
rounding is an error of this program: exit code 1.
"""
import argparse
import hashlib
import json
import math
import os
import pathlib
import sys
import tempfile
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import quality_page  # noqa: E402
import quality_peers  # noqa: E402
import quality_runs  # noqa: E402
import quality_systems  # noqa: E402

SMALL = ("nos4", "west0067", "karate", "1138_bus", "well1850", "sherman1", "cage8", "bcspwr10")

# Roundings of b that tell by how many iterations the same method may differ.
PERTURBATIONS = 8


class Results:
    """Outcomes on file, by system, tool and configuration. A tool is named with the digest of its program."""

    def __init__(self, path):
        self.path, self.known = path, {}
        if path and path.exists():
            for line in path.read_text().splitlines():
                entry = json.loads(line)
                self.known[tuple(entry["key"])] = entry
        elif path:
            path.parent.mkdir(parents=True, exist_ok=True)

    def get(self, key, work):
        if key not in self.known:
            begin = time.monotonic()
            outcome, faults = work()
            self.known[key] = {"key": key, "outcome": outcome, "faults": faults, "s": round(time.monotonic() - begin, 3)}
            if self.path:
                with open(self.path, "a") as file:
                    file.write(json.dumps(self.known[key]) + "\n")
        entry = self.known[key]
        return entry["outcome"], entry["faults"]


def digest(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def facts_of(document):
    """Size and kind of a matrix by `solve inspect`, and why it is no system to solve where it is none."""
    matrix, symmetry = document["matrix"], document["symmetry"]
    fact = {key: matrix[key] for key in ("rows", "cols", "nnz")} | {"reason": "", "symmetric": False}
    proof = (document["ladder"] or {}).get("proof")
    if matrix["rows"] != matrix["cols"]:
        return fact | {"kind": "rectangular"}
    if document["advice"]["method"] == "pagerank":
        return fact | {"kind": "graph", "reason": f"PageRank: {document['advice']['method_reason']}"}
    if proof:
        return fact | {"kind": "singular", "reason": proof}
    fact["symmetric"] = bool(symmetry) and symmetry["values"] == "symmetric"
    return fact | {"kind": "symmetric" if fact["symmetric"] else "general"}


class Survey:
    """Runs all systems by all tools, one process after the other."""

    def __init__(self, solve, peers, results, folder):
        self.solve, self.peers, self.results, self.folder = solve, peers, results, folder
        limits = f"{solve.max_iterations} iterations {solve.seconds} s"
        self.tools = {"solve": f"solve {digest(solve.binary)} {limits}"}
        self.tools |= {peer.name: f"{peer.version} {limits}" for peer in peers}
        self.facts, self.outcomes, self.faults = {}, {}, []

    def add(self, name, arguments, load):
        """One matrix. load() makes its System; it is called where a run is not on file yet."""
        fact, _ = self.results.get((name, self.tools["solve"], "inspect"),
                                   lambda: (facts_of(self.solve.inspect(arguments)), []))
        fact = self.facts[name] = dict(fact)
        print(name, file=sys.stderr, flush=True)
        if fact["reason"]:
            return
        if fact["kind"] == "rectangular" and not self.solve.known(quality_runs.RECTANGULAR):
            fact["reason"] = "no method for least squares in this `solve`"
            return
        system = None
        row = self.outcomes[name] = {"solve": {}} | {peer.name: {} for peer in self.peers}

        def loaded():
            nonlocal system
            if system is None:
                system = load()
                system.write_b(self.folder / "b.txt")
                if any(peer.name == "Eigen" for peer in self.peers):
                    system.write_binary(self.folder / "system.bin")
            return system

        is_square = fact["rows"] == fact["cols"]
        for configuration in self.solve.configurations(is_square, fact["symmetric"]):
            outcome, faults = self.results.get(
                (name, self.tools["solve"], configuration),
                lambda: self.solve.run(loaded(), configuration, self.folder))
            row["solve"][configuration] = outcome
            self.faults += [f"{name}, {configuration}: {fault}" for fault in faults]
        for peer in self.peers:
            for configuration in peer.configurations(is_square, fact["symmetric"]):
                row[peer.name][configuration], _ = self.results.get(
                    (name, self.tools[peer.name], configuration),
                    lambda: (peer.run(loaded(), configuration, self.folder), []))
        if row["solve"].get("direct", {}).get("definite"):
            fact["kind"] = "SPD"
        row["spreads"] = {}
        by_name = {peer.name: peer for peer in self.peers}
        for configuration, peer, column in quality_page.PARITY:
            if peer in by_name:
                self.add_spread(name, configuration, by_name[peer], column, loaded)

    def add_spread(self, name, configuration, peer, column, loaded):
        """Where a peer takes more or fewer iterations: those for right-hand sides that are rounded otherwise."""
        ours, theirs = self.outcomes[name]["solve"].get(configuration), self.outcomes[name][peer.name].get(column)
        if not quality_page.both_solve(ours, theirs) or quality_page.is_close(ours["iterations"], theirs["iterations"]):
            return
        counts, others = [ours["iterations"]], [theirs["iterations"]]
        for number in range(1, PERTURBATIONS + 1):
            counts.append(self.perturbed(name, "solve", configuration, loaded, number, self.run_solve))
            if quality_page.overlap(counts, others):
                break
            others.append(self.perturbed(name, peer.name, column, loaded, number, peer.run))
            if quality_page.overlap(counts, others):
                break
        self.outcomes[name]["spreads"][configuration, peer.name, column] = (counts, others)

    def run_solve(self, system, configuration, folder):
        return self.solve.run(system, configuration, folder)[0]

    def perturbed(self, name, tool, configuration, loaded, number, run):
        """Iterations for the right-hand side rounded in another way, infinity if it is not solved."""
        def work():
            system, folder = loaded().perturbed(number), self.folder / "perturbed"
            folder.mkdir(exist_ok=True)
            system.write_b(folder / "b.txt")
            if tool == "Eigen":
                system.write_binary(folder / "system.bin")
            return run(system, configuration, folder), []

        outcome, _ = self.results.get((name, self.tools[tool], configuration, f"perturbed {number}"), work)
        return outcome["iterations"] if outcome["word"] == "solved" else math.inf


def add_systems(survey, folder, names, work):
    """The matrices of a folder and the generated ones, as far as they are named; the named that are missing."""
    found = quality_systems.real_matrices(folder) if folder else {}
    for name, path in found.items():
        if not names or name in names:
            survey.add(name, [str(path)], lambda: quality_systems.read_matrix(name, [str(path)], path))
    for spec in [*quality_systems.GENERATED, quality_systems.LEVELLING]:
        if not names or spec in names:
            arguments, load = quality_systems.generated(survey.solve.binary, spec, work)
            survey.add(spec, arguments, load)
    return [name for name in names if name not in survey.facts]


def check(survey, text):
    """Differences of a page from the outcomes of today, configurations that it lacks, and the outcomes compared."""
    page = quality_page.read_page(text)
    found, lacking, compared = [], set(), 0
    for name, fact in survey.facts.items():
        for column, today in (("nonzeros", str(fact["nnz"])), ("kind", fact["kind"])):
            if page.get((name, column)) != today:
                found.append(f"{name}, {column}: {today}, documented is {page.get((name, column), 'nothing')}")
    for name, row in survey.outcomes.items():
        for configuration, outcome in row["solve"].items():
            documented = page.get((name, configuration), quality_page.NOT_RUN)
            if documented == quality_page.NOT_RUN:
                lacking.add(configuration)
                continue
            compared += 1
            # The ladder weighs times: elsewhere another rung may solve the system, in other iterations.
            same_rung = configuration != "auto" or outcome.get("by") == page.get((name, "by"))
            found += quality_page.differences(name, configuration, documented, outcome, same_rung)
    run = {configuration for row in survey.outcomes.values() for configuration in row["solve"]}
    lost = set(quality_runs.CONFIGURATIONS) - run
    found += [f"{name}, {configuration}: documented is {value}, but `solve` does not have it"
              for (name, configuration), value in page.items()
              if name in survey.outcomes and value and configuration in lost]
    return found, sorted(lacking), compared


def make_peers(eigen, max_iterations, seconds):
    peers = []
    try:
        peers.append(quality_peers.SciPy(max_iterations, seconds))
    except ImportError:
        print("SciPy is not installed: its outcome is left out", file=sys.stderr)
    if eigen.exists():
        peers.append(quality_peers.Eigen(eigen, max_iterations, seconds))
    else:
        print(f"{eigen} does not exist (-DTESSERA_BUILD_BENCH=ON): Eigen's outcome is left out", file=sys.stderr)
    return peers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=os.environ.get("TESSERA_TEST_DATA"))
    parser.add_argument("--solve", type=pathlib.Path, default=pathlib.Path("build/release/bin/solve"))
    parser.add_argument("--eigen", type=pathlib.Path, default=pathlib.Path("build/release/bin/bench_quality_eigen"))
    parser.add_argument("--page", type=pathlib.Path, default=pathlib.Path("docs/quality.md"))
    parser.add_argument("--check", type=pathlib.Path, metavar="PAGE")
    parser.add_argument("--results", type=pathlib.Path)
    parser.add_argument("--matrices", type=lambda text: text.split(","))
    parser.add_argument("--max-iters", type=int, default=10000)
    parser.add_argument("--max-time", type=int, default=10, help="seconds per solve")
    arguments = parser.parse_args()
    solve = quality_runs.Solve(arguments.solve.resolve(), arguments.max_iters, arguments.max_time)
    peers = [] if arguments.check else make_peers(arguments.eigen.resolve(), arguments.max_iters, arguments.max_time)
    names = arguments.matrices or ([] if not arguments.check else
                                   [*(SMALL if arguments.folder else ()), *quality_systems.GENERATED,
                                    quality_systems.LEVELLING])
    with tempfile.TemporaryDirectory() as work:
        survey = Survey(solve, peers, Results(arguments.results), pathlib.Path(work))
        missing = add_systems(survey, arguments.folder, names, pathlib.Path(work))
    print(*(f"error: {fault}" for fault in survey.faults), sep="\n", end="\n" if survey.faults else "")
    if missing:
        sys.exit(f"no such matrix: {', '.join(missing)}")
    if arguments.check:
        found, lacking, compared = check(survey, arguments.check.read_text())
        print(*found, sep="\n", end="\n" if found else "")
        if lacking:
            print(f"not in the page yet: {', '.join(lacking)}")
        print(f"{compared} outcomes of {len(survey.outcomes)} matrices compared, {len(found)} differences"
              + ("" if arguments.folder else "; TESSERA_TEST_DATA is not set: generated matrices alone"))
        if found:
            print("after a meant change: scripts/quality.py writes the page anew")
        sys.exit(1 if found or survey.faults or not compared else 0)
    run = {each for row in survey.outcomes.values() for each in row["solve"]}
    options = {each: solve.options(each) for each in quality_runs.CONFIGURATIONS if each in run}
    made_with = f"{', '.join([solve.version, *(peer.version for peer in peers)])}; one thread of {solve.cpu}; at most " \
        f"{solve.max_iterations} iterations and {solve.seconds} s per run"
    page = quality_page.Page(survey.facts, survey.outcomes, options, made_with)
    arguments.page.write_text(quality_page.replaced(arguments.page.read_text(), page.markdown()))
    sys.exit(1 if survey.faults else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""That scripts/compare-builds finds what was planted into a build, and nothing where nothing was.

Two folders hold a fake bench_end_to_end, whose times and troubles are values of a JSON file. With TESSERA_SOLVE, the path of
`solve`, the page of a scoreboard is made and checked, too. TESSERA_SIMULATIONS=1000 gives the figures of
scripts/compare_builds_times.py.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "scripts"))

import compare_builds_run  # noqa: E402
import compare_builds_times as times  # noqa: E402
import compare_builds_verdict as verdict  # noqa: E402

LOADER = importlib.machinery.SourceFileLoader("compare_builds", str(ROOT / "scripts" / "compare-builds"))
compare_builds = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(compare_builds)

FAKE = """#!{python} -SE
import json, os, pathlib, random, signal, sys, time
here = pathlib.Path(__file__).parent
planted = json.loads((here / "planted.json").read_text())
words = sys.argv[1:]
if "--list" in words:
    for name, row in planted["rows"].items():
        print(json.dumps({{"row": name, "area": name.split("/")[0], "alone": row.get("alone", False),
                          "limit_s": row.get("limit_s", 20)}}))
    sys.exit(0)
calls = here / "calls"
seed = planted["seed"] + (len(calls.read_text()) if calls.exists() else 0)
with calls.open("a") as file:
    file.write(".")
draw = random.Random(seed)
if planted.get("refuses"):
    sys.exit("no device")
print(json.dumps({{"document": {{"benchmark": "end_to_end", "date": "2026-11-28T10:00:00Z",
                              "tessera": {{"version": "0.1.0", "commit": planted["commit"], "compiler": "GNU 12.2.0",
                                          "build_type": "Release"}},
                              "machine": {{"cpu": "fake", "hardware_threads": 2, "threads_used": 2,
                                          "gpu": None}}}}}}), flush=True)
for name in words[words.index("--rows") + 1].split(";"):
    row = planted["rows"][name]
    if "dies" in row:
        os.kill(os.getpid(), signal.SIGSEGV) if row["dies"] == "signal" else os._exit(134)
    time.sleep(row.get("sleeps", 0.0))
    outcome = {{"solved": True, "status": "converged", "residual": 1e-9, "error": 1e-8, "claim": 1e-7, "warnings": [],
               "false_claim": None, "exit_code": 0}}
    memory = {{"host_peak_bytes": 100 << 20, "host_left_bytes": 0, "device_peak_bytes": None, "device_left_bytes": None}}
    if "--claims" not in words:
        outcome["exit_code"] = None
    outcome["warnings"] = [] if "--claims" in words else None
    if "--claims" not in words:
        outcome["false_claim"] = row.get("claims_unless_warned")
    else:
        memory.update(command_peak_bytes=100 << 20, command_predicted_bytes=120 << 20)
    found = {{"row": name, "area": name.split("/")[0], "input": "0123456789abcdef", "setup_ms": 1.0,
             "choice": {{"kernel": "csr", "method": "cg"}}, "outcome": {{**outcome, **row.get("outcome", {{}})}},
             "memory": {{**memory, **row.get("memory", {{}})}}, "bits": "00aa", "bits_stable": True, "failure": None,
             "samples_ms": [row.get("ms", 5.0) * draw.lognormvariate(0.0, planted["noise"])] * 3}}
    print(json.dumps({{**found, **row.get("result", {{}})}}), flush=True)
"""
# As `solve report FILE -o PAGE` takes them.
FAKE_SOLVE = """#!{python} -SE
import pathlib, sys
pathlib.Path(sys.argv[4]).write_text(pathlib.Path(sys.argv[2]).read_text())
"""


class Planted(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for module, name, value in ((compare_builds_run, "START_S", 0.5), (compare_builds, "MOST_ROUNDS", 3),
                                    (times, "MOST_FRESH_ROUNDS", 5)):
            self.addCleanup(setattr, module, name, getattr(module, name))
            setattr(module, name, value)

    def build(self, label, effects, **more):
        """Eight rows; effects: by row, in place of what is usual."""
        rows = {f"{area}/{i}": {} for area in ("systems", "spmv") for i in range(4)}
        for name, effect in effects.items():
            rows.setdefault(name, {}).update(effect)
        place = self.folder / label / "bin"
        place.mkdir(parents=True)
        planted = {"rows": rows, "noise": 0.004, "seed": 1000 if label == "new" else 2000, "commit": label, **more}
        (place / "planted.json").write_text(json.dumps(planted))
        for name, text in (("bench_end_to_end", FAKE), ("solve", FAKE_SOLVE)):
            (place / name).write_text(text.format(python=sys.executable))
            (place / name).chmod(0o755)
        return str(self.folder / label)

    def compared(self, old, new, *words, old_more=None, new_more=None):
        """Exit code, document and text."""
        builds = [self.build("old", old, **(old_more or {})), self.build("new", new, **(new_more or {}))]
        return self.run_script(*builds, *words)

    def run_script(self, *words):
        file = self.folder / "scoreboard.json"
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            code = compare_builds.main(["--minutes", "0.5", "--json", str(file), *words])
        document = json.loads(file.read_text()) if code in (0, 8) else None
        return code, document, output.getvalue()

    def expect(self, status, found, *reasons):
        code, document, text = found
        self.assertEqual(document["result"]["status"], status, text)
        self.assertEqual(code, 8 if status == "worse" else 0)
        self.assertTrue(text.endswith(f"verdict: {status}\n"), text)
        for reason in reasons:
            self.assertTrue(any(reason in each for each in document["result"]["reasons"]), text)
        if status == "worse":
            self.assertEqual(len(document["result"]["reasons"]), len(reasons), text)
        return document

    def test_nothing_is_the_same(self):
        document = self.expect("same", self.compared({}, {}))
        self.assertEqual(document["rounds"], 3)
        self.assertEqual([row["time"]["rounds"] for row in document["rows"]][:2], [3, 3])
        self.assertEqual(document["result"]["reasons"], [])

    def test_a_slower_row_is_worse(self):
        document = self.expect("worse", self.compared({}, {"spmv/2": {"ms": 5.4}}), "spmv: takes", "spmv/2: takes 1.0")
        self.assertGreaterEqual(document["confirming_rounds"], 4)
        row = next(row for row in document["rows"] if row["row"] == "spmv/2")
        self.assertAlmostEqual(row["time"]["ratio"], 1.08, delta=0.01)
        self.assertLess(row["time"]["low"], 1.08)
        self.assertGreater(row["time"]["high"], 1.08)

    def test_an_area_is_worse_before_its_rows(self):
        slower = {f"spmv/{i}": {"ms": 5.08} for i in range(4)}
        self.expect("worse", self.compared({}, slower, old_more={"noise": 0.001}, new_more={"noise": 0.001}),
                    "spmv: takes 1.01")

    def test_a_faster_row_is_better(self):
        self.expect("better", self.compared({}, {"spmv/2": {"ms": 4.0}}), "spmv/2: takes 0.79")

    def test_a_lost_row_is_worse(self):
        lost = {"systems/1": {"outcome": {"solved": False, "status": "stagnated"}}}
        document = self.expect("worse", self.compared({}, lost), "systems/1: not solved any more (stagnated)")
        self.assertEqual(document["lost"], ["systems/1"])
        self.assertEqual(next(row["why_no_ratio"] for row in document["rows"] if row["row"] == "systems/1"),
                         "not solved by both")

    def test_a_found_row_is_better(self):
        lost = {"systems/1": {"outcome": {"solved": False, "status": "stagnated"}}}
        self.expect("better", self.compared(lost, {}), "systems/1: solved now")

    def test_a_false_claim_is_worse(self):
        claim = {"outcome": {"false_claim": "error 1e-3 above its claim 1e-6"}}
        document = self.expect("worse", self.compared({"spmv/0": claim}, {"spmv/0": claim, "spmv/1": claim}),
                               "spmv/1: false claim: error 1e-3")
        self.assertEqual([each["worse"] for each in document["false_claims"]], [False, False, True])

    def test_a_false_claim_as_before_is_not(self):
        claim = {"spmv/0": {"outcome": {"false_claim": "error 1e-3 above its claim 1e-6"}}}
        code, _, text = self.compared(claim, claim)
        self.assertEqual(code, 0)
        self.assertIn("spmv/0, new: error 1e-3 above its claim 1e-6, as before", text)

    def test_a_claim_without_its_warning_is_not(self):
        self.expect("same", self.compared({}, {"spmv/0": {"claims_unless_warned": "error 1e-3 unspoken"}}))

    def test_memory_is_worse(self):
        effects = {"spmv/0": {"memory": {"host_left_bytes": 20 << 20}}, "spmv/1": {"memory": {"host_peak_bytes": 119 << 20}},
                   "spmv/2": {"memory": {"command_predicted_bytes": 70 << 20}}}
        self.expect("worse", self.compared({}, effects), "spmv/0: host memory left 20 MiB, before 0 MiB",
                    "spmv/1: host peak 119 MiB, before 100 MiB", "spmv/2: command peak 100 MiB, predicted 70 MiB")

    def test_memory_beyond_prediction_as_before_is_not(self):
        effects = {"spmv/2": {"memory": {"command_predicted_bytes": 70 << 20}}}
        document = self.expect("same", self.compared(effects, effects))
        self.assertEqual([each["worse"] for each in document["memory"]], [False])

    def test_unstable_bits_are_worse(self):
        self.expect("worse", self.compared({}, {"spmv/3": {"result": {"bits_stable": False}}}), "spmv/3: bits differ")

    def test_bits_of_rounds_are_held_against_each_other(self):
        def one(bits):
            return {"result": {"bits": bits}}
        rounds = self.rounds([{}, {}], [one("11"), one("22")])
        self.assertEqual(verdict.Scoreboard(rounds, {"spmv/0": "spmv"}).unstable_bits, ["spmv/0"])
        # Another choice may round otherwise.
        changed = [one("11"), {"result": {"bits": "22", "choice": {"kernel": "sell"}}}]
        self.assertEqual(verdict.Scoreboard(self.rounds([{}, {}], changed), {"spmv/0": "spmv"}).unstable_bits, [])

    def test_a_longer_set_up_is_worse(self):
        self.expect("worse", self.compared({}, {"spmv/3": {"result": {"setup_ms": 2.5}}}),
                    "spmv/3: set-up 2.5 ms, before 1 ms")

    def test_a_command_that_fails_is_worse(self):
        effect = {"systems/0": {"outcome": {"exit_code": -1}}}
        self.expect("worse", self.compared({}, effect), "systems/0: the command ends with exit code -1")

    def test_a_claim_of_unlike_rounds_is_not_judged(self):
        unspoken = {"outcome": {"warnings": None, "false_claim": "error 1e-3 unspoken"}}
        board = verdict.Scoreboard(self.rounds([{}], [unspoken]), {"spmv/0": "spmv"})
        self.assertEqual(board.false_claims, [])

    def test_a_row_that_only_fresh_rounds_solve_has_a_ratio(self):
        failed = {"result": {"failure": "a limit"}}
        board = verdict.Scoreboard(self.rounds([{}, {}], [failed, {}]), {"spmv/0": "spmv"}, 2)
        self.assertEqual((board.times["spmv/0"].word, board.areas, board.lost), ("same", {}, []))

    def rounds(self, old, new):
        """Of the row spmv/0, from what is unusual in each."""
        usual = {"row": "spmv/0", "area": "spmv", "input": "aa", "setup_ms": 1.0, "choice": {"kernel": "csr"},
                 "memory": None, "bits": "00", "bits_stable": True, "failure": None, "samples_ms": [5.0]}
        outcome = {"solved": True, "status": "converged", "residual": 1e-9, "error": None, "claim": None, "warnings": [],
                   "false_claim": None, "exit_code": None}

        def found(effect):
            return {"spmv/0": {**usual, "outcome": {**outcome, **effect.get("outcome", {})}, **effect.get("result", {})}}
        return [{"number": i + 1, "old": found(before), "new": found(after)}
                for i, (before, after) in enumerate(zip(old, new))]

    def test_other_choices_and_bits_are_listed(self):
        other = {"spmv/3": {"result": {"bits": "11", "choice": {"kernel": "sell", "method": "cg"}}}}
        document = self.expect("same", self.compared({}, other))
        self.assertEqual(document["changed_choices"], [{"row": "spmv/3", "key": "kernel", "old": "csr", "new": "sell"}])
        self.assertEqual(document["changed_bits"], ["spmv/3"])

    def test_another_input_has_no_ratio(self):
        document = self.expect("same", self.compared({}, {"spmv/3": {"ms": 50.0, "result": {"input": "other"}}}))
        self.assertEqual(document["rows"][-1]["why_no_ratio"], "another input")

    def test_a_crash_loses_its_row_alone(self):
        document = self.expect("worse", self.compared({}, {"systems/1": {"dies": "exit"}, "spmv/3": {"dies": "signal"}}),
                               "systems/1: not solved any more (died: exit 134)",
                               "spmv/3: not solved any more (died: signal 11)")
        self.assertEqual(sum(row["time"]["rounds"] == 3 for row in document["rows"]), 6)

    def test_a_hang_ends(self):
        rows = {"real/a": {"alone": True, "limit_s": 0.1}}
        hanging = {"real/a": {**rows["real/a"], "sleeps": 60}}
        self.expect("worse", self.compared(rows, hanging), "real/a: not solved any more (no answer in 1 s)")

    def test_rows_that_do_not_fit_are_not_repeated(self):
        slow = {"spmv/3": {"sleeps": 0.8}}
        document = self.expect("same", self.compared(slow, slow, "--minutes", "0.05"))
        self.assertEqual(document["not_repeated"], ["spmv/3"])
        self.assertLess(document["seconds"], 3.5)

    def test_rows_of_one_build_are_listed(self):
        document = self.expect("same", self.compared({"spmv/old": {}}, {"spmv/new": {}}))
        self.assertEqual((document["only_old"], document["only_new"]), (["spmv/old"], ["spmv/new"]))

    def test_a_pattern_chooses_rows(self):
        document = self.expect("same", self.compared({}, {"systems/1": {"dies": "exit"}}, "--rows", "spmv/*"))
        self.assertEqual({row["area"] for row in document["rows"]}, {"spmv"})

    def test_exit_codes_of_what_does_not_run(self):
        self.assertEqual(self.compared({}, {}, new_more={"refuses": True})[0], 1)
        self.assertEqual(self.run_script(str(self.folder / "old"), str(self.folder / "none"))[0], 1)
        self.assertEqual(self.run_script(*[str(self.folder / "old")] * 2, "--rows", "none")[0], 1)
        with self.assertRaises(SystemExit) as usage, contextlib.redirect_stderr(io.StringIO()):
            compare_builds.main([str(self.folder / "old")])
        self.assertEqual(usage.exception.code, 2)

    def recorded(self):
        return self.run_script("--record", self.build("one", {"systems/1": {"dies": "exit"}}))

    def test_a_record_is_of_one_build(self):
        code, document, text = self.recorded()
        self.assertEqual((code, document["old"], document["result"]["status"]), (0, None, "recorded"))
        self.assertEqual({row["new"]["rounds"] for row in document["rows"]}, {3})
        self.assertIn("systems/1, new: died: exit 134 (3 of 3 rounds)", text)

    def documents(self):
        """One with everything that a scoreboard may hold, and a record."""
        page = self.folder / "fake.html"
        other = {"bits": "11", "choice": {"kernel": "<sell>"}}
        worse = {"spmv/0": {"ms": 9.0}, "spmv/1": {"dies": "exit"}, "spmv/2": {"memory": {"host_left_bytes": 20 << 20}},
                 "spmv/3": {"result": other}, "systems/0": {"result": {"bits_stable": False, "outcome": None}},
                 "systems/1": {"outcome": {"false_claim": "a & b"}}, "systems/9": {}}
        self.compared({"systems/3": {"dies": "exit"}}, worse, "--html", str(page))
        self.assertEqual(json.loads(page.read_text())["schema"], "solve.scoreboard/1", "solve report got the document")
        file = self.folder / "scoreboard.json"
        file.rename(self.folder / "both.json")
        self.recorded()
        return [str(self.folder / "both.json"), str(file)]

    def test_documents_are_as_published(self):
        if importlib.util.find_spec("jsonschema") is None:
            self.skipTest("needs python3-jsonschema")
        done = subprocess.run([sys.executable, ROOT / "scripts" / "validate-json.py", *self.documents()],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_documents_have_pages(self):
        solve = os.environ.get("TESSERA_SOLVE")
        if not solve:
            self.skipTest("needs solve: TESSERA_SOLVE names it")
        for document in self.documents():
            page = self.folder / "page.html"
            subprocess.run([solve, "report", document, "-o", page], check=True, capture_output=True)
            done = subprocess.run([sys.executable, ROOT / "tests" / "apps" / "check_report.py", page, document],
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            if "both" in document:
                text = page.read_text()
                self.assertLess(text.index("<h2>Worse"), text.index("<table"), "the verdict comes first")
                self.assertIn("&lt;sell&gt;", text)


class Simulated(unittest.TestCase):
    """The rules on logarithms of times: 60 rows in 6 areas."""

    RUNS = int(os.environ.get("TESSERA_SIMULATIONS", "40"))

    def judged(self, draw, rounds, slow_share, noise, shared, effects):
        """Words of all rows and areas, confirmation included."""
        rows = [str(i) for i in range(60)]
        area_of = {row: f"area {int(row) // 10}" for row in rows}
        series = {row: {} for row in rows}

        def run_round(number, names):
            shift = draw.gauss(0.0, shared) - draw.gauss(0.0, shared)
            for row in names:
                old, new = (draw.gauss(0.0, noise(int(row))) + (math.log(1.2) if draw.random() < slow_share else 0.0)
                            for _ in range(2))
                series[row][number] = math.log(effects.get(row, 1.0)) + shift + new - old

        for number in range(1, rounds + 1):
            run_round(number, rows)
        found, areas, _ = times.judge(series, area_of)
        number = rounds
        for sign, whole_areas in ((1, False), (1, True), (-1, False), (-1, True)):
            while names := [row for row in rows
                            if (areas[area_of[row]] if whole_areas else found[row]).suspect == sign]:
                number += 1
                run_round(number, names)
                found, areas, _ = times.judge(series, area_of, rounds + 1)
        return {name: judged.word for name, judged in (found | areas).items()}

    def share(self, count_if, rounds, slow_share=0.03, noise=lambda row: 0.01, shared=0.0, effects=None):
        draw = random.Random(7)
        share = sum(count_if(self.judged(draw, rounds, slow_share, noise, shared, effects or {}))
                    for _ in range(self.RUNS)) / self.RUNS
        if "TESSERA_SIMULATIONS" in os.environ:
            print(f"{self.id().split('.')[-1]}, {rounds} rounds: {share}")
        return share

    def test_equal_builds_are_the_same(self):
        for rounds in (3, 6):
            self.assertGreaterEqual(self.share(lambda words: set(words.values()) == {"same"}, rounds), 0.99)

    def test_equal_builds_of_uneven_noise_are_the_same(self):
        for rounds in (3, 6):
            self.assertGreaterEqual(self.share(lambda words: set(words.values()) == {"same"}, rounds, shared=0.005,
                                               noise=lambda row: 0.05 if row % 10 == 0 else 0.01), 0.95)

    def test_a_row_five_percent_slower_is_found(self):
        for rounds in (3, 6):
            self.assertGreaterEqual(self.share(lambda words: words["17"] == "worse", rounds, slow_share=0.0,
                                               effects={"17": 1.05}), 0.95)

    def test_a_row_five_percent_slower_is_found_among_slow_processes(self):
        for rounds in (3, 6):
            self.assertGreaterEqual(self.share(lambda words: words["17"] == "worse", rounds, effects={"17": 1.05}), 0.9)


if __name__ == "__main__":
    unittest.main()

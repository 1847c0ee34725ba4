"""Scoreboard of two builds: rows and areas, and whether the new build became worse or better.

A round is {"number": N, "old": {ROW: MEASUREMENT}, "new": {...}}; compare_builds_run.py says what a measurement is.
"""
import math
from statistics import median

import compare_builds_times as times

SLACK_BYTES = 16 << 20
# The driver of a GPU takes memory of the host as it likes.
HOST_SLACK_BESIDE_GPU = 96 << 20
PREDICTION_SHARE = 1.10
PEAK_SHARE = 1.02
EXIT_WORSE = 8
# The command is a process of `solve` in the first round.
MEMORY_PLACES = ["host", "device", "command"]
MEMORY_KEYS = ["host_peak_bytes", "host_left_bytes", "device_peak_bytes", "device_left_bytes", "device_predicted_bytes",
               "command_peak_bytes", "command_predicted_bytes"]
# Set-up is longer only where the least of the rounds is: by half, and by more than a launch or two.
SETUP_SHARE = 1.5
SETUP_SLACK_MS = 0.5


def is_solved(found):
    """Whether a measurement counts; a row that solves nothing has only to end."""
    if "lost" in found or found["failure"] is not None:
        return False
    return found["outcome"] is None or found["outcome"]["solved"]


class Side:
    """All measurements of a row by one build."""

    def __init__(self, measurements):
        self.all = measurements
        self.results = [each for each in measurements if "lost" not in each]
        self.solved = sum(map(is_solved, measurements))
        self.choices = [each["choice"] or {} for each in self.results if each["failure"] is None]
        self.bits = {each["bits"] for each in self.results if each["bits"] is not None}
        self.memory = {key: self._bytes(key) for key in MEMORY_KEYS}
        self.outcomes = [each["outcome"] for each in self.results if each["outcome"] is not None]
        self.outcome = self.outcomes[0] if self.outcomes else None
        self.knows_warnings = any(each["warnings"] is not None for each in self.outcomes)
        stable = [each["bits_stable"] for each in self.results if each["bits_stable"] is not None]
        self.bits_stable = all(stable) if stable else None
        if len(self.bits) > 1 and self.is_solved() and all(each == self.choice() for each in self.choices):
            self.bits_stable = False
        self.setup_ms = [each["setup_ms"] for each in self.results if each["setup_ms"] is not None]
        self.exit_code = next((each["exit_code"] for each in self.outcomes if each["exit_code"] is not None), None)

    def is_solved(self):
        return 2 * self.solved > len(self.all)

    def is_lost(self):
        return 2 * (len(self.all) - self.solved) > len(self.all)

    def has_claims(self, with_warnings):
        return any(with_warnings == (each["warnings"] is not None) for each in self.outcomes)

    def false_claim(self, with_warnings):
        """A sentence or None, of rounds with or without warnings: a warning excuses a claim."""
        return next((each["false_claim"] for each in self.outcomes
                     if each["false_claim"] and with_warnings == (each["warnings"] is not None)), None)

    def _bytes(self, key):
        """The least of the rounds."""
        return min((each["memory"][key] for each in self.results if (each["memory"] or {}).get(key) is not None),
                   default=None)

    def problems(self):
        """Why rounds gave no result, and how many."""
        words = [each.get("lost") or each["failure"] for each in self.all]
        return {word: words.count(word) for word in dict.fromkeys(words) if word is not None}

    def choice(self):
        return self.choices[0] if self.choices else {}

    def values(self):
        """As the document has them."""
        times_ms = [median(each["samples_ms"]) for each in self.results if each["samples_ms"]]
        outcome = self.outcome and {key: self.outcome.get(key) for key in (
            "solved", "status", "residual", "error", "claim", "warnings", "exit_code")}
        return {"rounds": len(self.all), "solved_rounds": self.solved,
                "ms": median(times_ms) if times_ms else None,
                "setup_ms": median(self.setup_ms) if self.setup_ms else None, "round_ms": times_ms,
                "input": next((each["input"] for each in self.results if each["input"]), None),
                "choice": self.choice(), "outcome": outcome,
                "false_claim": self.false_claim(self.knows_warnings),
                "memory": self.memory,
                "bits": sorted(self.bits), "bits_stable": self.bits_stable,
                "problems": [{"text": text, "rounds": count} for text, count in self.problems().items()]}


def sides_of(rounds, row, label):
    return Side([each[label][row] for each in rounds if row in each[label]])


def log_ratios(rounds, row):
    """By number of the round, of rounds that count: the same input, solved by both."""
    logs = {}
    for each in rounds:
        old, new = each["old"].get(row), each["new"].get(row)
        if old is None or new is None or not is_solved(old) or not is_solved(new) or old["input"] != new["input"]:
            continue
        before, after = (median(found["samples_ms"] or [0.0]) for found in (old, new))
        if before > 0.0 and after > 0.0:
            logs[each["number"]] = math.log(after / before)
    return logs


def as_ratio(estimate):
    if estimate is None:
        return {"ratio": None, "low": None, "high": None, "rounds": 0}
    centre, half = estimate.centre, estimate.half
    return {"ratio": math.exp(centre), "low": math.exp(centre - half), "high": math.exp(centre + half),
            "rounds": estimate.rounds}


def memory_findings(old, new):
    """Texts, and whether each is worse than before."""
    findings = []
    beside_gpu = new.memory["device_peak_bytes"] is not None
    for place in MEMORY_PLACES:
        slack = HOST_SLACK_BESIDE_GPU if beside_gpu and place == "host" else SLACK_BYTES
        peaks, predictions, left = ([side.memory.get(f"{place}_{key}_bytes") for side in (old, new)]
                                    for key in ("peak", "predicted", "left"))
        beyond = [None not in pair and pair[0] > PREDICTION_SHARE * pair[1] + slack
                  for pair in zip(peaks, predictions)]
        if beyond[1]:
            findings.append((f"{place} peak {mib(peaks[1])}, predicted {mib(predictions[1])}", not beyond[0]))
        if None not in peaks and peaks[1] > PEAK_SHARE * peaks[0] + slack:
            findings.append((f"{place} peak {mib(peaks[1])}, before {mib(peaks[0])}", True))
        if None not in left and left[1] > left[0] + slack:
            findings.append((f"{place} memory left {mib(left[1])}, before {mib(left[0])}", True))
    return findings


def mib(size):
    return f"{size / 2**20:.0f} MiB"


class Scoreboard:
    """Two builds. area_of: by row, in the order of the list; fresh_from: number of the first round that confirms."""

    def __init__(self, rounds, area_of, fresh_from=None):
        self.area_of = area_of
        self.rounds = rounds
        self.sides = {row: (sides_of(rounds, row, "old"), sides_of(rounds, row, "new")) for row in area_of}
        series = {row: log_ratios(rounds, row) for row in area_of}
        self.series = {row: logs for row, logs in series.items() if logs}
        self.times, self.areas, self.noise = times.judge(self.series, area_of, fresh_from)
        both = {row: pair for row, pair in self.sides.items() if all(side.all for side in pair)}
        self.lost = [row for row, (old, new) in both.items() if old.is_solved() and new.is_lost()]
        self.found = [row for row, (old, new) in both.items() if old.is_lost() and new.is_solved()]
        self.false_claims = []
        for row, pair in both.items():
            known = all(side.knows_warnings for side in pair)
            # Without warnings of both, claims are judged where both have rounds without.
            if not all(side.has_claims(known) for side in pair):
                continue
            texts = [side.false_claim(known) for side in pair]
            self.false_claims += [{"row": row, "build": label, "text": text, "worse": label == "new" and not texts[0]}
                                  for label, text in zip(("old", "new"), texts) if text]
        self.unstable_bits = [row for row, (old, new) in both.items()
                              if new.bits_stable is False and old.bits_stable is not False]
        # Where the clock ends a solve, its memory depends on how far it came.
        self.memory = [{"row": row, "text": text, "worse": worse} for row, pair in both.items()
                       if all(side.is_solved() for side in pair) for text, worse in memory_findings(*pair)]
        self.set_up = [{"row": row, "text": f"set-up {min(new.setup_ms):.3g} ms, before {min(old.setup_ms):.3g} ms",
                        "worse": True} for row, (old, new) in both.items()
                       if min(len(old.setup_ms), len(new.setup_ms)) > 1 and old.choice() == new.choice()
                       and min(new.setup_ms) > SETUP_SHARE * min(old.setup_ms) + SETUP_SLACK_MS]
        self.failed_commands = [row for row, (old, new) in both.items()
                                if old.exit_code == 0 and new.exit_code not in (0, None)]
        self.changed_choices = [
            {"row": row, "key": key, "old": old.choice().get(key), "new": new.choice().get(key)}
            for row, (old, new) in both.items() if old.choices and new.choices
            for key in {**old.choice(), **new.choice()}
            if not {each.get(key) for each in old.choices} & {each.get(key) for each in new.choices}]
        self.changed_bits = [row for row, (old, new) in both.items()
                             if old.bits and new.bits and not old.bits & new.bits]

    def to_confirm(self, sign):
        """Groups of rows that are measured together: rows that look worse (sign 1) or faster (-1), then such areas."""
        rows = {row for row, judged in self.times.items() if judged.suspect == sign}
        if sign > 0:
            rows |= {row for row in [*self.lost, *(each["row"] for each in self.memory if each["worse"])]
                     if len(self.sides[row][1].all) < 3}
        return [{row} for row in rows], [{row for row in self.series if self.area_of[row] == area}
                                         for area, judged in self.areas.items() if judged.suspect == sign]

    def reasons(self, word):
        """Sentences without a full stop. word: worse or better."""
        said = [f"{name}: takes {as_long(judged.estimate)}" for group in (self.areas, self.times)
                for name, judged in group.items() if judged.word == word]
        if word == "better":
            return said + [f"{row}: solved now" for row in self.found]
        said += [f"{row}: not solved any more ({self.why_lost(row)})" for row in self.lost]
        said += [f"{each['row']}: false claim: {each['text']}" for each in self.false_claims if each["worse"]]
        said += [f"{row}: the command ends with exit code {self.sides[row][1].exit_code}" for row in self.failed_commands]
        said += [f"{row}: bits differ between repetitions" for row in self.unstable_bits]
        return said + [f"{each['row']}: {each['text']}" for each in [*self.memory, *self.set_up] if each["worse"]]

    def why_lost(self, row):
        new = self.sides[row][1]
        return next(iter(new.problems()), new.outcome["status"] if new.outcome else "")

    def result(self):
        worse, better = self.reasons("worse"), self.reasons("better")
        status = "worse" if worse else "better" if better else "same"
        return {"status": status, "exit_code": EXIT_WORSE if worse else 0, "reasons": worse or better}

    def why_no_ratio(self, row):
        old, new = self.sides[row]
        if row in self.series:
            return None
        if not old.all or not new.all:
            return "not measured"
        inputs = [{each["input"] for each in side.results} for side in (old, new)]
        if inputs[0] and inputs[1] and not inputs[0] & inputs[1]:
            return "another input"
        return "not solved by both" if not old.is_solved() or not new.is_solved() else "no times"

    def row_documents(self):
        documents = []
        for row, (old, new) in self.sides.items():
            judged = self.times.get(row)
            documents.append({
                "row": row, "area": self.area_of[row], "verdict": judged.word if judged else None,
                "why_no_ratio": self.why_no_ratio(row),
                "time": as_ratio(judged and judged.estimate), "confirmation": as_ratio(judged and judged.fresh),
                "ratios": [{"round": number, "ratio": math.exp(log)} for number, log in
                           self.series.get(row, {}).items()],
                "old": old.values() if old.all else None, "new": new.values() if new.all else None})
        return documents

    def area_documents(self):
        return [{"area": area, "rows": sum(self.area_of[row] == area for row in self.series), "verdict": judged.word,
                 "noise": self.noise[area], "time": as_ratio(judged.estimate), "confirmation": as_ratio(judged.fresh)}
                for area, judged in self.areas.items()]


def as_long(estimate):
    centre, half = estimate.centre, estimate.half
    return f"{math.exp(centre):.3f} times as long ({math.exp(centre - half):.3f} to {math.exp(centre + half):.3f})"

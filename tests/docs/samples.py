#!/usr/bin/env python3
"""Runs the samples of README.md and docs/*.md, so that they cannot age.

samples.py SOLVE ROOT. Each indented line `$ solve ...` is run, and the lines below it, up to the next one or the end of the
block, must appear in its output in that order. A sample may leave lines out; `...` and a line with ` ... ` for what is
left out inside are kept. Times, residuals, sizes of the machine and the device are not compared; counts are. Of `compare` and `tune`, whose
tables are measured throughout, the options alone are checked.
Other indented lines `solve ...` must be accepted by --print-config, or name options that --help knows.

Matrices come from $TESSERA_TEST_DATA; without it the samples that need them are skipped, and the skipped are named.
TESSERA_UPDATE_SAMPLES=1 writes the lines of the documents anew: read the difference.
"""

import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

COMMANDS = {"run", "pagerank", "spgemm", "compare", "inspect", "convert", "report", "bench", "tune", "list", "doctor", "completion", "version", "help"}
WITH_CONFIG = {"run", "pagerank", "inspect", "compare", "convert", "spgemm", "bench", "tune"}
START = re.compile(r"^    \$ (?:build/release/bin/)?solve(?P<arguments>| .*)$")
PLAIN = re.compile(r"^    (?:SOLVE_\w+=\S+ )?solve(?P<arguments>| .*)$")
MACHINE_LINES = re.compile(r"^(device|machine|traffic|time|set-up|plans) .*")
MEASURED = [
    (re.compile(r"<?\d+(\.\d+)?(e[-+]\d+)? ?(ms|us|s|GB/s|MiB|KiB|GiB)\b"), "TIME"),
    (re.compile(r"\d+(\.\d+)?e[-+]\d+"), "NUMBER"),
    (re.compile(r"\d+\.\d+"), "NUMBER"),
]


def normalised(line):
    line = MACHINE_LINES.sub(r"\1", line.strip())
    for pattern, name in MEASURED:
        line = pattern.sub(name, line)
    return " ".join(line.split())



class Sample:
    def __init__(self, path, number, arguments):
        self.path, self.number = path, number
        self.arguments = shlex.split(arguments, comments=True)
        self.first = number  # index of its first line of output
        self.lines = []

    def place(self):
        return f"{self.path.name}:{self.number}: solve {' '.join(self.arguments)}"


def samples_of(path):
    """All samples, and the commands that are not followed by output."""
    samples, plain, open_sample = [], [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        start = START.match(line)
        if start:
            open_sample = Sample(path, number, start["arguments"])
            samples.append(open_sample)
        elif open_sample and line.startswith("    ") and not line.startswith("    $ "):
            open_sample.lines.append(line)
        else:
            open_sample = None
            found = PLAIN.match(line)
            if found:
                plain.append((f"{path.name}:{number}", found["arguments"]))
    return samples, plain


def run(binary, arguments, folder):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SOLVE_")}
    environment["CUDA_VISIBLE_DEVICES"] = ""
    return subprocess.run([binary, *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


def located(arguments, data):
    """The arguments with the matrices of the test data in their place, or the name of a file that is missing."""
    result = []
    for word in arguments:
        if re.search(r"\.(mtx|mtx\.gz|npz|tar\.gz|toml|txt|tsb)$", word):
            if not data or not (pathlib.Path(data) / word).exists():
                return None, word
        result.append(word)
    return result, None


def key_of(line):
    found = re.match(r"\s*([a-z][\w:()-]*)", line)
    return found[1] if found else re.sub(r"\d+(\.\d+)?", "#", " ".join(line.split()[:1]))


def compared(sample, output):
    """Pairs of a line of the sample and the line of the output that stands for it (None: there is none)."""
    pairs, next_line = [], 0
    for line in sample.lines:
        text = line[4:]
        if text.strip() == "..." or " ... " in normalised(text) and not any(normalised(o) == normalised(text) for o in output):
            continue
        candidates = output[next_line:]
        match = next((k for k, o in enumerate(candidates) if normalised(o) == normalised(text)), None)
        if match is None:
            near = next((o for o in output[next_line:] if key_of(o) == key_of(text)), None)
            pairs.append((line, near, False))
        else:
            pairs.append((line, candidates[match], True))
            next_line += match + 1
    return pairs


def rewritten(sample, output, text):
    """The document's lines with those of the sample replaced by the output's; a sample of all lines is replaced whole."""
    if not any(line.strip() == "..." or " ... " in line for line in sample.lines):
        whole = [o for o in output if o.strip()]
        if len(whole) == len([line for line in sample.lines if line.strip()]):
            text[sample.first : sample.first + len(sample.lines)] = ["    " + o if o else o for o in whole]
            return
    replaced = {line: near for line, near, _ in compared(sample, output) if near is not None}
    for k in range(sample.first, sample.first + len(sample.lines)):
        text[k] = "    " + replaced[text[k]] if text[k] in replaced else text[k]


def check_sample(binary, sample, data, update):
    arguments, missing = located(sample.arguments, data)
    if missing:
        return f"skipped: {sample.place()} (no {missing})", []
    if sample.arguments[:1] in (["compare"], ["tune"]) or not sample.lines:
        return None, check_plain(binary, sample.place(), shlex.join(sample.arguments), data or ".")
    done = run(binary, arguments, data or ".")
    output = (done.stderr + done.stdout).splitlines()
    failures = [
        f"{sample.place()}\n  documented: {line.strip()}\n  printed:    {(near or 'no such line').strip()}"
        for line, near, equal in compared(sample, output)
        if not equal
    ]
    if failures and update:
        text = sample.path.read_text().splitlines()
        rewritten(sample, output, text)
        sample.path.write_text("\n".join(text) + "\n")
    return None, failures


def check_plain(binary, place, text, folder):
    """One command without output: cut at what belongs to the shell."""
    words = shlex.split(re.split(r"\s(?:#|\||&&|;|>)", text + " ")[0])
    command = words[0] if words and words[0] in COMMANDS else "run"
    if "-c" in words or command not in COMMANDS:
        return []
    if command in WITH_CONFIG:
        done = run(binary, [*words, "--print-config"], folder)
        if done.returncode == 0 or re.search(r"cannot (open|read)|No such file|cannot be used|no such directory", done.stderr):
            return []
        return [f"{place}: solve {' '.join(words)}\n  {done.stderr.strip()}"]
    known = run(binary, [command, "--help"], folder).stdout
    options = [word.split("=")[0] for word in words[1:] if word.startswith("-") and len(word) > 1]
    return [f"{place}: solve {command} has no {option}" for option in options if option not in known]


def main():
    binary, root = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    data, update = os.environ.get("TESSERA_TEST_DATA"), os.environ.get("TESSERA_UPDATE_SAMPLES") == "1"
    failures, skipped, checked = [], [], 0
    with tempfile.TemporaryDirectory() as folder:
        for path in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
            samples, plain = samples_of(path)
            # From the end, so that a rewritten sample does not move those above it.
            for sample in reversed(samples):
                note, wrong = check_sample(binary, sample, data, update)
                skipped += [note] if note else []
                failures += wrong
                checked += 0 if note else 1
            for place, text in plain:
                failures += check_plain(binary, place, text, folder)
                checked += 1
    print(*skipped, *failures, sep="\n")
    print(f"{checked} commands checked, {len(skipped)} samples skipped, {len(failures)} differences")
    if checked == 0:
        sys.exit("no sample found: the documents or this program changed")
    sys.exit(0 if update or not failures else 1)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Runs clang-tidy on one source, unless the same bytes were found clean before.

  scripts/clang-tidy-cached.py BUILD_DIRECTORY SOURCE

What was clean is remembered in TESSERA_LINT_CACHE (default ~/.cache/tessera-lint) by a hash of all that clang-tidy sees:
its version and configuration, the compile command, and every file that the source includes. Entries that nothing has
asked for in a month are lint.sh's to remove.
"""
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def compile_command(build, source):
    """Of a source that this build leaves out (a backend that is switched off): the command of the nearest source of its
    kind, which is about what clang-tidy assumes too."""

    def nearness(entry):
        return len(os.path.commonpath([pathlib.Path(entry["file"]).parent, source.parent]))

    entries = json.loads((build / "compile_commands.json").read_text())
    for entry in entries:
        if pathlib.Path(entry["file"]) == source:
            return entry["directory"], shlex.split(entry["command"])
    alike = [entry for entry in entries if pathlib.Path(entry["file"]).suffix == source.suffix]
    if not alike:
        sys.exit(f"{source}: no source of its kind in {build}/compile_commands.json")
    entry = max(alike, key=nearness)
    words = shlex.split(entry["command"])
    return entry["directory"], [str(source) if word == entry["file"] else word for word in words]


def included_files(directory, command):
    """The source and its headers, the system's among them, as the compiler finds them."""
    output = command.index("-o")
    arguments = [word for word in command[:output] + command[output + 2 :] if word != "-c"]
    rule = subprocess.run([*arguments, "-M"], cwd=directory, check=True, capture_output=True, text=True).stdout
    words = shlex.split(rule.replace("\\\n", " "))[1:]
    return sorted({os.path.normpath(os.path.join(directory, word)) for word in words})


def key_of(tidy, build, source):
    directory, command = compile_command(build, source)
    version = subprocess.run([tidy[0], "--version"], check=True, capture_output=True).stdout
    digest = hashlib.sha256(version)
    for folder in [source.parent, *source.parent.parents]:
        if folder.is_relative_to(ROOT) and (folder / ".clang-tidy").exists():
            digest.update((folder / ".clang-tidy").read_bytes())

    def add(text):  # the same in every clone
        digest.update(text.replace(str(ROOT), "").encode() + b"\0")

    add(" ".join(tidy[1:]))
    add(" ".join(command))
    for name in included_files(directory, command):
        add(name)
        digest.update(hashlib.sha256(pathlib.Path(name).read_bytes()).digest())
    return digest.hexdigest()


def main():
    build, source = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    tidy = ["clang-tidy", "--quiet", "-p", str(build), "--extra-arg=-Wno-unknown-warning-option"]
    cache = pathlib.Path(os.environ.get("TESSERA_LINT_CACHE") or pathlib.Path.home() / ".cache" / "tessera-lint")
    clean = cache / key_of(tidy, build, source)
    if clean.exists():
        clean.touch()
        return 0
    code = subprocess.run([*tidy, str(source)]).returncode
    if code == 0:
        cache.mkdir(parents=True, exist_ok=True)
        clean.touch()
    return code


if __name__ == "__main__":
    sys.exit(main())

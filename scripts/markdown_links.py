#!/usr/bin/env python3
"""Finds dead relative links in Markdown files: a target that does not exist, or a heading that the target does not have.

  scripts/markdown_links.py DIRECTORY    every .md file under it

scripts/check-structure.py holds the repository against the same rules.
"""
import pathlib
import re
import sys

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ +(.*?) *#*$", re.MULTILINE)


def anchors(text):
    """The anchors that GitHub makes of the headings."""
    found = set()
    for heading in HEADING.findall(FENCE.sub("", text)):
        heading = LINK.sub("", heading).replace("[", "").lower()
        anchor = re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
        number = 0
        unique = anchor
        while unique in found:
            number += 1
            unique = f"{anchor}-{number}"
        found.add(unique)
    return found


def dead_links(path):
    text = path.read_text(encoding="utf-8")
    # Code is not a link: A[i](x) in a fence, an indented sample or between backticks.
    prose = re.sub(r"`[^`\n]*`", "", re.sub(r"^    .*$", "", FENCE.sub("", text), flags=re.MULTILINE))
    for link in LINK.findall(prose):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = path.parent / name if name else path
        if not target.exists():
            yield f"{path}: {link}: {target} does not exist"
        elif anchor and target.suffix == ".md" and anchor not in anchors(target.read_text(encoding="utf-8")):
            yield f"{path}: {link}: no heading makes the anchor {anchor}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    files = sorted(pathlib.Path(sys.argv[1]).rglob("*.md"))
    dead = [line for path in files for line in dead_links(path)]
    print("\n".join(dead))
    if dead or not files:
        sys.exit(f"{len(files)} Markdown files, {len(dead)} dead links")


if __name__ == "__main__":
    main()

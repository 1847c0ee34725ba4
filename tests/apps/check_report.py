#!/usr/bin/env python3
"""Holds a page of solve report against the documents that it was made from.

check_report.py PAGE DOCUMENT... prints what is wrong, and fails if anything is:

  structure   every element is closed in its order, ids are unique, labels lead to ids, tables are rectangular, each drawing
              has a title and a description
  loading     no script, no handler, no reference but data: in it, and a policy that forbids the rest
  numbers     each data element holds a number of the documents and shows it; what must be there is there
  curves      the residuals' ends and extremes lie where the labels of the axes put them; every interval is drawn
  images      the first image of a matrix is drawn where its cells have entries
"""
import base64
import html.parser
import json
import math
import re
import struct
import sys
import zlib

VOID = {"meta", "img", "br", "hr", "input", "link"}


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.problems, self.stack, self.ids, self.labels = [], [], set(), []
        self.data, self.elements, self.texts = [], [], []
        self.tables, self.title = [], ""
        self.feed(text)
        self.close()
        if self.stack:
            self.problems.append(f"not closed: {self.stack}")
        self.problems += [f"no element has the id {name}" for name in self.labels if name not in self.ids]

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag == "script" or any(name.startswith("on") for name in attributes):
            self.problems.append(f"runs something: {tag} {attributes}")
        for name in ("src", "href", "xlink:href", "action", "poster", "srcset"):
            if not attributes.get(name, "data:").startswith("data:"):
                self.problems.append(f"loads {attributes[name]}")
        if "id" in attributes:
            if attributes["id"] in self.ids:
                self.problems.append(f"id {attributes['id']} is there twice")
            self.ids.add(attributes["id"])
        self.labels += attributes.get("aria-labelledby", "").split()
        if tag == "svg" and "aria-hidden" not in attributes and "aria-labelledby" not in attributes:
            self.problems.append("a drawing has neither a title nor is it hidden")
        if tag == "img" and not attributes.get("alt"):
            self.problems.append("an image without words")
        if tag == "table":
            self.tables.append([])
        if tag == "tr":
            self.tables[-1].append(0)
        if tag in ("td", "th"):
            self.tables[-1][-1] += 1
        if tag == "data":
            self.data.append([attributes["value"], ""])
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.stack.pop()

    def handle_endtag(self, tag):
        if not self.stack or self.stack[-1] != tag:
            self.problems.append(f"</{tag}> closes {self.stack[-1:]} at {self.getpos()}")
        else:
            self.stack.pop()
        if tag == "table" and len(set(self.tables[-1])) > 1:
            self.problems.append(f"rows of a table have {sorted(set(self.tables[-1]))} cells")

    def handle_data(self, data):
        self.texts.append(data)
        if "data" in self.stack:
            self.data[-1][1] += data
        if self.stack[-1:] == ["title"] and "svg" not in self.stack:
            self.title += data


def numbers_of(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from numbers_of(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield float(value)


def shows(text, value):
    """Whether three digits of the value, in any of the units, are what the text says."""
    text = text.replace("\u202f", "")
    found = re.match(r"-?\d+(\.\d+)?(e[-+]?\d+)?", text)
    if not found:
        return False
    shown = float(found[0])
    scales = [1.0, 1e3, 1e-3, 100.0] + [1024.0 ** -k for k in range(1, 5)]
    return shown == value or any(math.isclose(shown, scale * value, rel_tol=0.06) for scale in scales)


def check_numbers(page, documents):
    known = set().union(*(numbers_of(document) for document in documents))
    for value, text in page.data:
        if float(value) not in known:
            yield f"{value} is in no document"
        elif not shows(text, float(value)):
            yield f"{value} is shown as {text}"
    there = {float(value) for value, _ in page.data}
    for document in documents:
        for name, value in required(document):
            if value is not None and float(value) not in there:
                yield f"{name} = {value} is not shown"


def required(document):
    """Numbers that a page must show, of a document as the program writes it."""
    if "started" not in document:
        return
    if document["schema"] == "solve.scoreboard/1":
        yield from ((f"ratio of {row['row']}", row["time"]["ratio"]) for row in document["rows"])
        yield from ((f"ratio of {area['area']}", area["time"]["ratio"]) for area in document["areas"])
        return
    result = document.get("result", {})
    kind = document["schema"].split(".")[1].split("/")[0]
    if kind in ("run", "pagerank", "centrality"):
        yield "iterations", result["iterations"]
        yield from ((name, ms) for name, ms in document["timings_ms"].items()
                    if ms and name in ("read", "generate", "inspect", "plan", "precond_setup", "solve", "ladder_rest",
                                       "accuracy", "advice"))
    if kind == "run":
        yield "residual", result["residual"]["true"]
        for level in (document["preconditioner"]["hierarchy"] or {}).get("levels", []):
            yield from ((key, level[key]) for key in ("rows", "nnz", "bytes"))
        for rung in (document["ladder"] or {}).get("rungs", []):
            yield "iterations of a rung", rung["iterations"]
    if kind == "compare":
        for case in document["cases"]:
            times = case.get("product_ms", {}).get("warm") or case.get("total_ms")
            if times:
                yield from (("median", times["median"]), ("ratio", times["speed_up"]["ratio"]))
                yield from (("low", times["speed_up"]["low"]), ("high", times["speed_up"]["high"]))
    if kind == "spgemm":
        yield from (("entries", product["nnz"]) for product in document["products"])
    if "matrix" in document:
        yield from ((key, document["matrix"][key]) for key in ("rows", "cols", "nnz", "max_row_nnz"))


SUPERSCRIPTS = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def level_of(label):
    return float(label[2:].translate(SUPERSCRIPTS)) if label[2:].translate(SUPERSCRIPTS) != label[2:] else math.log10(float(label))


def check_curves(text, documents):
    """From the labels of the vertical axis to pixels, and back from the curves to residuals."""
    runs = [document for document in documents if document["schema"] == "solve.run/1"]
    plot = re.search(r'<svg[^>]*aria-labelledby="residuals-title.*?</svg>', text, re.S)
    curves = [[row for row in run.get("history", {}).get("rows", []) if row[2]] for run in runs]
    if not any(curves):
        return
    if not plot:
        yield "no residuals are drawn"
        return
    ticks = [(float(y) - 4, level_of(label)) for y, label in
             re.findall(r'<text class="tick" x="[^"]*" y="([^"]*)" text-anchor="end">([^<]*)</text>', plot[0])]
    (y0, level0), (y1, level1) = ticks[0], ticks[-1]
    lines = re.findall(r'<polyline class="curve[^"]*" points="([^"]*)"', plot[0])
    drawn = [[float(pair.split(",")[1]) for pair in line.split()] for line in lines]
    if len(drawn) != sum(1 for rows in curves if rows):
        yield f"{len(drawn)} curves for {len(curves)} runs"
        return
    for run, rows, ys in zip([r for r, c in zip(runs, curves) if c], [c for c in curves if c], drawn):
        residual = run["result"]["residual"]
        base = residual["r0_norm" if residual["base"] == "r0" else "b_norm"] or 1.0
        levels = [math.log10(row[2] / base) for row in rows]
        where = lambda level: y0 + (level - level0) / (level1 - level0) * (y1 - y0)
        for name, y, level in (("first", ys[0], levels[0]), ("last", ys[-1], levels[-1]),
                               ("largest", min(ys), max(levels)), ("smallest", max(ys), min(levels))):
            if abs(y - where(level)) > 0.3:
                yield f"the {name} residual is drawn at {y}, not at {where(level):.1f}"


def check_intervals(text, documents):
    measured = sum(1 for document in documents for case in document.get("cases", [])
                   if case.get("product_ms") or case.get("total_ms"))
    scored = sum(1 for document in documents if document["schema"] == "solve.scoreboard/1"
                 for item in (*document.get("areas", []), *document.get("rows", [])) if item["time"]["ratio"])
    cold = sum(1 for document in documents for case in document.get("cases", []) if "cold" in case.get("product_ms", {}))
    drawn = len(re.findall(r'<path class="span"', text))
    if drawn != 2 * (measured + cold) + scored:
        yield f"{drawn} intervals are drawn, {2 * (measured + cold) + scored} were measured"


def check_images(text, documents):
    """The first image: a cell is drawn where it has entries, and the fullest is opaque."""
    matrices = [document["matrix"] for document in documents if "density" in document.get("matrix", {})]
    image = re.search(r'<img class="spy"[^>]*src="data:image/png;base64,([^"]*)"', text)
    if not matrices or not image:
        if matrices or image:
            yield "an image without a density, or a density without an image"
        return
    data, place, packed = base64.b64decode(image[1], validate=True), 8, b""
    while place < len(data):
        size, name = struct.unpack(">I4s", data[place : place + 8])
        if struct.unpack(">I", data[place + 8 + size : place + 12 + size])[0] != zlib.crc32(data[place + 4 : place + 8 + size]):
            yield f"the checksum of {name} is wrong"
        packed += data[place + 8 : place + 8 + size] if name == b"IDAT" else b""
        place += size + 12
    grid = matrices[0]["density"]
    if struct.unpack(">IIBB", data[16:26]) != (grid["cols"], grid["rows"], 8, 4):
        yield "the image has another size or format than its grid"
        return
    raw, width = zlib.decompress(packed), 2 * grid["cols"] + 1
    opacity = [raw[r * width + 2 : (r + 1) * width : 2] for r in range(grid["rows"])]
    if any((alpha > 0) != (count > 0) for line, row in zip(opacity, grid["counts"]) for alpha, count in zip(line, row)):
        yield "the image is not drawn where the entries are"
    if max(map(max, opacity)) != 255 and any(map(any, grid["counts"])):
        yield "the fullest cell is not opaque"
    if sum(map(sum, grid["counts"])) != matrices[0]["nnz"]:
        yield "the grid does not hold all entries"


def main():
    path, *names = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    documents = []
    for name in names:
        with open(name, encoding="utf-8") as file:
            documents.append(json.load(file))
    page = Page(text)
    problems = list(page.problems)
    if not text.startswith("<!DOCTYPE html>") or not page.title:
        problems.append("no type or no title")
    if len(text.encode()) >= 1_000_000:
        problems.append(f"{len(text.encode())} bytes")
    policies = [a.get("content", "") for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    if not policies or "default-src 'none'" not in policies[0]:
        problems.append("no policy that forbids to load")
    if re.search(r"https?:|//[a-z]|url\(|@import", re.sub(r'src="data:[^"]*"', "", re.sub(r">[^<]*<", "><", text))):
        problems.append("names something outside")
    problems += check_numbers(page, documents)
    problems += check_curves(text, documents)
    problems += check_intervals(text, documents)
    problems += check_images(text, documents)
    print(*problems[:20], sep="\n")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

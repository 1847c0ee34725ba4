#!/usr/bin/env python3
"""Looks at pages of solve report in a headless browser.

browse_report.py CHROMIUM FOLDER PAGE... takes a screenshot of each page at 800 pixels, light, and at 1600, dark, of a copy
with a script, which the page itself may not have. It measures that nothing was loaded, that the page is no wider than the
window, that no table is cut and no text too small; the screenshot must be drawn on, on paper of the right lightness. Prints
what is wrong, and fails if anything is.
"""
import json
import pathlib
import re
import struct
import subprocess
import sys
import zlib

MEASURE = """<script>
addEventListener("load", () => {
  const sizes = [...document.querySelectorAll("svg text")].map(t => t.getBoundingClientRect().height).filter(h => h > 0);
  const root = document.documentElement;
  const left = [...document.querySelectorAll("body *")].map(e => e.getBoundingClientRect().left).reduce((a, b) => Math.min(a, b), 0);
  const cut = [...document.querySelectorAll(".wide")].filter(e => e.scrollWidth > e.clientWidth + 1).length;
  document.body.insertAdjacentHTML("beforeend", "<pre id='measured'>" + JSON.stringify({
    width: root.scrollWidth, window: innerWidth, left, cut, smallest: Math.min(...sizes, 99),
    loaded: performance.getEntriesByType("resource").filter(r => !r.name.startsWith("data:")).length,
    paper: getComputedStyle(document.body).backgroundColor, ink: getComputedStyle(document.body).color }) + "</pre>");
});
</script>"""


def browse(chromium, folder, url, width, is_dark, *wanted):
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
               f"--user-data-dir={folder}/profile", f"--window-size={width},1200",
               f"--blink-settings=preferredColorScheme={0 if is_dark else 1}", *wanted, url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def pixels(path):
    """The rows of an 8-bit PNG without interlacing, each a bytes object, and the bytes of a pixel."""
    data = path.read_bytes()
    width, height, depth, kind = struct.unpack(">IIBB", data[16:26])
    assert depth == 8 and kind in (2, 6), (depth, kind)
    step = 3 if kind == 2 else 4
    packed, place = b"", 8
    while place < len(data):
        size, name = struct.unpack(">I4s", data[place : place + 8])
        packed += data[place + 8 : place + 8 + size] if name == b"IDAT" else b""
        place += size + 12
    raw, rows, above = zlib.decompress(packed), [], bytes(width * step)
    for r in range(height):
        line = bytearray(raw[r * (width * step + 1) + 1 : (r + 1) * (width * step + 1)])
        filtering = raw[r * (width * step + 1)]
        if filtering == 2:
            line = bytearray((a + b) & 255 for a, b in zip(line, above))
        elif filtering:
            for i in range(len(line)):
                left, up = line[i - step] if i >= step else 0, above[i]
                corner = above[i - step] if i >= step else 0
                if filtering == 1:
                    line[i] = (line[i] + left) & 255
                elif filtering == 3:
                    line[i] = (line[i] + (left + up) // 2) & 255
                else:
                    guess = left + up - corner
                    line[i] = (line[i] + min((left, up, corner), key=lambda p: abs(guess - p))) & 255
        above = bytes(line)
        rows.append(above)
    return rows, step


def check_screenshot(path, is_dark):
    rows, step = pixels(path)
    colors = {}
    for row in rows[::4]:
        for i in range(0, len(row), 4 * step):
            color = row[i : i + 3]
            colors[color] = colors.get(color, 0) + 1
    paper, most = max(colors.items(), key=lambda item: item[1])
    inked = 1 - most / sum(colors.values())
    if not 0.01 < inked < 0.6 or len(colors) < 16:
        yield f"{inked:.1%} of it is drawn on, in {len(colors)} colours"
    if (sum(paper) < 3 * 128) != is_dark:
        yield f"its paper has the colour {tuple(paper)}"


def check(chromium, folder, page):
    text = page.read_text(encoding="utf-8")
    copy = folder / ("measured-" + page.name)
    copy.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text).replace("</head>", MEASURE + "</head>"))
    for width, is_dark in ((800, False), (1600, True)):
        name = f"{page.stem} at {width} pixels"
        image = folder / f"{page.stem}-{width}.png"
        shown = browse(chromium, folder, copy.as_uri(), width, is_dark, "--dump-dom", f"--screenshot={image}")
        found = re.search(r'<pre id="measured">(.*?)</pre>', shown)
        if not found:
            yield f"{name}: the browser did not measure it"
            continue
        measured = json.loads(found[1])
        if measured["loaded"]:
            yield f"{name}: {measured['loaded']} things were loaded"
        if measured["width"] > width or measured["left"] < 0 or measured["window"] != width:
            yield f"{name}: {measured['width']} pixels wide, from {measured['left']}, in a window of {measured['window']}"
        if measured["cut"]:
            yield f"{name}: {measured['cut']} tables are cut"
        if measured["smallest"] < 9:
            yield f"{name}: text of {measured['smallest']:.1f} pixels"
        yield from (f"{name}: {problem}" for problem in check_screenshot(image, is_dark))


def main():
    chromium, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    problems = [problem for page in sys.argv[3:] for problem in check(chromium, folder, pathlib.Path(page).resolve())]
    print(*problems, sep="\n")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()

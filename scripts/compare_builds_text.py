"""A scoreboard as text for a terminal, its verdict in the last line."""

SHOWN_ROWS = 8  # slowest and fastest


def table(headings, rows):
    """Columns as wide as needed, the first aligned to the left."""
    if not rows:
        return []
    widths = [max(len(line[i]) for line in [headings, *rows]) for i in range(len(headings))]
    return ["  " + "  ".join(cell.rjust(width) if i else cell.ljust(width)
                             for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
            for line in [headings, *rows]]


def short(value):
    return "-" if value is None else f"{value:.3g}" if value < 1e4 else f"{value:.0f}"


def ratio_cells(found):
    if found["ratio"] is None:
        return ["-", "", ""]
    return [f"{found['ratio']:.3f}", f"{found['low']:.3f} to {found['high']:.3f}", str(found["rounds"])]


def verdict_cell(word):
    return {"same": "", "slower": "slower, not confirmed", "faster": "faster, not confirmed"}.get(word, word or "")


def row_table(title, rows):
    cells = [[row["row"], short(row["old"]["ms"]), short(row["new"]["ms"]), *ratio_cells(row["time"]),
              verdict_cell(row["verdict"])] for row in rows]
    return section(title, table(["row", "old ms", "new ms", "new / old", "interval", "rounds", ""], cells))


def section(title, lines):
    return [f"{title}:", *lines, ""] if lines else []


def listed(title, lines):
    return section(f"{title} ({len(lines)})", [f"  {line}" for line in lines])


def build_line(label, document):
    tessera, machine = document.get("tessera", {}), document.get("machine", {})
    gpu = machine.get("gpu")
    where = gpu.get("name", gpu) if isinstance(gpu, dict) else gpu
    return (f"{label}  {tessera.get('version', '?')} commit {tessera.get('commit', '?')}, "
            f"{tessera.get('compiler', '?')}, {tessera.get('build_type', '?')}; {where or machine.get('cpu', '?')}")


def recorded(document):
    cells = [[row["row"], short(row["new"]["ms"]), short(row["new"]["setup_ms"]), str(row["new"]["rounds"]),
              "" if row["new"]["solved_rounds"] else "not solved"] for row in document["rows"] if row["new"]]
    claims = [f"{row['row']}: {row['new']['false_claim']}" for row in document["rows"]
              if row["new"] and row["new"]["false_claim"]]
    return section("rows", table(["row", "ms", "set-up ms", "rounds", ""], cells)) + listed("false claims", claims)


def compared(document):
    areas = [[area["area"], str(area["rows"]), *ratio_cells(area["time"]), f"{100 * area['noise']:.1f} %",
              verdict_cell(area["verdict"])]
             for area in document["areas"]]
    rows = sorted((row for row in document["rows"] if row["time"]["ratio"] is not None),
                  key=lambda row: -row["time"]["ratio"])
    slowest = rows[:SHOWN_ROWS]
    fastest = rows[max(len(slowest), len(rows) - SHOWN_ROWS):][::-1]
    others = [row for row in rows if row["verdict"] != "same" and row not in slowest and row not in fastest]
    as_before = {True: "", False: ", as before"}
    return [
        *section("areas", table(["area", "rows", "new / old", "interval", "rounds", "noise", ""], areas)),
        *row_table("slowest rows", slowest), *row_table("fastest rows", fastest), *row_table("further rows", others),
        *listed("no ratio", [f"{row['row']}: {row['why_no_ratio']}" for row in document["rows"]
                             if row["why_no_ratio"] not in (None, "not measured")]),
        *listed("lost", document["lost"]), *listed("found", document["found"]),
        *listed("false claims", [f"{each['row']}, {each['build']}: {each['text']}"
                                 + ("" if each["worse"] or each["build"] == "old" else as_before[False])
                                 for each in document["false_claims"]]),
        *listed("memory", [each["row"] + ": " + each["text"] + as_before[each["worse"]]
                           for each in document["memory"]]),
        *listed("longer set-up", [f"{each['row']}: {each['text']}" for each in document["set_up"]]),
        *listed("bits differ between repetitions", document["unstable_bits"]),
        *listed("other choices", [f"{each['row']}: {each['key']} {each['old']} -> {each['new']}"
                                  for each in document["changed_choices"]]),
        *listed("other bits", document["changed_bits"])]


def text_of(document):
    labels = [label for label in ("old", "new") if document[label] is not None]
    lines = [*(build_line(label, document[label]) for label in labels),
             f"{document['device']}, {document['rounds']} rounds and {document['confirming_rounds']} that confirm in "
             f"{document['seconds']:.0f} s", ""]
    lines += compared(document) if len(labels) > 1 else recorded(document)
    failures = [f"{row['row']}, {label}: {each['text']} ({each['rounds']} of {row[label]['rounds']} rounds)"
                for row in document["rows"] for label in labels if row[label] for each in row[label]["problems"]]
    lines += [*listed("no result", failures), *listed("not measured", document["not_measured"]),
              *listed("not repeated", document["not_repeated"]), *listed("in OLD alone", document["only_old"]),
              *listed("in NEW alone", document["only_new"])]
    lines += [f"{document['result']['status']}: {reason}" for reason in document["result"]["reasons"]]
    return "\n".join([*lines, f"verdict: {document['result']['status']}"])

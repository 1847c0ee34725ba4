#!/usr/bin/env python3
"""Checks documents that solve wrote (--json) against the schemas of this repository.

    scripts/validate-json.py DOCUMENT...

Each document names its schema: "solve.run/1" is schemas/solve.run-1.schema.json. A file that ends in .jsonl has one per
line. Prints what is wrong, one line each, and exits with 1 if anything is. Needs python3-jsonschema.
"""
import json
import pathlib
import sys

import jsonschema

SCHEMAS = pathlib.Path(__file__).resolve().parent.parent / "schemas"


def refuse_constant(token):
    raise ValueError(f"{token} is not JSON")


def problems_of(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return [problem for document in (text.splitlines() if path.endswith(".jsonl") else [text])
            for problem in problems_of_document(document)]


def problems_of_document(text):
    try:
        document = json.loads(text, parse_constant=refuse_constant)
    except ValueError as error:
        return [str(error)]
    name = document.get("schema") if isinstance(document, dict) else None
    file = SCHEMAS / f"{str(name).replace('/', '-')}.schema.json"
    if "/" not in str(name) or not file.is_file():
        return [f"there is no schema {name!r}"]
    schema = json.loads(file.read_text(encoding="utf-8"))
    resolver = jsonschema.RefResolver(file.as_uri(), schema)
    validator = jsonschema.Draft202012Validator(schema, resolver=resolver)
    validator.check_schema(schema)
    return [f"{'/'.join(map(str, error.absolute_path)) or '.'}: {error.message}" for error in
            sorted(validator.iter_errors(document), key=lambda error: list(map(str, error.absolute_path)))]


def main():
    sound = True
    for path in sys.argv[1:]:
        for problem in problems_of(path):
            sound = False
            print(f"{path}: {problem}")
    return 0 if sound else 1


if __name__ == "__main__":
    sys.exit(main())

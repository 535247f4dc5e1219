"""The raw results: lines of JSON in one file, each written as soon as it is known, so that a cut run loses nothing."""

import json
import time
from pathlib import Path


class Results:
    def __init__(self, file):
        self.file = Path(file)
        self.file.parent.mkdir(parents=True, exist_ok=True)

    def add(self, kind, **fields):
        row = {"kind": kind, "at_s": round(time.time(), 2), **fields}
        with self.file.open("a") as out:
            out.write(json.dumps(row) + "\n")
        return row


def read_results(*files):
    """All rows of all files. A last line that was cut off is left out."""
    rows = []
    for file in files:
        for line in Path(file).read_text().splitlines():
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue
    return rows

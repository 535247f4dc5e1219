"""The one cap of two recorded kernels, worked out from their raw rounds: what file_wide_cap_test.cpp compares with.

    python3 tests/file_wide_figures.py tests/data/h200/decay_wide.json tests/data/h200/matmul_registers.json

A kernel's share is its median confirmed time of the author's code; a code's ratio is the median over the rounds in which
both ran, of the confirmation where there is one; a cap counts that has two such rounds for every kernel.
"""

import json
import statistics
import sys


def timed(record, trial):
    outcome = record["trials"][trial]["outcome"]
    return timed(record, outcome["variant"]) if outcome["kind"] == "same code as" else trial


def rounds(record, trial, phase):
    measured = record["trials"][timed(record, trial)]["outcome"].get("measurement")
    return dict(zip(measured[phase]["round"], measured[phase]["ms"])) if measured else {}


def ratio(record, trial):
    if timed(record, trial) == timed(record, 0):
        return 1.0
    for phase in ("confirmation", "race"):
        author, other = rounds(record, 0, phase), rounds(record, trial, phase)
        both = author.keys() & other.keys()
        if len(both) >= 2:
            return statistics.median(other[r] / author[r] for r in both)
    return None


def ratios(record, spelling):
    """By budget, under the kernel's own name."""
    found = {}
    for number, trial in enumerate(record["trials"]):
        if trial["budget"].startswith(spelling) and "choice" not in trial:
            found[trial["budget"]] = ratio(record, number)
    return {budget: value for budget, value in found.items() if value}


records = [json.load(open(file, encoding="utf-8")) for file in sys.argv[1:]]
times = [statistics.median(rounds(record, 0, "confirmation").values()) for record in records]
shares = [time / sum(times) for time in times]
caps = [ratios(record, "--maxrregcount=") for record in records]
common = set.intersection(*(set(of_kernel) for of_kernel in caps))
whole = {cap: sum(share * of[cap] for share, of in zip(shares, caps)) for cap in common}
bounds = [min(ratios(record, "__").items(), key=lambda entry: entry[1]) for record in records]
print("shares", *(f"{share:.4f}" for share in shares))
print(len(common), "caps in all; the best:", *(f"{cap} {value:.4f}" for cap, value in
                                              sorted(whole.items(), key=lambda entry: entry[1])[:3]))
print("bounds", bounds, f"{sum(share * value for share, (_, value) in zip(shares, bounds)):.4f}")

#!/usr/bin/env python3
"""Reads what tests/hecbench.sh left and prints its table.

    tests/hecbench_table.py REGTUNE_FOLDER [NVCC_FOLDER]

REGTUNE_FOLDER holds, for each file (its path with / as %), .rc ("exit-code milliseconds path"), .out (--json) and .err;
NVCC_FOLDER .rc ("exit-code path") and .log (of -Xptxas -v). With it, only files that nvcc compiles count, and the
registers and spills of the author's code are compared for each kernel that both compile.
"""
import json
import os
import re
import sys


def read(path):
    try:
        with open(path, errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def alike(name):
    """A mangled name in which long is long long: uint64_t is unsigned long to nvcc's host, and long long to NVRTC."""
    return name.translate(str.maketrans("xy", "lm"))


def of_nvcc(log):
    """({mangled name: (registers, spill stores, spill loads)}, names that use shared memory, spills of functions that
    are called)"""
    kernels, shared, called = {}, set(), set()
    name, spills, properties_of = None, (0, 0), None
    for line in log.splitlines():
        if found := re.search(r"Compiling entry function '([^']+)'", line):
            name, spills = found[1], (0, 0)
        elif found := re.search(r"Function properties for (\S+)", line):
            properties_of = found[1]
        elif found := re.search(r"(\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if properties_of == name:
                spills = (int(found[1]), int(found[2]))
            else:
                called.add((int(found[1]), int(found[2])))
        elif (found := re.search(r"Used (\d+) registers", line)) and name:
            kernels[alike(name)] = (int(found[1]), *spills)
            if re.search(r"bytes smem|used [1-9]\d* barriers", line):
                shared.add(alike(name))
            name = None
    return kernels, shared, called


def likely_reason(name, mine, nvccs, shared, called):
    if mine[0] == nvccs[0] and mine[1] >= nvccs[1] and any(stores or loads for stores, loads in called):
        return "the spills of functions that it calls, which nvcc lists by themselves"
    if name in shared:
        return "shared memory: 32-bit addresses in nvcc's code, 64-bit ones in NVRTC's"
    return "not established"


def of_regtune(out):
    """({mangled name: (signature, (registers, spill stores, spill loads))}, whether an instance is a guess)"""
    kernels, guess = {}, False
    try:
        studies = json.loads(out).get("studies", [])
    except ValueError:
        studies = []
    for study in studies:
        record = study.get("record", {})
        guess = guess or any("are a guess" in note for note in record.get("source_notes", []))
        facts = next(iter(record.get("trials", [])), {}).get("facts")
        if facts:
            numbers = (facts["registers_per_thread"], facts["spill_store_bytes"], facts["spill_load_bytes"])
            kernels[alike(record["kernel"])] = (record["signature"], numbers)
    return kernels, guess


def class_of(code, err, entries):
    if code == 0:
        return "studied"
    if entries == 0:
        return "no kernel in this unit, nor for nvcc"
    return {4: "not compiled", 5: "no instance", 124: "too slow"}.get(code, "other")


def reason_in(err):
    for line in err.splitlines():
        if re.search(r"\(\d+\): (catastrophic )?error", line):
            return line.strip()
    return next((line.strip() for line in err.splitlines() if line.strip()), "")


def row(cells):
    print("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")


def main():
    ours = sys.argv[1]
    nvccs = sys.argv[2] if len(sys.argv) > 2 else None
    failures, differences, classes = [], [], {}
    files = studied = guesses = compared = equal = no_counterpart = refused_by_nvcc = 0
    for entry in sorted(os.listdir(ours)):
        if not entry.endswith(".rc"):
            continue
        stem = entry[:-3]
        words = read(os.path.join(ours, entry)).split()
        code, path = int(words[0]), words[2]
        entries = None
        nvcc, shared, called = {}, set(), set()
        if nvccs:
            if read(os.path.join(nvccs, entry)).split()[:1] != ["0"]:
                refused_by_nvcc += 1
                continue
            nvcc, shared, called = of_nvcc(read(os.path.join(nvccs, stem + ".log")))
            entries = len(nvcc)
        files += 1
        err = read(os.path.join(ours, stem + ".err"))
        kind = class_of(code, err, entries)
        classes[kind] = classes.get(kind, 0) + 1
        if code != 0:
            failures.append((path, kind, reason_in(err)))
            continue
        studied += 1
        kernels, guess = of_regtune(read(os.path.join(ours, stem + ".out")))
        guesses += guess
        for name, (signature, numbers) in sorted(kernels.items()):
            if name not in nvcc:
                no_counterpart += 1
                continue
            compared += 1
            if numbers == nvcc[name]:
                equal += 1
            else:
                show = lambda n: f"{n[0]}, {n[1]}/{n[2]}"
                why = likely_reason(name, numbers, nvcc[name], shared, called)
                differences.append((path, signature.split("(")[0] if "<" not in signature else signature.rsplit(">(", 1)[0] + ">",
                                    show(nvcc[name]), show(numbers), why))

    print(f"{files} files{' that nvcc compiles' if nvccs else ''}, {studied} studied "
          f"({100 * studied / max(files, 1):.1f} %), {guesses} of these with a guessed template argument")
    for kind, count in sorted(classes.items(), key=lambda item: -item[1]):
        print(f"- {count} {kind}")
    print("\n## Files that are not studied\n")
    row(("file", "class", "reason"))
    row(("---", "---", "---"))
    for failure in failures:
        row(failure)
    if not nvccs:
        return
    print(f"\n{refused_by_nvcc} files are not compiled by nvcc itself and do not count.")
    print(f"\n## Registers and spills of the author's code\n\n{compared} kernels that both compile, {equal} equal "
          f"({100 * equal / max(compared, 1):.1f} %); {no_counterpart} kernels of regtune's are none of nvcc's.\n")
    row(("file", "kernel", "nvcc: registers, spill st/ld", "regtune", "likely reason"))
    row(("---", "---", "---", "---", "---"))
    for difference in differences:
        row(difference)


if __name__ == "__main__":
    main()

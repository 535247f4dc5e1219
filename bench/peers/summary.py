#!/usr/bin/env python3
"""Makes docs/benchmarks.md and its plots of the raw results, and of nothing else:

    python3 bench/peers/summary.py bench/results/h200/peers.jsonl --page docs/benchmarks.md --plots docs/images

A part that is not in the results has no section, and what was skipped is listed with its reason.
"""

import argparse
import os
import sys
from pathlib import Path

import tables
from results import read_results
from svg_plot import draw

AXES = {"caps": "number of caps", "jobs": "compilers side by side", "kernels in a file": "kernels in a file",
        "problem size": "elements"}


def _environment(rows):
    found = tables.of_kind(rows, "environment")
    if not found:
        return ""
    one = found[-1]
    versions = dict.fromkeys(f"{row['peer']} {row['version']}" for row in tables.of_kind(rows, "run")
                             if row.get("version"))
    own = next((row["versions"] for row in tables.of_kind(rows, "run") if row.get("versions")), {})
    tools = [f"regtune {own['regtune']} with {own['compiler']}, driver {own['driver']}"] if own else []
    libraries = f"Python {one['python']}, CuPy {one['cupy']}, NVRTC {one['nvrtc']}"
    commands = "\n".join(f"    python3 {row['command']}" for row in found)
    return (f"One {one['gpu']} ({one['multiprocessors']} SMs), {one['cores']} cores ({one['processor']}), "
            f"{one['date']}. {'; '.join([*tools, *versions, libraries])}.\n\n"
            f"{commands}")


_HOW = """\
Each peer runs in a process of its own, as its users run it; cold means with no cache of any kind, and the time is that
of the whole process. GPU time is the sum of the launches' own times, warm-up launches among them. One referee judges
all answers, the author's code among them: it launches every code by CuPy in interleaved rounds, each in a new order,
and compares medians of the times paired by round. It knows the best cap from plain NVRTC's code of every cap, not from
any of the tuners. Codes whose outputs differ from the author's are out. CuPy adds `-ftz=true` to what it compiles, so
all of them compile the kernels of `kernels/` with it."""


def _sweep_section(rows, part, case, title):
    return [f"## {title}", "", tables.sweep_table(rows, part, case), "", tables.referee_line(rows, part, case), ""]


def _strategy_section(rows):
    lines = ["## The same wall time", "",
             "Kernel Tuner's strategies with a time limit of the wall time that regtune took on that kernel; the start "
             "of Python is not counted, and its space is the caps alone.", "", tables.strategy_table(rows), ""]
    better = tables.better_peers(rows)
    if better:
        return lines + ["Better than regtune's answer:", "", *better, ""]
    return lines + ["No answer of a peer is faster than regtune's by more than 0.5 %, on any of these kernels.", ""]


def _public_section(rows):
    return ["## Kernels of public repositories", "", tables.public_table(rows), "", tables.public_sums(rows), ""]


def _all_section(rows):
    return ["## Over the authors' own code", "", tables.all_sums(rows), ""]


def _scaling_section(rows, plots, page_folder):
    lines = ["## What the cost grows with", ""]
    for axis, x_title in AXES.items():
        series = tables.scaling_series(rows, axis)
        if not series:
            continue
        file = plots / f"scaling_{axis.replace(' ', '_')}.svg"
        file.write_text(draw(f"Wall time over {x_title}", x_title, "seconds", series))
        lines += [tables.scaling_table(rows, axis), "", f"![{x_title}]({os.path.relpath(file, page_folder)})", ""]
    return lines


def _left_over_section(rows):
    lines = [f"- {row['what']}" for row in tables.of_kind(rows, "skipped")]
    lines += [f"- {row.get('case', row['part'])}: left out of {row['part']}: {row['why']}"
              for row in tables.of_kind(rows, "left_out") if not tables.was_run(rows, row["part"], row.get("case"))]
    lines += [f"- {row['part']}: ended early: {row['why']}" for row in tables.of_kind(rows, "failed")]
    lines += [f"- {line}" for line in tables.runs_left_out(rows)]
    return ["## What is not in these tables", "", *dict.fromkeys(lines), ""] if lines else []


def page(rows, plots, page_folder):
    """The text of the page; the plots are written into their folder."""
    rows = [row for row in rows if row.get("part") != "preflight"]  # a trial of the tools, over a few configurations
    lines = ["# Benchmarks", "", _environment(rows), "", _HOW, ""]
    parts = {row["part"] for row in rows if row["kind"] == "run"}
    if "brute" in parts:
        lines += _sweep_section(rows, "brute", "decay_wide", "All 233 configurations of a small kernel: decay_wide")
    if "heavy" in parts:
        lines += _sweep_section(rows, "heavy", "block_sort", "A kernel that includes CUB: block_sort")
    if "others" in parts:
        lines += _sweep_section(rows, "others", "decay_wide", "A script, nvcc in a loop, and Triton: decay_wide")
    if "strategies" in parts:
        lines += _strategy_section(rows)
    if tables.of_kind(rows, "public"):
        lines += _public_section(rows)
    if tables.of_kind(rows, "judgement") or tables.of_kind(rows, "public"):
        lines += _all_section(rows)
    if tables.of_kind(rows, "scaling"):
        lines += _scaling_section(rows, plots, page_folder)
    for row in tables.of_kind(rows, "look_up"):
        lines += ["## Asking for a stored answer", "", *_look_up(rows, row), ""]
    return "\n".join(lines + _left_over_section(rows)).rstrip() + "\n"


def _look_up(rows, row):
    """regtune's own figures as its program printed them, and what reading a peer's file costs."""
    lines = ["```", row["text"].strip(), "```"]
    read = [one for one in tables.of_kind(rows, "run") if one.get("look_up_ms")]
    for one in read[:1]:
        lines.append(f"Kernel Tuner has no look-up at run time: reading its cache file and taking the best of it costs "
                     f"{one['look_up_ms']:.2f} ms.")
    return lines


def write(rows, page_file, plots):
    page_file, plots = Path(page_file), Path(plots)
    for folder in (page_file.parent, plots):
        folder.mkdir(parents=True, exist_ok=True)
    page_file.write_text(page(rows, plots, page_file.parent))


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("results", type=Path, nargs="+", help="results.jsonl of one or more runs")
    parser.add_argument("--page", type=Path, default=Path("docs/benchmarks.md"))
    parser.add_argument("--plots", type=Path, default=Path("docs/images"))
    chosen = parser.parse_args(arguments)
    write(read_results(*chosen.results), chosen.page, chosen.plots)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

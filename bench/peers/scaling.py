"""What the cost grows with: problem size, kernels in a file, cores, and number of caps. One small kernel, one point
after the other, until the time is up.
"""

import os
import re
import shutil
from pathlib import Path

from cases import own_case
from children import run_command

KERNEL = "decay_wide"


def scaling(bench, clock):
    """Cost against problem size, kernels of a file, cores, and number of caps."""
    source = own_case(KERNEL).source
    _scale_sizes(bench, clock, source)
    _scale_kernels(bench, clock, source)
    _scale_jobs(bench, clock, source)
    _scale_caps(bench, clock, source)


def _point(bench, clock, axis, x, source, options, seconds=60):
    folder = bench.settings.work / "scaling" / f"{axis.replace(' ', '_')}_{x}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    command = [bench.settings.regtune, "tune", source, "--quiet", "--no-config", "--no-plot", "--cache",
               folder / "cache.db", *options]
    code, wall_s = run_command(command, min(seconds, clock.left_s()), folder / "log.txt")
    row = {"axis": axis, "x": x, "peer": "regtune", "wall_s": wall_s}
    bench.results.add("scaling", **row, **({} if code == 0 else {"failed": f"exit code {code}"}))


def _scale_sizes(bench, clock, source):
    for power in (18, 20, 22, 24, 26):
        if clock.allows(5):
            _point(bench, clock, "problem size", 1 << power, source, ["--set", f"n={1 << power}"])


def several_kernels(text, count):
    """The file of one kernel as a file of so many under other names, with the one description for all of them."""
    opening, ending = text.index("/*regtune"), text.index("*/") + len("*/")
    description = re.sub(r'kernel = ".*"\n', "", text[opening:ending])
    body = text[:opening] + text[ending:]
    return description + "\n" + "\n".join(body.replace("decayWide", f"decayWide{number}") for number in range(count))


def _scale_kernels(bench, clock, source):
    for count in (1, 2, 4, 8):
        if clock.allows(5):
            file = bench.settings.work / f"kernels_{count}.cu"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(several_kernels(source.read_text(), count))
            _point(bench, clock, "kernels in a file", count, file, ["--kernel", "all"] if count > 1 else [])


def _scale_jobs(bench, clock, source):
    for jobs in (16, 8, 4, 2, 1):
        if jobs <= (os.cpu_count() or 1) and clock.allows(8):
            _point(bench, clock, "jobs", jobs, source, ["--jobs", str(jobs)])


def _scale_caps(bench, clock, source):
    """The whole sweep of N caps, and plain NVRTC for the same N, one after the other."""
    program = Path(bench.settings.bench_programs or "/nonexistent") / "bench_compile_engine"
    if not program.exists():
        bench.results.add("skipped", what=f"number of caps: {program} is not there: cmake --build, target "
                                          "bench_compile_engine")
        return
    for caps in (8, 16, 32, 64, 128, 232):
        if not clock.allows(5):
            break
        log = bench.settings.work / f"caps_{caps}.md"
        run_command([program, source, "--jobs", str(bench.settings.jobs), "--caps", str(caps)],
                    min(60, clock.left_s()), log)
        cells = [cell.strip() for cell in log.read_text(errors="replace").strip().splitlines()[-1].split("|")]
        try:
            bench.results.add("scaling", axis="caps", x=caps, peer="regtune, compiling",
                              wall_s=float(cells[5].split()[0]))
            bench.results.add("scaling", axis="caps", x=caps, peer="NVRTC, one by one",
                              wall_s=float(cells[4].split()[0]))
        except (IndexError, ValueError):
            bench.results.add("scaling", axis="caps", x=caps, peer="regtune, compiling", failed=" ".join(cells)[-200:])

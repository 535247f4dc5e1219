"""regtune beside its peers, on one GPU machine in one command:

    python3 bench/peers --regtune build/release/regtune --out build/peers/results

Nothing of a peer is in this repository: each is used where it is found, and is otherwise skipped with a line that says
where to get it. The raw results are JSON lines in OUT/results.jsonl, written as they come; at the end the tables and
plots are made of them (summary.py). Without a GPU, or with --dry-run, everything that would be run is only named.
"""

import argparse
import os
import platform
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import gpu as gpus  # noqa: E402
import nvrtc  # noqa: E402
import peer_kernel_tuner  # noqa: E402
import peer_ktt  # noqa: E402
import peer_nvcc  # noqa: E402
import peer_script  # noqa: E402
import peer_triton  # noqa: E402
from cases import public_cases  # noqa: E402
from results import Results, read_results  # noqa: E402
from settings import DEFAULT_PARTS, PARTS, REPOSITORY, Settings  # noqa: E402


def parse(arguments):
    parser = argparse.ArgumentParser(prog="bench/peers", description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--regtune", type=Path, default=REPOSITORY / "build" / "release" / "regtune")
    parser.add_argument("--out", type=Path, default=REPOSITORY / "build" / "peers" / "results")
    parser.add_argument("--work", type=Path, help="folder of caches, machine code and logs (default: OUT/work)")
    parser.add_argument("--site", type=Path, help="folder of Python packages that holds kernel_tuner")
    parser.add_argument("--public", type=Path, help="checkouts of public repositories, as owner/name")
    parser.add_argument("--ktt", type=Path, help="a checkout of KTT")
    parser.add_argument("--programs", type=Path, help="folder of bench_compile_engine and bench_lookup "
                                                      "(default: that of regtune)")
    parser.add_argument("--parts", default=",".join(DEFAULT_PARTS),
                        help=f"of {', '.join(PARTS)} (default: all but preflight)")
    parser.add_argument("--cases", help="of the parts strategies and public, these kernels alone")
    parser.add_argument("--limit", type=float, default=540, help="seconds for all of it (default: 540)")
    parser.add_argument("--part-limit", action="append", default=[], metavar="PART=S", help="seconds for a part")
    parser.add_argument("--public-budget", type=float, default=3, help="seconds of GPU time for each public kernel")
    parser.add_argument("--public-compile-budget", type=float, default=5, help="seconds of compiling for each")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--dry-run", action="store_true", help="say what would be run, and run nothing")
    chosen = parser.parse_args(arguments)
    chosen.parts = chosen.parts.split(",")
    unknown = [name for name in chosen.parts if name not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]}; there are {', '.join(PARTS)}")
    return chosen


def why_skipped(settings):
    """A line for each peer that cannot be run here."""
    if settings.site:
        sys.path.append(str(settings.site))
    no_gpu = gpus.missing()
    reasons = {
        "regtune": None if settings.regtune.exists() else f"{settings.regtune} is not there: cmake --preset release",
        peer_kernel_tuner.NAME: peer_kernel_tuner.missing(),
        peer_script.NAME: peer_script.missing(),
        peer_nvcc.NAME: peer_nvcc.missing(),
        peer_triton.NAME: peer_triton.missing(),
        peer_ktt.NAME: peer_ktt.missing(settings.ktt),
    }
    return {peer: why or no_gpu for peer, why in reasons.items() if why or (no_gpu and peer != peer_ktt.NAME)}


def environment(settings, command):
    """What the figures depend on."""
    processor = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                      if line.startswith("model name")), platform.machine())
    try:
        compiler = nvrtc.version()
    except nvrtc.CompileError:
        compiler = "none"
    return {"command": " ".join(command), "date": time.strftime("%Y-%m-%d", time.gmtime()), "processor": processor,
            "cores": settings.jobs, "python": platform.python_version(), "nvrtc": compiler}


def main(arguments):
    chosen = parse(arguments)
    settings = Settings(regtune=chosen.regtune, out=chosen.out, work=chosen.work or chosen.out / "work",
                        site=chosen.site, public=chosen.public, ktt=chosen.ktt,
                        bench_programs=chosen.programs or chosen.regtune.parent, jobs=chosen.jobs,
                        limit_s=chosen.limit, public_budget_s=chosen.public_budget,
                        public_compile_s=chosen.public_compile_budget,
                        cases=chosen.cases.split(",") if chosen.cases else None,
                        limits={name: float(seconds) for name, seconds in
                                (one.split("=") for one in chosen.part_limit)})
    skipped = why_skipped(settings)
    for peer, why in skipped.items():
        print(f"skipped: {peer}: {why}")
    if chosen.dry_run or gpus.missing() or "regtune" in skipped:
        for line in public_cases(settings.public)[1]:
            print(f"skipped: {line}")
        print(f"would run: {', '.join(chosen.parts)}")
        return 0

    from parts import Bench, run_parts

    settings.work.mkdir(parents=True, exist_ok=True)
    results = Results(settings.out / "results.jsonl")
    bench = Bench(settings, results, skipped)
    results.add("environment", **environment(settings, ["bench/peers", *arguments]), **gpus.describe())
    for peer, why in skipped.items():
        results.add("skipped", what=f"{peer}: {why}")
    run_parts(bench, chosen.parts)

    import summary

    rows = read_results(settings.out / "results.jsonl")
    summary.write(rows, settings.out / "benchmarks.md", settings.out)
    print((settings.out / "benchmarks.md").read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

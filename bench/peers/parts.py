"""What each part runs. Each ends with its clock, and writes what it has as it goes."""

import json
import statistics
import time
from pathlib import Path

import peer_ktt
import peer_nvcc
import peer_script
import peer_triton
import regtune_runs
from arithmetic import extrapolate, spread_caps
from arrays import check_arrays
from cases import own_case, public_cases
from children import run_command, run_peer
from contest import SHARED_OPTIONS, Contest, judged
from launches import Unsupported, read_launch
from referee import Contender
from scaling import scaling
from settings import ALL_CAPS, PARTS, Clock

SMALL, HEAVY = "decay_wide", "block_sort"
STRATEGY_CASES = [SMALL, "nbody", "matmul_registers", "decay_bounded", "matmul_tiled", HEAVY, "bad_local_array",
                  "decay_indexed", "saxpy"]
STRATEGIES = {"default strategy": None, "Bayesian": "bayes_opt"}
REPEATED_CASES = ["nbody", "matmul_registers", "decay_bounded"]
RUNS = 5


class Bench:
    """All that the parts share."""

    def __init__(self, settings, results, skipped):
        self.settings, self.results = settings, results
        self.skipped = skipped  # peers that are not there

    def has(self, peer):
        return peer not in self.skipped

    def contest(self, name, part):
        return Contest(self.settings, self.results, own_case(name), part)

    def tune(self, contest, run, clock, variant="", options=(), warm=False):
        """A cold run of regtune, entered into the contest. Its wall seconds, or None."""
        folder = contest.folder / f"regtune_{variant.replace(' ', '_')}_{run}"
        figures = regtune_runs.tune(self.settings.regtune, contest.case.source, folder, max(5, clock.left_s()),
                                    [*contest.regtune_options(), *options], seed=run, warm=warm,
                                    compiler_options=SHARED_OPTIONS)
        figures.pop("peer")
        if "failed" in figures:
            contest.add_row("regtune", variant, run, figures)
            return None
        won = regtune_runs.winner(folder)
        contest.add_code("regtune", variant, run, won.cubin, won.entry, figures)
        return figures["wall_s"]

    def kernel_tuner(self, contest, runs, clock, **request):
        """Kernel Tuner's runs in one process, entered into the contest. The whole answer."""
        if not self.has("Kernel Tuner"):
            return None
        folder = contest.folder / f"kernel_tuner_{len(contest.contestants)}"
        folder.mkdir(parents=True, exist_ok=True)
        answer = run_peer("peer_kernel_tuner", contest.request(folder=str(folder), runs=runs, **request), folder,
                          max(5, clock.left_s()), self.settings.site)
        self.enter(contest, "Kernel Tuner", answer)
        return answer

    def enter(self, contest, peer, answer, variant=""):
        """The runs of a peer's answer. Each has the start-up of their common process to itself."""
        runs = answer.get("runs", [])
        whole = {name: answer[name] for name in ("version", "look_up_ms") if name in answer}
        startup_s = answer.get("startup_s", 0)
        if not runs:
            contest.add_row(peer, variant, 1, {**whole, "failed": answer.get("failed", "no answer")})
        counted = {}
        warm = [run["tuning_s"] for run in runs if run.get("warm")]
        for run in (run for run in runs if not run.get("warm")):
            of = run.pop("variant", variant)
            counted[of] = counted.get(of, 0) + 1
            figures = {**whole, "startup_s": startup_s, "wall_s": startup_s + run["tuning_s"], **run}
            if warm:
                figures["warm_s"] = startup_s + warm.pop()
            if "best" not in run:
                contest.add_row(peer, of, counted[of], figures)
            elif "cubin" in run:
                figures["winner"] = f"-maxrregcount={run['best']}" if run["best"] else "author's code"
                contest.add_code(peer, of, counted[of], Path(run["cubin"]).read_bytes(), contest.launch.kernel, figures)
            else:
                contest.add_cap(peer, of, counted[of], run["best"], figures)


def brute(bench, clock):
    """The small kernel: regtune, and Kernel Tuner over all 233 configurations, cold and warm, five times."""
    contest = bench.contest(SMALL, "brute")
    for run in range(1, RUNS + 1):
        bench.tune(contest, run, clock, warm=run <= 3)
    bench.tune(contest, 1, clock, variant="own name only", options=["--no-rename"])
    # The first run is the cold one, and leaves a cache file, which the warm one is served from. The others time the
    # codes anew that the first compiled.
    cache = str(contest.folder / "kernel_tuner.json")
    runs = [{"variant": "brute force", "seed": 1, "cache": cache},
            {"variant": "brute force", "seed": 1, "cache": cache, "anew": False, "warm": True}]
    runs += [{"variant": "brute force, codes kept", "seed": seed, "anew": False} for seed in range(2, RUNS + 1)]
    bench.kernel_tuner(contest, runs, clock)
    contest.judge(min(30, clock.left_s()))


def heavy(bench, clock):
    """The header-heavy kernel: Kernel Tuner over 24 configurations, extrapolated to 233."""
    contest = bench.contest(HEAVY, "heavy")
    for run in (1, 2, 3):
        bench.tune(contest, run, clock, warm=run == 1)
    for run in (1, 2, 3):
        bench.tune(contest, run, clock, variant="own name only", options=["--no-rename"])
    variant = "brute force of 24"
    answer = bench.kernel_tuner(contest, [{"variant": variant, "seed": 1}], clock, caps=spread_caps(24))
    if answer:
        _extrapolated(bench, contest, "Kernel Tuner", variant, answer)
    if clock.allows(30):
        contest.judge(min(30, clock.left_s()))


def _extrapolated(bench, contest, peer, variant, answer):
    """The wall time of a whole sweep, from the first run of an answer, where it settled anything."""
    runs = answer.get("runs")
    if not runs or not runs[0].get("settled"):
        return
    run, wanted, startup_s = runs[0], len(ALL_CAPS), answer["startup_s"]
    bench.results.add("extrapolation", part=contest.part, case=contest.case.name, peer=peer, variant=variant,
                      measured=run["settled"], wall_s=startup_s + run["tuning_s"], wanted=wanted,
                      extrapolated_s=extrapolate(startup_s, run["tuning_s"], run["settled"], wanted))


def strategies(bench, clock):
    """Kernel Tuner's strategies with the wall time that regtune took, not counting the start of Python."""
    for name in filter(bench.settings.wants, STRATEGY_CASES):
        _same_wall_time(bench, clock, "strategies", name, range(1, RUNS + 1 if name == SMALL else 2))


def repeats(bench, clock):
    """The same five times with other seeds: how often is the answer within 0.5 % of the referee's best?"""
    for name in REPEATED_CASES:
        _same_wall_time(bench, clock, "repeats", name, range(1, RUNS + 1))


def _same_wall_time(bench, clock, part, name, seeds):
    if not clock.allows(20):
        bench.results.add("left_out", part=part, case=name, why="the time was up")
        return
    contest = bench.contest(name, part)
    walls = [wall_s for wall_s in (bench.tune(contest, seed, clock) for seed in seeds) if wall_s]
    if not walls:
        return
    seconds = statistics.median(walls)
    runs = [{"variant": variant, "strategy": strategy, "seconds": seconds, "seed": seed}
            for variant, strategy in STRATEGIES.items() for seed in (seeds if strategy else [1])]
    bench.kernel_tuner(contest, runs, clock)
    contest.judge(min(12, clock.left_s()), rounds=60)


def public(bench, clock):
    """Kernels of public repositories: the author's code against what regtune finds, by the referee."""
    found, absent = public_cases(bench.settings.public)
    for line in absent:
        bench.results.add("skipped", what=line)
    for case in (case for case in found if bench.settings.wants(case.name)):
        if not clock.allows(12):
            bench.results.add("left_out", part="public", case=case.name, why="the time was up")
            continue
        bench.results.add("public", case=case.name, repository=case.repository, hand_set=case.hand_set,
                          **_public_case(bench, case, clock))


def _public_case(bench, case, clock):
    folder = bench.settings.work / "public" / case.name
    figures = regtune_runs.tune(bench.settings.regtune, case.source, folder, min(60, clock.left_s()),
                                ["--budget", bench.settings.public_budget_s, "--compile-budget",
                                 bench.settings.public_compile_s], case.side_file)
    if "failed" in figures:
        return figures
    record = json.loads((folder / "record.json").read_text())
    try:
        launch = read_launch(case.name, case.source, record["kernel"], record["signature"], case.side_file)
        check_arrays(launch)
    except (Unsupported, ValueError) as reason:
        return {**figures, **_verified(bench, record, folder, clock, str(reason))}
    codes = [regtune_runs.author(folder), regtune_runs.winner(folder), regtune_runs.winner(folder, renamed=False)]
    names = ["author", "winner", "winner_own_name"]
    contenders = [Contender(name, code.cubin, code.entry, True) for name, code in zip(names, codes)]
    said = judged(launch, contenders, folder, rounds=40, seconds=min(8, clock.left_s()), compare=False)
    return {**figures, "judged_by": "CuPy", "same_code": codes[0].cubin == codes[1].cubin, **said}


def _verified(bench, record, folder, clock, reason):
    answer = regtune_runs.verify(bench.settings.regtune, record["signature"].split("(")[0].split("<")[0], folder,
                                 min(30, clock.left_s()), 3)
    if "failed" in answer:
        return {"judged_by": "the run itself", "why": reason, "verify_failed": answer["failed"]}
    claims = [claim for claim in answer["claims"] if claim["gains"]] or answer["claims"]
    return {"judged_by": "regtune verify", "why": reason, "holds": answer["holds"],
            "verified": claims[0]["now"] if claims else None}


def preflight(bench, clock):
    """Every peer and the referee over a few configurations: what fails here would fail in the other parts."""
    contest = bench.contest(SMALL, "preflight")
    bench.tune(contest, 1, clock)
    bench.kernel_tuner(contest, [{"variant": variant, "strategy": strategy, "seconds": 3, "seed": 1}
                                 for variant, strategy in STRATEGIES.items()], clock)
    _scripts(bench, contest, [0, 32, 64], [0, 32, 64], 1, clock)
    contest.judge(min(10, clock.left_s()), rounds=11, caps=[0, 32, 64])


def others(bench, clock):
    """nvcc and Triton over 24 configurations, extrapolated; the plain script over all; KTT."""
    contest = bench.contest(SMALL, "others")
    bench.tune(contest, 1, clock)
    _scripts(bench, contest, spread_caps(24), ALL_CAPS, RUNS, clock)
    contest.judge(min(25, clock.left_s()))
    if bench.has("KTT"):
        bench.results.add("skipped", what=f"KTT: {peer_ktt.why_not(bench.settings.ktt, bench.settings.jobs)}")


def _scripts(bench, contest, few, all_caps, script_runs, clock):
    """nvcc in a loop and Triton over a few configurations, and the script over all of them, so often."""
    folder, variant = contest.folder, f"{len(few)} caps"
    if bench.has(peer_nvcc.NAME):
        answer = run_peer("peer_nvcc", contest.request(folder=_made(folder / "nvcc"), caps=few, seconds=40),
                          folder / "nvcc", clock.left_s())
        bench.enter(contest, peer_nvcc.NAME, answer, variant)
        _extrapolated(bench, contest, peer_nvcc.NAME, variant, answer)
    if bench.has(peer_triton.NAME):
        _triton(bench, contest, few, clock)
    if bench.has(peer_script.NAME):
        runs = [{"variant": "all caps"}] + [{"variant": "all caps, codes kept"}] * (script_runs - 1)
        answer = run_peer("peer_script", contest.request(runs=runs, caps=all_caps), folder / "script",
                          max(5, clock.left_s() - 15))
        bench.enter(contest, peer_script.NAME, answer)


def _made(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def _triton(bench, contest, caps, clock):
    folder = contest.folder / "triton"
    answer = run_peer("peer_triton", contest.request(folder=_made(folder), caps=caps), folder, clock.left_s())
    run = answer.get("runs", [{}])[0]
    name, variant = peer_triton.NAME, f"{len(caps)} of maxnreg"
    if not run.get("cubin"):
        contest.add_row(name, variant, 1, {**run, "failed": answer.get("failed", "no code")})
        return
    # Its n is an int; the last two are scratch buffers, which the code does not use.
    arguments = [0, 1, ["int32", contest.launch.sizes["n"]], ["null"], ["null"]]
    contest.add_code(name, variant, 1, Path(run["cubin"]).read_bytes(), run["entry"],
                     {**run, "wall_s": answer["wall_s"], "startup_s": answer["startup_s"],
                      "version": answer["version"],
                      "winner": f"maxnreg={run['best']}" if run["best"] else "no maxnreg"},
                     shared=run["shared"], arguments=arguments)
    _extrapolated(bench, contest, name, variant, answer)


def look_up(bench, clock):
    """What it costs to ask for a stored answer."""
    program = Path(bench.settings.bench_programs or "/nonexistent") / "bench_lookup"
    if not program.exists():
        bench.results.add("skipped", what=f"look-up: {program} is not there: cmake --build, target bench_lookup")
        return
    log = bench.settings.work / "lookup.md"
    run_command([program], min(60, clock.left_s()), log)
    bench.results.add("look_up", text=log.read_text(errors="replace"))


_FUNCTIONS = {"preflight": preflight, "brute": brute, "heavy": heavy, "strategies": strategies,
              "repeats": repeats, "public": public, "scaling": scaling, "others": others,
              "look_up": look_up}


def run_parts(bench, names):
    for name in names:
        part = _FUNCTIONS[name]
        seconds = bench.settings.limits.get(name, PARTS[name])
        if bench.settings.left_s() < 5:
            bench.results.add("left_out", part=name, why="the time of the whole run was up")
            print(f"{name}: left out, the time of the whole run was up", flush=True)
            continue
        began = time.monotonic()
        try:
            part(bench, Clock(bench.settings, seconds))
        except Exception as error:  # what is written stays, and the next part is run
            bench.results.add("failed", part=name, why=f"{type(error).__name__}: {error}")
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
        took_s = time.monotonic() - began
        bench.results.add("part", part=name, took_s=took_s)
        print(f"{name}: {took_s:.0f} s", flush=True)

"""Runs regtune as a user does, from the command line, and reads what came of it: the record, and the winner's code.

Every run has a cache of its own, so that it is cold; the second run on the same cache is the warm one.
"""

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from children import run_command


@dataclass
class Winner:
    budget: str
    cubin: bytes
    entry: str


def command(regtune, source, folder, options=(), side_file=None, seed=1, compiler_options=()):
    given = [regtune, "tune", source, "--quiet", "--no-config", "--no-plot", "--seed", seed, "--cache",
             folder / "cache.db", "--record", folder / "record.json", *options]
    given += ["--description", side_file] if side_file else []
    return given + (["--", *compiler_options] if compiler_options else [])


def code_of(cache, record, trial):
    """The machine code of a trial, from the cache file."""
    code_hash = trial["facts"]["code_hash"]
    connection = sqlite3.connect(f"file:{cache}?mode=ro", uri=True)
    try:
        row = connection.execute(
            "SELECT code.cubin, compile_result.entry FROM compile_result JOIN code ON code.id = compile_result.code_id "
            "WHERE compile_result.code_hash = ? LIMIT 1", (code_hash,)).fetchone()
    finally:
        connection.close()
    if not row:
        raise LookupError(f"the cache holds no code {code_hash}")
    return row[0], row[1] or record["kernel"]


def best_trial(record, renamed=True):
    """The trial that the run names, or, without `renamed`, the best that keeps the kernel's own name."""
    verdict = record["verdict"]
    best = verdict.get("best_renamed") if renamed else None
    return record["trials"][verdict["best"] if best is None else best]


def winner(folder, renamed=True):
    record = json.loads((folder / "record.json").read_text())
    trial = best_trial(record, renamed)
    return Winner(trial["budget"], *code_of(folder / "cache.db", record, trial))


def author(folder):
    """The author's own code as regtune compiled it, options of the description and all."""
    record = json.loads((folder / "record.json").read_text())
    trial = record["trials"][record["verdict"]["reference"]]
    return Winner(trial["budget"], *code_of(folder / "cache.db", record, trial))


def summary_of(record):
    """What the tables need of a record."""
    trials, verdict = record["trials"], record["verdict"]
    measured = [trial for trial in trials if trial["outcome"]["kind"] in ("measured", "abandoned")]
    bare = next((trial for trial in trials if trial["policy"]["kind"] == "none"
                 and "choice" not in trial and trial["outcome"]["kind"] == "measured"), None)
    return {
        "gpu_s": record["gpu_seconds"],
        "settled": sum(trial["outcome"]["kind"] not in ("not compiled", "not timed") for trial in trials),
        "distinct": len(measured),
        "verdict": verdict["kind"],
        "speedup": verdict["speedup"]["median"],
        "winner": best_trial(record)["budget"],
        "winner_own_name": best_trial(record, renamed=False)["budget"],
        "without_bound_ms": bare and bare["outcome"]["measurement"]["time_ms"]["median"],
        "versions": {"regtune": record["regtune_version"], "compiler": record["compiler"],
                     "driver": record["gpu"]["driver_version"]},
    }


def tune(regtune, source, folder, seconds, options=(), side_file=None, seed=1, warm=False, compiler_options=()):
    """One cold run, and where asked a warm one; {"failed": why} where it fails."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    given = command(regtune, source, folder, options, side_file, seed, compiler_options)
    code, wall_s = run_command(given, seconds, folder / "report.txt")
    answer = {"peer": "regtune", "wall_s": wall_s, "seed": seed, "options": [str(option) for option in options]}
    if code is None or not (folder / "record.json").exists():
        tail = (folder / "report.txt").read_text(errors="replace").strip()[-300:]
        return {**answer, "failed": f"stopped after {seconds} s" if code is None else f"exit code {code}: {tail}"}
    record = json.loads((folder / "record.json").read_text())
    if not record.get("verdict"):
        return {**answer, "failed": "nothing was timed"}
    answer |= summary_of(record)
    if warm:
        warm_given = [folder / "warm.json" if part == folder / "record.json" else part for part in given]
        answer["warm_s"] = run_command(warm_given, seconds, folder / "warm.txt")[1]
    return answer


def verify(regtune, kernel, folder, seconds, budget_s):
    """regtune's own referee over a stored answer, for launches that CuPy cannot make."""
    code, wall_s = run_command([regtune, "verify", kernel, "--cache", folder / "cache.db", "--budget", budget_s,
                                "--json", "--quiet", "--no-config"], seconds, folder / "verify.json")
    try:
        return {**json.loads((folder / "verify.json").read_text()), "wall_s": wall_s}
    except json.JSONDecodeError:
        tail = (folder / "verify.json").read_text(errors="replace").strip()[-300:]
        return {"failed": f"exit code {code}: {tail}", "wall_s": wall_s}

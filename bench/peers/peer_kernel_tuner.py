"""Kernel Tuner (PyPI, kernel-tuner) by its CuPy backend, over the register caps of a kernel.

It hands the same compiler options to every configuration. So its backend's compile() is extended by what its users
write for that: an option from the configuration. Nothing else is changed, and all else is its default (seven timed
launches of each configuration, no verification).
"""

import importlib.util
import json
import os
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from children import serve

NAME = "Kernel Tuner"
CAP = "REGISTER_CAP"  # 0: without a cap
WANTED = "pip install kernel-tuner==1.4.0 --target build/peers/site, and name that folder with --site"


def missing():
    if importlib.util.find_spec("kernel_tuner") is None:
        return f"not there: {WANTED}"
    return None


class TimeUp(BaseException):
    """Ends a tuning between two configurations. No Exception: Kernel Tuner takes those for a configuration's."""


def cap_each_configuration(deadline):
    """Adds --maxrregcount of the configuration to the options that the backend was given.

    `deadline` holds a time under "at", after which the tuning ends, or None.
    """
    from kernel_tuner.backends import cupy as backend

    plain = backend.CupyFunctions.compile

    def compile_capped(self, kernel_instance):
        if deadline["at"] and time.monotonic() > deadline["at"]:
            raise TimeUp
        given = self.compiler_options
        cap = kernel_instance.params[CAP]
        self.compiler_options = list(given) + ([f"--maxrregcount={cap}"] if cap else [])
        try:
            return plain(self, kernel_instance)
        finally:
            self.compiler_options = given

    backend.CupyFunctions.compile = compile_capped


def strategy_options(run, configurations):
    """Its own time limit, which the default strategy does not know; and no end after a hundred configurations."""
    if not run.get("seconds") or not run.get("strategy"):
        return {}
    return {"time_limit": run["seconds"], "max_fevals": configurations}


def settled_until(cache):
    """What a tuning that was ended had settled, from its cache file, which is left open then."""
    from kernel_tuner.util import read_cache

    return list(read_cache(cache, open_cache=False)["cache"].values()) if Path(cache).exists() else []


def run_once(request, run, arrays, deadline):
    """One tuning. The default strategy is ended at its time from outside, as a user would end it."""
    import kernel_tuner

    cache = run.get("cache")
    deadline["at"] = None
    if run.get("seconds") and not run.get("strategy"):
        deadline["at"] = time.monotonic() + run["seconds"]
        cache = tempfile.mkdtemp(dir=request["folder"]) + "/ended.json"
    block = request["block"]
    parameters = {"block_size_x": [block[0]], "block_size_y": [block[1]], "block_size_z": [block[2]],
                  CAP: request["caps"]}
    began = time.monotonic()
    failed = None
    results = []
    try:
        results, _ = kernel_tuner.tune_kernel(
            request["kernel"], Path(request["source"]).read_text(), tuple(request["grid"]), arrays, parameters,
            grid_div_x=[], grid_div_y=[], grid_div_z=[], lang="CUPY", compiler_options=request["options"],
            strategy=run.get("strategy"), strategy_options=strategy_options(run, len(request["caps"])), cache=cache,
            quiet=True, verbose=False, seed=run.get("seed"))
    except TimeUp:
        results = settled_until(cache)
    except Exception as error:  # a strategy that cannot start within its time raises; that is its result
        failed = f"{type(error).__name__}: {error}"
    return summarised(results, time.monotonic() - began, run, failed)


def summarised(results, tuning_s, asked, failed=None):
    """What the tables need of what tune_kernel returned. `asked`: variant and seed, which are handed on."""
    valid = [one for one in results if "__error__" not in one and isinstance(one.get("time"), (int, float))]
    run = {**asked, "tuning_s": tuning_s, "settled": len({one[CAP] for one in results}), "valid": len(valid),
           # Seven timed launches and the one before them.
           "gpu_s": sum(sum(one["times"]) + one["time"] for one in valid) / 1000}
    if valid:
        best = min(valid, key=lambda one: one["time"])
        run |= {"best": best[CAP], "best_ms": best["time"]}
    elif not failed:
        failed = "no configuration was timed"
    return {**run, "failed": failed} if failed else run


def forget_compiled(folder):
    """The next run compiles anew: CuPy keeps codes in memory and in files."""
    import cupy

    cupy.clear_memo()
    os.environ["CUPY_CACHE_DIR"] = tempfile.mkdtemp(dir=folder)


def look_up_ms(cache):
    """Reading a finished cache file, and the best configuration out of it."""
    began = time.perf_counter()
    rows = json.loads(Path(cache).read_text())["cache"].values()
    min((row for row in rows if isinstance(row.get("time"), (int, float))), key=lambda row: row["time"])
    return 1000 * (time.perf_counter() - began)


def answer_to(request, write):
    import cupy
    import kernel_tuner  # noqa: F401  Here, so that its start is not counted as tuning.

    from arrays import make_arrays
    from launches import launch_from

    began = time.monotonic()
    launch = launch_from(request["launch"])
    arrays = make_arrays(launch)
    deadline = {"at": None}
    cap_each_configuration(deadline)
    answer = {"peer": NAME, "version": version("kernel-tuner"), "data_s": time.monotonic() - began, "runs": []}
    for run in request["runs"]:
        if run.get("anew", True):
            forget_compiled(request["folder"])
        else:
            cupy.clear_memo()
        answer["runs"].append(run_once(request, run, arrays, deadline))
        write(answer)
        if run.get("cache") and Path(run["cache"]).exists():
            answer["look_up_ms"] = look_up_ms(run["cache"])
    return answer


if __name__ == "__main__":
    serve(answer_to)

"""Runs a peer in a process of its own, as its users do, and under a time limit: what hangs or crashes costs that peer
alone. The wall time is that of the whole process, with all that it imports.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
_BEGAN = "PEER_BEGAN"  # when the process was started, in Unix time


def run_command(command, seconds, log, environment=None):
    """(exit code or None at the limit, wall seconds). The output goes to `log`."""
    began = time.monotonic()
    with open(log, "w") as out:
        # Its own process group: compilers that it started end with it.
        child = subprocess.Popen([str(part) for part in command], stdout=out, stderr=subprocess.STDOUT,
                                 env={**os.environ, **(environment or {})}, start_new_session=True)
        try:
            code = child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            code = None
    return code, time.monotonic() - began


def run_peer(module, request, folder, seconds, site=None):
    """The answer of bench/peers/MODULE.py to the request, with "wall_s"; or {"failed": why}."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "request.json").write_text(json.dumps(request))
    answer = folder / "answer.json"
    environment = {_BEGAN: str(time.time()), "CUPY_CACHE_DIR": str(folder / "cupy"),
                   "TRITON_CACHE_DIR": str(folder / "triton_cache")}
    path = [str(site)] if site else []
    environment["PYTHONPATH"] = os.pathsep.join(path + [os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    code, wall_s = run_command([sys.executable, "-B", HERE / f"{module}.py", folder / "request.json", answer],
                               seconds, folder / "log.txt", environment)
    if code == 0 and answer.exists():
        return {**json.loads(answer.read_text()), "wall_s": wall_s, "startup_s": _startup_s(answer, wall_s)}
    tail = (folder / "log.txt").read_text(errors="replace").strip().splitlines()[-3:]
    why = f"stopped after {seconds:.0f} s" if code is None else f"exit code {code}: {' / '.join(tail)}"
    if not answer.exists():
        return {"failed": why, "wall_s": wall_s}
    return {**json.loads(answer.read_text()), "failed": why, "wall_s": wall_s, "startup_s": _startup_s(answer)}


def _startup_s(file, wall_s=None):
    """All that is not of a run: Python, its imports, the data. Of an answer that was cut off, up to what it holds."""
    answer = json.loads(file.read_text())
    return (wall_s or answer["at_s"]) - sum(run.get("tuning_s", 0) for run in answer.get("runs", []))


def serve(answer_to):
    """The main program of a peer: reads the request, writes the answer, each time with the seconds that have passed."""
    request = json.loads(Path(sys.argv[1]).read_text())
    answer = Path(sys.argv[2])

    def write(fields):
        part = answer.with_suffix(".part")
        part.write_text(json.dumps({**fields, "at_s": time.time() - float(os.environ.get(_BEGAN, time.time()))}))
        part.replace(answer)

    write(answer_to(request, write))

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
    environment = {"CUPY_CACHE_DIR": str(folder / "cupy"), "TRITON_CACHE_DIR": str(folder / "triton")}
    path = [str(site)] if site else []
    environment["PYTHONPATH"] = os.pathsep.join(path + [os.environ.get("PYTHONPATH", "")]).strip(os.pathsep)
    code, wall_s = run_command([sys.executable, "-B", HERE / f"{module}.py", folder / "request.json", answer],
                               seconds, folder / "log.txt", environment)
    if code == 0 and answer.exists():
        return {**json.loads(answer.read_text()), "wall_s": wall_s}
    tail = (folder / "log.txt").read_text(errors="replace").strip().splitlines()[-3:]
    why = f"stopped after {seconds:.0f} s" if code is None else f"exit code {code}: {' / '.join(tail)}"
    partial = json.loads(answer.read_text()) if answer.exists() else {}
    return {**partial, "failed": why, "wall_s": wall_s}


def serve(answer_to):
    """The main program of a peer: reads the request, writes the answer."""
    request = json.loads(Path(sys.argv[1]).read_text())
    answer = Path(sys.argv[2])

    def write(fields):
        part = answer.with_suffix(".part")
        part.write_text(json.dumps(fields))
        part.replace(answer)

    write(answer_to(request, write))

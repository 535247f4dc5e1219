"""KTT (HiPerCoRe/KTT on GitHub) is a C++ library that has to be built. This says whether it builds with this toolkit.

    python3 bench/peers/peer_ktt.py CHECKOUT results.jsonl

It has one string of compiler options for a whole tuner, so that a cap for each configuration would have to be written
into the kernel's source by a macro; where it builds, that is what the line says, and it is not run.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nvrtc import toolkit_folder
from results import Results

NAME = "KTT"
_UNUSED = ("OpenCl", "Vulkan", "Python", "Gpa", "Cupti")


def missing(folder):
    if not folder or not (Path(folder) / "Source").is_dir():
        return "not there: git clone https://github.com/HiPerCoRe/KTT, and name the folder with --ktt"
    if not shutil.which("g++"):
        return "there is no g++ to build it with"
    return None


def why_not(folder, jobs=None):
    """Compiles each source file; the first error, or why it is not run all the same."""
    folder = Path(folder)
    includes = [f"-I{folder / 'Source'}", f"-I{toolkit_folder() / 'include'}"]
    includes += [f"-I{one}" for one in sorted((folder / "Libraries").glob("*")) if one.is_dir()]
    files = [file for file in sorted((folder / "Source").rglob("*.cpp"))
             if not any(word in str(file.relative_to(folder)) for word in _UNUSED)]
    with tempfile.TemporaryDirectory() as out, ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        def compiled(numbered):
            number, file = numbered
            done = subprocess.run(["g++", "-std=c++17", "-O1", "-fPIC", "-w", "-DKTT_LIBRARY", "-DKTT_PLATFORM_NVIDIA",
                                   "-DKTT_API_CUDA", *includes, "-c", str(file), "-o", f"{out}/{number}.o"],
                                  capture_output=True, text=True, check=False)
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            return errors[0].replace(str(folder) + "/", "") if done.returncode and errors else None

        failures = [failure for failure in pool.map(compiled, enumerate(files)) if failure]
    if failures:
        return f"does not build with this toolkit ({len(failures)} of {len(files)} files fail): {failures[0]}"
    return "builds, and is not run: its compiler options are those of the whole tuner, not of a configuration"


def main(folder, results):
    """Needs no GPU: the line can be added to the results of a run on another machine with the same toolkit."""
    Results(results).add("skipped", what=f"{NAME}: {missing(folder) or why_not(folder)}")


if __name__ == "__main__":
    main(*sys.argv[1:3])

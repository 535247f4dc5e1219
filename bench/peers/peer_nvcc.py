"""nvcc in a loop: one compilation with -maxrregcount for each cap, run and timed, least median of ten launches."""

import shutil
import statistics
import subprocess
import time
from pathlib import Path

from children import serve
from nvrtc import toolkit_folder

NAME = "nvcc in a loop"


def nvcc():
    return shutil.which("nvcc") or str(toolkit_folder() / "bin" / "nvcc")


def missing():
    if not Path(nvcc()).exists():
        return "there is no nvcc: it comes with the CUDA toolkit, in CUDA_HOME/bin"
    return None


def compile_one(source, architecture, cap, folder, options=()):
    """The cubin's file, or None where nvcc refuses."""
    file = Path(folder) / f"cap_{cap}.cubin"
    command = [nvcc(), "-cubin", f"-arch={architecture}", "-o", str(file), str(source), *options]
    command += [f"-maxrregcount={cap}"] if cap else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return file if done.returncode == 0 else None


def answer_to(request, write):
    from arrays import make_arrays
    from gpu import Code, Data, Gpu
    from launches import launch_from

    launch = launch_from(request["launch"])
    gpu = Gpu()
    data = Data(gpu, launch, make_arrays(launch))
    began, compile_s, busy_ms, times, files = time.monotonic(), 0.0, 0.0, {}, {}
    answer = {"peer": NAME, "version": _version(), "runs": []}
    for cap in request["caps"]:
        if request.get("seconds") and time.monotonic() - began > request["seconds"]:
            break
        compiling = time.monotonic()
        file = compile_one(request["source"], request["architecture"], cap, request["folder"], request["nvcc_options"])
        compile_s += time.monotonic() - compiling
        if not file:
            continue
        try:
            code = Code(gpu, file.read_bytes(), launch.kernel, launch)
            samples = [gpu.elapsed_ms(lambda: code.put(data)) for _ in range(11)]
        except Exception as error:  # a cap that cannot be launched is passed over
            print(cap, error)
            continue
        busy_ms += sum(samples)
        times[cap], files[cap] = statistics.median(samples[1:]), str(file)
        best = min(times, key=times.get)
        answer["runs"] = [{"tuning_s": time.monotonic() - began, "settled": len(times), "valid": len(times),
                           "gpu_s": busy_ms / 1000, "compile_s": compile_s, "best": best, "best_ms": times[best],
                           "cubin": files[best]}]
        write(answer)
    return answer


def _version():
    said = subprocess.run([nvcc(), "--version"], capture_output=True, text=True, check=False).stdout
    return next((line.split(",")[-1].strip() for line in said.splitlines() if "release" in line), "nvcc")


if __name__ == "__main__":
    serve(answer_to)

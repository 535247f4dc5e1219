"""Triton's own autotuner over maxnreg, for the kernel of kernels/decay_wide.cu written in Triton.

One thread has one element in both, so that the blocks are of 256 threads. The best configuration's machine code is
kept for the referee, which times it beside the CUDA code.
"""

import importlib.util
import time
from pathlib import Path

import gpu as gpus
from children import serve

NAME = "Triton's autotuner"
TERMS, STEPS, THREADS = 24, 48, 256


def missing():
    if importlib.util.find_spec("triton") is None or importlib.util.find_spec("torch") is None:
        return "not there: pip install triton torch"
    return gpus.missing()


def source_text(caps):
    """A module with the kernel; its terms are variables of their own, as registers are. 0: without a cap."""
    configurations = ",\n".join(
        f"    triton.Config({{}}, num_warps={THREADS // 32}" + (f", maxnreg={cap})" if cap else ")") for cap in caps)
    lines = [f"    t{k} = x + {0.125 * k}\n    r{k} = {0.004 * (k + 1)} * (1.0 + x)" for k in range(TERMS)]
    body = ["        flow = x * 0.0"]
    for k in range(TERMS):
        body += [f"        lost = r{k} * t{k}", f"        t{k} = t{k} - lost + flow", "        flow = lost"]
    body.append("        t0 += flow")
    total = " + ".join(f"t{k}" for k in range(TERMS))
    return "\n".join([
        "import triton", "import triton.language as tl", "", "", "@triton.autotune(configs=[", configurations,
        '], key=["n"])', "@triton.jit", "def decay(source, target, n, BLOCK: tl.constexpr):",
        "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "    x = tl.load(source + i, mask=i < n)", *lines,
        f"    for _ in range({STEPS}):", *body, f"    tl.store(target + i, {total}, mask=i < n)", ""])


def _import(file):
    specification = importlib.util.spec_from_file_location("decay_in_triton", file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def answer_to(request, write):
    import torch
    import triton

    file = Path(request["folder"]) / "decay_in_triton.py"
    file.write_text(source_text(request["caps"]))
    decay = _import(file).decay
    n = request["launch"]["sizes"]["n"]
    source, target = torch.rand(n, device="cuda"), torch.empty(n, device="cuda")
    began = time.monotonic()
    compiled = decay[((n + THREADS - 1) // THREADS,)](source, target, n, BLOCK=THREADS)
    torch.cuda.synchronize()
    tuning_s = time.monotonic() - began
    timings = getattr(decay, "configs_timings", None) or {}
    best = decay.best_config
    answer = {"peer": NAME, "version": f"Triton {triton.__version__}",
              "runs": [{"tuning_s": tuning_s, "settled": len(timings) or len(request["caps"]),
                        "valid": len(timings), "best": best.maxnreg or 0}]}
    write(answer)
    if timings:
        first = lambda value: value[0] if isinstance(value, (list, tuple)) else value
        answer["runs"][0]["best_ms"] = float(first(timings[best]))
    cubin = Path(request["folder"]) / "triton.cubin"
    cubin.write_bytes(compiled.asm["cubin"])
    answer["runs"][0] |= {"cubin": str(cubin), "entry": compiled.metadata.name, "shared": compiled.metadata.shared}
    return answer


if __name__ == "__main__":
    serve(answer_to)

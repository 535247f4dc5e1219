"""A CuPy kernel with the budget that was tuned for it.

    regtune kernels/decay_wide.cu                      # once on this machine
    python examples/python/cupy_rawkernel.py [N] [CACHE]

Compiles the kernel of kernels/decay_wide.cu twice, without and with what is stored for it, compares the outputs, and
times both. Ends with 1 where they differ.
"""

import pathlib
import sys

import cupy
import regtune

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "kernels" / "decay_wide.cu"
BLOCK = 256
# Where the bound is put that the options name; without one there is none.
BOUNDS = """#ifndef REGTUNE_BOUNDS_decayWide
#define REGTUNE_BOUNDS_decayWide
#endif
"""


def compiled(options):
    plain = "__global__ void decayWide("
    text = SOURCE.read_text()
    assert plain in text
    return cupy.RawKernel(
        BOUNDS + text.replace(plain, 'extern "C" __global__ void REGTUNE_BOUNDS_decayWide decayWide('),
        "decayWide",
        options=options,
    )


def milliseconds(kernel, grid, arguments):
    """The median of 50 launches."""
    times = []
    for _ in range(50):
        start, stop = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        kernel((grid,), (BLOCK,), arguments)
        stop.record()
        stop.synchronize()
        times.append(cupy.cuda.get_elapsed_time(start, stop))
    return sorted(times)[len(times) // 2]


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 24
    tuned = regtune.lookup("decayWide", sizes={"n": n}, cache=sys.argv[2] if len(sys.argv) > 2 else None)
    if not tuned:
        print(f"decayWide, n={n}: {tuned.why}; compiled as it is")
    else:
        print(f"decayWide, n={n}: {' '.join(tuned.options()) or 'as it is'} ({tuned.rung.name.lower()}, "
              f"stored as {tuned.best.speedup:.2f}x)")

    grid = (n + BLOCK - 1) // BLOCK
    data = cupy.random.random(n, dtype=cupy.float32)
    outputs, times = [], []
    for options in ((), tuple(tuned.options())):
        kernel = compiled(options)
        out = cupy.empty_like(data)
        kernel((grid,), (BLOCK,), (data, out, cupy.uint64(n)))
        outputs.append(out)
        times.append(milliseconds(kernel, grid, (data, out, cupy.uint64(n))))
        print(f"{kernel.num_regs} registers, {kernel.local_size_bytes} bytes of local memory, {times[-1]:.3f} ms")
    same = bool(cupy.array_equal(outputs[0], outputs[1], equal_nan=True))
    print(f"{times[0] / times[1]:.2f}x, outputs {'equal' if same else 'DIFFER'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

"""Launches and times machine code by CuPy: the same way for every code, whoever compiled it.

Before each sample the GPU is kept busy for a moment, so that the start of the sample is already in its queue and no
time of Python's is counted. Buffers that a launch reads and writes are put back before each sample.
"""

import math
import time

_BUSY_SOURCE = r"""
extern "C" __global__ void busy(long long clocks) {
  const long long start = clock64();
  while (clock64() - start < clocks) {}
}
"""
_BUSY_CLOCKS = 150_000  # some 80 us at 1.9 GHz: longer than Python takes for a launch and two events
_SHORT_MS = 0.5  # a sample of a faster kernel is of several launches
_MOST_RESTORED_BYTES = 4 << 30


def missing():
    """Why nothing can be launched here; None where it can."""
    try:
        import cupy
    except ImportError:
        return "CuPy is not installed (pip install cupy-cuda13x)"
    try:
        if cupy.cuda.runtime.getDeviceCount() > 0:
            return None
    except cupy.cuda.runtime.CUDARuntimeError as error:
        return f"no GPU: {error}"
    return "no GPU"


def describe():
    """What the figures depend on. Makes no context: the GPU stays free for whoever is measured."""
    import cupy

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    return {"gpu": properties["name"].decode(), "multiprocessors": properties["multiProcessorCount"],
            "cuda_driver": cupy.cuda.runtime.driverGetVersion(), "cupy": cupy.__version__}


class Gpu:
    def __init__(self):
        import cupy
        import numpy

        self.cupy = cupy
        self.busy_clocks = numpy.int64(_BUSY_CLOCKS)
        self.stream = cupy.cuda.Stream.null  # CuPy's own copies are in the same one, so that nothing overtakes them
        self.busy = cupy.RawKernel(_BUSY_SOURCE, "busy")
        self.start, self.end = cupy.cuda.Event(), cupy.cuda.Event()

    def elapsed_ms(self, work):
        """The GPU's time for what `work` puts into the stream."""
        self.busy((1,), (1,), (self.busy_clocks,))
        self.start.record(self.stream)
        work()
        self.end.record(self.stream)
        self.end.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(self.start, self.end))


class Data:
    """The arguments of a launch on the GPU, and their first values where a launch changes them."""

    def __init__(self, gpu, launch, arrays):
        cupy = gpu.cupy
        self.gpu = gpu
        self.arguments = tuple(cupy.asarray(one) if one.ndim else one for one in arrays)
        written = [(on_gpu, argument) for on_gpu, argument in zip(self.arguments, launch.arguments)
                   if argument.is_written]
        self.outputs = [on_gpu for on_gpu, _ in written]
        read_too = [on_gpu for on_gpu, argument in written if argument.init != "zeros"]
        self.first_values = [(on_gpu, on_gpu.copy()) for on_gpu in read_too]
        if sum(on_gpu.nbytes for on_gpu in read_too) > _MOST_RESTORED_BYTES:
            self.first_values = []

    def chosen(self, described):
        """Arguments as Contender describes them: numbers of these, ["int32", value], ["null"]."""
        import numpy

        made = {"int32": numpy.int32, "null": lambda: numpy.uint64(0)}
        return tuple(self.arguments[one] if isinstance(one, int) else made[one[0]](*one[1:]) for one in described)

    @property
    def is_restored(self):
        return bool(self.first_values)

    def restore(self):
        for on_gpu, first in self.first_values:
            on_gpu[...] = first

    def clear_outputs(self):
        self.restore()
        for on_gpu in self.outputs:
            if not any(on_gpu is restored for restored, _ in self.first_values):
                on_gpu.fill(0)


class Code:
    """A cubin that is loaded, with the launch it is for."""

    def __init__(self, gpu, cubin, entry, launch, arguments=None):
        self.gpu, self.launch, self.arguments = gpu, launch, arguments
        self.module = gpu.cupy.cuda.function.Module()
        self.module.load(cubin)
        self.function = self.module.get_function(entry)
        if launch.dynamic_shared_bytes > 48 << 10:
            from cupy_backends.cuda.api import driver

            driver.funcSetAttribute(self.function.ptr, driver.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    launch.dynamic_shared_bytes)

    def put(self, data, launches=1):
        arguments = data.chosen(self.arguments) if self.arguments else data.arguments
        for _ in range(launches):
            self.function(tuple(self.launch.grid), tuple(self.launch.block), arguments,
                          self.launch.dynamic_shared_bytes, self.gpu.stream)


def sample_ms(gpu, code, data, launches=1):
    """Milliseconds of one launch, from a sample of so many."""
    if data.is_restored:
        data.restore()
        launches = 1
    return gpu.elapsed_ms(lambda: code.put(data, launches)) / launches


def launches_for(first_ms):
    return max(1, min(50, math.ceil(_SHORT_MS / max(first_ms, 1e-3))))


def warm_up(gpu, code, data, seconds=0.5):
    """Until the clocks are up."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sample_ms(gpu, code, data)

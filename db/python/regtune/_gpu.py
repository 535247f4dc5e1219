"""Which GPU a question is about. Asks the driver where the caller does not say, and makes no context."""

import ctypes
import os
from dataclasses import dataclass
from typing import Optional


class NoGpu(RuntimeError):
    """There is no driver or no GPU, and the caller named none."""


@dataclass(frozen=True)
class Gpu:
    """What is 0 is not known and not compared; without the capability only this model's own results answer."""

    name: str  #: as the driver says it: "NVIDIA H200"
    compute_major: int = 0
    compute_minor: int = 0
    sm_count: int = 0
    memory_clock_mhz: int = 0


# CUdevice_attribute, which the driver's interface never renumbers.
_SM_COUNT, _MEMORY_CLOCK_KHZ, _MAJOR, _MINOR = 16, 36, 75, 76


def current_gpu(ordinal: Optional[int] = None) -> Gpu:
    """The device ``ordinal``; without it that of this thread's current context, else the first. Raises NoGpu."""
    try:
        driver = ctypes.CDLL(os.environ.get("REGTUNE_CUDA") or "libcuda.so.1")
    except OSError:
        raise NoGpu("no NVIDIA driver on this machine (libcuda.so.1 was not found); say gpu=...") from None
    code = driver.cuInit(0)
    if code != 0:
        raise NoGpu(f"the driver found no usable GPU (cuInit: error {code}); say gpu=...")
    device = ctypes.c_int()
    if ordinal is not None:
        code = driver.cuDeviceGet(ctypes.byref(device), ordinal)
    elif driver.cuCtxGetDevice(ctypes.byref(device)) != 0:
        code = driver.cuDeviceGet(ctypes.byref(device), 0)
    if code != 0:
        raise NoGpu(f"there is no GPU {ordinal or 0} (cuDeviceGet: error {code}); is CUDA_VISIBLE_DEVICES empty?")
    name = ctypes.create_string_buffer(256)
    driver.cuDeviceGetName(name, len(name) - 1, device)

    def attribute(which: int) -> int:
        value = ctypes.c_int()
        return value.value if driver.cuDeviceGetAttribute(ctypes.byref(value), which, device) == 0 else 0

    return Gpu(
        name=name.value.decode("utf-8", "replace"),
        compute_major=attribute(_MAJOR),
        compute_minor=attribute(_MINOR),
        sm_count=attribute(_SM_COUNT),
        memory_clock_mhz=attribute(_MEMORY_CLOCK_KHZ) // 1000,
    )

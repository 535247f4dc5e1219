"""NVRTC, plainly: text and options in, machine code out. Used for the referee's own codes, in many processes at once.

Only the C interface of the CUDA toolkit is used, by ctypes, so that it works where there is no GPU. The kernel's name
must be findable in the machine code: templates are not instantiated here.
"""

import ctypes
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

# The toolkit's first, which regtune takes too: Python packages bring others along.
_PLACES = ("/usr/local/cuda/lib64/libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so")


class CompileError(Exception):
    """The compiler's log."""


def _library():
    named = os.environ.get("REGTUNE_NVRTC")
    for place in ([named] if named else []) + list(_PLACES):
        try:
            return ctypes.CDLL(place)
        except OSError:
            continue
    raise CompileError("NVRTC could not be opened: it comes with the CUDA toolkit; REGTUNE_NVRTC names its file")


def version():
    major, minor = ctypes.c_int(), ctypes.c_int()
    _library().nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def toolkit_folder():
    return Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))


def header_options():
    """Where CUDA's own headers and CUB are, for a text that includes them."""
    include = toolkit_folder() / "include"
    return [f"-I{folder}" for folder in (include, include / "cccl") if folder.is_dir()]


def compile_cubin(text, options, file_name="kernel.cu"):
    library, program = _library(), ctypes.c_void_p()
    library.nvrtcCreateProgram(ctypes.byref(program), text.encode(), file_name.encode(), 0, None, None)
    try:
        given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        if library.nvrtcCompileProgram(program, len(options), given) != 0:
            size = ctypes.c_size_t()
            library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            library.nvrtcGetProgramLog(program, log)
            raise CompileError(log.value.decode(errors="replace").strip())
        size = ctypes.c_size_t()
        library.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        library.nvrtcGetCUBIN(program, code)
        return code.raw
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def cap_options(cap):
    """0 stands for the author's own code, without a cap."""
    return [f"--maxrregcount={cap}"] if cap else []


def _compile_cap(task):
    cap, text, options, file_name = task
    try:
        return cap, compile_cubin(text, options + cap_options(cap), file_name)
    except CompileError:
        return cap, None


def compile_caps(text, options, caps, processes, file_name="kernel.cu"):
    """A cubin for each cap that compiles, by so many processes."""
    tasks = [(cap, text, options, file_name) for cap in caps]
    # Processes of their own, not forks: the caller may hold a GPU and its threads.
    with ProcessPoolExecutor(processes, multiprocessing.get_context("spawn")) as pool:
        return {cap: cubin for cap, cubin in pool.map(_compile_cap, tasks) if cubin}

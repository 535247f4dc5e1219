"""The caches: the user's file over any number of read-only ones, open for as long as the object lives."""

import ctypes
import os
import threading
from types import TracebackType
from typing import Dict, Iterable, List, Mapping, Optional, Tuple, Type, Union

from . import _library
from ._answer import Answer, answer_from
from ._gpu import Gpu, current_gpu

Path = Union[str, "os.PathLike[str]"]
Block = Union[int, Tuple[int, ...]]

# regtune_status: misses are answers; the others are mistakes in the call.
_OK, _BAD_KEY, _LAST_MISS = 0, 5, 5
_NO_MEMORY = 65


def _bytes(value: str) -> bytes:
    encoded = value.encode("utf-8", "surrogateescape")
    if b"\0" in encoded:
        raise ValueError(f"a zero byte in {value!r}")
    return encoded


class Cache:
    """Opens nothing until it is asked; files need not exist. For any number of threads.

    file: the user's cache; None: ``$REGTUNE_CACHE``, else as the program finds it.
    system_files: below it, files and folders; None: ``$REGTUNE_CACHE_PATH``, then /usr/share/regtune.
    check_interval_s: between two looks for other processes' changes; 0: at every question.
    refuse_stale: an answer of another driver, compiler or source is a miss.
    """

    def __init__(
        self,
        file: Optional[Path] = None,
        system_files: Optional[Iterable[Path]] = None,
        check_interval_s: float = 0.1,
        refuse_stale: bool = False,
    ) -> None:
        self._handle: Optional[ctypes.c_void_p] = None
        self._process = os.getpid()
        library = _library.library()
        options = _library.Options(size=ctypes.sizeof(_library.Options))
        if file is not None:
            options.file = os.fsencode(file)
        if system_files is not None:
            options.system_files = b":".join(os.fsencode(path) for path in system_files)
        milliseconds = round(check_interval_s * 1000)
        options.check_interval_ms = milliseconds if milliseconds > 0 else -1
        options.refuse_stale = int(refuse_stale)
        handle = ctypes.c_void_p()
        if library.regtune_open(ctypes.byref(options), ctypes.byref(handle)) != _OK:
            raise MemoryError("regtune_open")
        self._handle = handle

    def find(
        self,
        kernel: str,
        sizes: Optional[Mapping[str, int]] = None,
        gpu: Union[Gpu, str, None] = None,
        block: Optional[Block] = None,
        source_tag: str = "",
        compiler: str = "",
        driver: str = "",
    ) -> Answer:
        """What is known of ``kernel``: "sgemm", "ns::sgemm<128, float>", the signature, or the mangled name.

        sizes: all that it was tuned for. gpu: its name, a Gpu, or None for the current one (raises NoGpu).
        block: that will be launched; None: the answer's is taken. source_tag (``regtune tag``), compiler and driver:
        what the caller has now; what differs is in the answer's ``stale``.
        """
        if self._handle is None:
            raise ValueError("the cache is closed")
        if os.getpid() != self._process:
            raise RuntimeError("a process that was forked opens caches of its own")
        library = _library.library()
        if gpu is None:
            gpu = current_gpu()
        elif isinstance(gpu, str):
            gpu = Gpu(gpu)
        given = sizes or {}
        array = (_library.Size * max(len(given), 1))()
        for at, (name, value) in enumerate(given.items()):
            if not -(2**63) <= int(value) < 2**63:
                raise ValueError(f"the size {name}={value} is no 64-bit number")
            array[at] = _library.Size(_bytes(name), int(value))
        key = _library.Key(
            size=ctypes.sizeof(_library.Key),
            kernel=_bytes(kernel),
            sizes=array,
            size_count=len(given),
            source_tag=_bytes(source_tag),
            compiler=_bytes(compiler),
            driver=_bytes(driver),
        )
        if block is not None:
            extents = (block,) if isinstance(block, int) else tuple(block)
            if not 1 <= len(extents) <= 3 or any(not 1 <= extent < 2**32 for extent in extents):
                raise ValueError(f"block={block!r} is not one to three positive numbers")
            key.block[:] = (*extents, *(1,) * (3 - len(extents)))
        fields = _library.GpuFields(
            ctypes.sizeof(_library.GpuFields),
            _bytes(gpu.name),
            gpu.compute_major,
            gpu.compute_minor,
            gpu.sm_count,
            gpu.memory_clock_mhz,
        )
        answer = _library.AnswerFields(size=ctypes.sizeof(_library.AnswerFields))
        status = library.regtune_find(
            self._handle, ctypes.byref(key), ctypes.byref(fields), ctypes.byref(answer)
        )
        if status == _OK:
            return answer_from(answer)
        if status == _NO_MEMORY:
            raise MemoryError("regtune_find")
        why = _library.text(library.regtune_status_text(status))
        if status == _BAD_KEY:
            raise ValueError(f"{kernel!r}: {why}")
        if status > _LAST_MISS and status >= 64:
            raise RuntimeError(why)
        return Answer(why=why)

    def problems(self) -> List[str]:
        """The files that cannot be used or were found damaged, a sentence each."""
        if self._handle is None:
            return []
        library = _library.library()
        sentences: List[str] = []
        while True:
            length = library.regtune_problem(self._handle, len(sentences), None, 0)
            if length == 0:
                return sentences
            buffer = ctypes.create_string_buffer(length + 1)
            library.regtune_problem(self._handle, len(sentences), buffer, len(buffer))
            sentences.append(_library.text(buffer.value))

    def close(self) -> None:
        """Must be the last call. Answers stay."""
        handle, self._handle = self._handle, None
        # The parent's connections are not the child's to close.
        if handle is not None and os.getpid() == self._process:
            _library.library().regtune_close(handle)

    def __enter__(self) -> "Cache":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            self.close()


_opened: Dict[Optional[bytes], Cache] = {}
_opening = threading.Lock()


def _forget_caches() -> None:
    global _opening
    _opening = threading.Lock()  # another thread may have held it
    _opened.clear()


os.register_at_fork(after_in_child=_forget_caches)


def _shared_cache(file: Optional[Path]) -> Cache:
    key = None if file is None else os.fsencode(os.path.abspath(file))
    with _opening:
        if key not in _opened:
            _opened[key] = Cache(file)
        return _opened[key]


def lookup(
    kernel: str,
    sizes: Optional[Mapping[str, int]] = None,
    gpu: Union[Gpu, str, None] = None,
    cache: Union[Cache, Path, None] = None,
    block: Optional[Block] = None,
    source_tag: str = "",
    compiler: str = "",
    driver: str = "",
) -> Answer:
    """What is known of ``kernel``, from ``cache``: a Cache, a file, or None for the user's.

    A file is opened once for the process. The other parameters are those of Cache.find. Raises NoGpu where no GPU is
    named and there is none, and LibraryNotFound.

        >>> lookup("decayWide", sizes={"n": 1 << 24}, gpu="NVIDIA H200").bounds  # doctest: +SKIP
        (256, 0)
    """
    if not isinstance(cache, Cache):
        cache = _shared_cache(cache)
    return cache.find(kernel, sizes, gpu, block, source_tag, compiler, driver)

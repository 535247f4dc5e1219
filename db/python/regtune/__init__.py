"""Which register budget was tuned for a CUDA kernel, asked at run time.

    tuned = regtune.lookup("decayWide", sizes={"n": 1 << 24})
    kernel = cupy.RawKernel(source, "decayWide", options=tuple(tuned.options()))

``lookup`` asks the cache files that the program ``regtune`` fills, through ``libregtune_db``. An answer says by which rung
of the ladder it was found, and in what it is stale. A miss is no error: it is an answer that is false, with no options, so
that the kernel is compiled as its author wrote it. Any number of threads may ask.
"""

from ._answer import Answer, Budget, Policy, Rung
from ._cache import Cache, lookup
from ._gpu import Gpu, NoGpu, current_gpu
from ._library import LibraryNotFound, library_version

__all__ = [
    "Answer",
    "Budget",
    "Cache",
    "Gpu",
    "LibraryNotFound",
    "NoGpu",
    "Policy",
    "Rung",
    "current_gpu",
    "library_version",
    "lookup",
]
__version__ = "0.1.0"

"""What a run of the comparison is asked for, and the clock that it ends by."""

import time
from dataclasses import dataclass, field
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]

ALL_CAPS = [0, *range(24, 256)]  # 0: the author's own code. 233 configurations.

# In the order of their importance, each with its limit in seconds. The first is run only where it is asked for.
PARTS = {"preflight": 60, "brute": 95, "heavy": 190, "strategies": 250, "public": 200, "scaling": 70, "others": 95,
         "look_up": 15, "repeats": 110}
DEFAULT_PARTS = [name for name in PARTS if name != "preflight"]


@dataclass
class Settings:
    regtune: Path
    out: Path  # of results and tables
    work: Path  # of caches, machine code and what programs print
    site: Path = None  # where Kernel Tuner was unpacked
    public: Path = None  # checkouts, as owner/name
    ktt: Path = None
    bench_programs: Path = None  # bench_compile_engine, bench_lookup
    architecture: str = "sm_90"
    jobs: int = 1
    public_budget_s: float = 3  # of GPU time, for each public kernel
    public_compile_s: float = 5
    cases: list = None  # the only kernels of those parts that have several; None: all
    limit_s: float = 540
    limits: dict = field(default_factory=dict)  # of parts, in seconds
    began: float = field(default_factory=time.monotonic)

    def wants(self, case):
        return self.cases is None or case in self.cases

    def left_s(self):
        return self.limit_s - (time.monotonic() - self.began)


class Clock:
    """Of one part: it ends with its own limit or with that of the run, whichever comes first."""

    def __init__(self, settings, seconds):
        self.until = time.monotonic() + min(seconds, settings.left_s())

    def left_s(self):
        return max(0.0, self.until - time.monotonic())

    def allows(self, seconds):
        return self.left_s() >= seconds

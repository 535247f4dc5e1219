"""What a look-up answers, as plain values that outlive the cache."""

import enum
import re
from dataclasses import dataclass
from typing import FrozenSet, List, Optional, Tuple

from ._library import AnswerFields, BudgetFields, text


class Rung(enum.IntEnum):
    """How an answer was found, from the best down."""

    NONE = 0
    EXACT = 1  #: this kernel, these sizes, this GPU
    NEAREST_SIZES = 2  #: this GPU; the sizes nearest by logarithm
    SAME_CAPABILITY = 3  #: another GPU of this compute capability, the nearest number of SMs
    SAME_FAMILY = 4  #: another GPU of this major compute capability

    @classmethod
    def _missing_(cls, value: object) -> "Rung":
        return cls.NONE


class Policy(enum.IntEnum):
    """What kind of budget it is."""

    AUTHORS_OWN = 0  #: leave source and options as they are
    COMPILER_DEFAULT = 1  #: no bound and no cap
    REGISTER_CAP = 2  #: --maxrregcount
    LAUNCH_BOUNDS = 3  #: __launch_bounds__
    MAX_REGISTERS = 4  #: __maxnreg__

    @classmethod
    def _missing_(cls, value: object) -> "Policy":
        return cls.AUTHORS_OWN


@dataclass(frozen=True)
class Budget:
    """One budget, with what its code takes and what it gained."""

    policy: Policy = Policy.AUTHORS_OWN
    registers: int = 0  #: of a cap or __maxnreg__
    bounds: Optional[Tuple[int, int]] = None  #: of __launch_bounds__: most threads of a block, least blocks on an SM or 0
    block: Tuple[int, int, int] = (0, 0, 0)  #: that it was measured with
    registers_per_thread: int = 0  #: that the code uses
    speedup: float = 1.0  #: over the author's code
    interval: Tuple[float, float] = (1.0, 1.0)  #: confidence interval of the speed-up
    option: str = ""  #: "--maxrregcount=57"
    attribute: str = ""  #: "__launch_bounds__(256, 3)", "__maxnreg__(64)"
    defines: str = ""  #: "-DUNROLL=4 -DTILE=16"
    instance: str = ""  #: of a kernel template: "scale<4, float>"
    statement: str = ""  #: what the kernel's body begins with, beside the attribute

    def options(self) -> List[str]:
        """What the compiler is told of it: the cap and the macros, not the bound that only a source can say."""
        return self.option.split() + [define for define in re.split(r" (?=-D[A-Za-z_])", self.defines) if define]


@dataclass(frozen=True)
class Answer:
    """What is known of a kernel; false where nothing is, and then ``why`` says why."""

    rung: Rung = Rung.NONE
    why: str = ""  #: of a miss: one sentence
    stale: FrozenSet[str] = frozenset()  #: of "driver", "compiler", "source"
    size_distance: float = 0.0  #: doublings between the sizes asked for and those measured, added up
    best: Budget = Budget()  #: by option or in the source
    in_source: Budget = Budget()  #: the best that the source can say itself
    verdict: str = ""  #: "improved", "no_gain", "inconclusive", "not_resolvable"
    kernel: str = ""  #: mangled
    signature: str = ""
    gpu: str = ""  #: that it was measured on, under
    driver: str = ""
    compiler: str = ""
    source_tag: str = ""
    measured: str = ""  #: UTC, ISO 8601
    file: str = ""  #: that holds it

    def __bool__(self) -> bool:
        return self.rung is not Rung.NONE

    @property
    def bounds(self) -> Optional[Tuple[int, int]]:
        """Of ``__launch_bounds__``, where that is the best budget: (256, 3); (256, 0) without the second."""
        return self.best.bounds

    def options(self, macro: Optional[str] = None, in_source: bool = False) -> List[str]:
        """For NVRTC, or CuPy's ``RawKernel(options=tuple(...))``.

        A register cap is an option. A bound is not: the source must say it, by the macro ``REGTUNE_BOUNDS_<kernel>``
        (or ``macro``) between ``__global__ void`` and the kernel's name, which the options define. Where the author's
        code is the best, or nothing is known, they do not, and the source's own ``#ifndef`` decides. Macros that were
        tuned are defined too. Where the budget spills to shared memory the kernel's body must open with a statement,
        which is ``REGTUNE_BEGIN_<kernel>``: an ``#ifdef`` of it there serves both ways.

        ``in_source=True`` takes the best budget without a cap, which concerns every kernel of a source.
        """
        budget = self.in_source if in_source else self.best
        if budget.policy is Policy.AUTHORS_OWN:
            return budget.options()
        name = macro or "REGTUNE_BOUNDS_" + bare_name(self.signature)
        options = budget.options() + [f"-D{name}={budget.attribute}"]
        if budget.statement:
            options.append(f"-DREGTUNE_BEGIN_{bare_name(self.signature)}={budget.statement}")
        return options


def bare_name(signature: str) -> str:
    """ "void ns::sgemm<128, float>(float*)" -> "sgemm" """
    flat, depth = "", 0
    for letter in signature:
        if letter in "<([":
            depth += 1
        if depth == 0:
            flat += letter
        if letter in ">)]":
            depth -= 1
    names = re.findall(r"[A-Za-z_$][\w$]*", flat)
    return names[-1] if names else ""


_STALE = {1: "driver", 2: "compiler", 4: "source"}


def budget_from(fields: BudgetFields) -> Budget:
    policy = Policy(fields.policy)
    return Budget(
        policy=policy,
        registers=fields.registers,
        bounds=(fields.max_threads_per_block, fields.min_blocks_per_sm) if policy is Policy.LAUNCH_BOUNDS else None,
        block=tuple(fields.block),
        registers_per_thread=fields.registers_per_thread,
        speedup=fields.speedup,
        interval=(fields.speedup_low, fields.speedup_high),
        option=text(fields.option),
        attribute=text(fields.attribute),
        defines=text(fields.defines),
        instance=text(fields.instance),
        statement=text(fields.statement),
    )


def answer_from(fields: AnswerFields) -> Answer:
    return Answer(
        rung=Rung(fields.match),
        stale=frozenset(name for bit, name in _STALE.items() if fields.stale & bit),
        size_distance=fields.size_distance,
        best=budget_from(fields.best),
        in_source=budget_from(fields.in_source),
        verdict=text(fields.verdict),
        kernel=text(fields.kernel),
        signature=text(fields.signature),
        gpu=text(fields.gpu_name),
        driver=text(fields.driver),
        compiler=text(fields.compiler),
        source_tag=text(fields.source_tag),
        measured=text(fields.measured),
        file=text(fields.file),
    )

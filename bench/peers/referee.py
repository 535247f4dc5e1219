"""Judges machine codes, whoever made them: interleaved rounds in a new random order each, paired with the author's.

First the field of all caps' codes is thinned out: a code leaves that was slower than the leader by more than a limit in
three rounds, then in twenty. The last rounds are fresh, and only they are counted: the least of hundreds of medians is
a lucky one. Codes that a peer named stay to the end. A code that cannot be launched, or whose outputs differ from the
author's, is out, with its reason. This is a process of its own, so that a peer has the GPU to itself while it runs.
"""

import random
import statistics
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

from arithmetic import median_interval, paired_ratios
from children import serve
from gpu import Code, Data, Gpu, launches_for, sample_ms, warm_up
from launches import launch_from

AUTHOR = "author"
_THINNING = ((3, 1.10), (20, 1.01))  # after so many rounds: the factor over the leader that is kept
_RELATIVE, _ABSOLUTE = 2e-3, 1e-3  # how far outputs may be off: other budgets may contract other sums
_TRIED_MS = 2000  # a first launch that takes longer ends a code


@dataclass
class Contender:
    """A code to be judged. `shared` and `arguments` are for one that is launched otherwise than the author's.

    An argument is the number of one of the author's, or ["int32", value] or ["null"].
    """

    key: str
    cubin: bytes
    entry: str
    named: bool = False  # by a peer: stays to the end
    shared: int = None  # bytes of dynamic shared memory
    arguments: list = None
    code: object = None
    out: str = None
    samples: dict = field(default_factory=dict)
    fresh: dict = field(default_factory=dict)


def _outputs(gpu, code, data):
    data.clear_outputs()
    gpu.elapsed_ms(lambda: code.put(data))
    return [one.copy() for one in data.outputs]


def _equal(cupy, one, other):
    if one.dtype.kind != "f":
        return bool((one == other).all())
    return bool(cupy.allclose(one, other, rtol=_RELATIVE, atol=_ABSOLUTE, equal_nan=True))


def _enter(gpu, entrants, data, launch, compare):
    """Loads and launches each once. The first is the author's."""
    expected = None
    for entrant in entrants:
        try:
            own = launch if entrant.shared is None else replace(launch, dynamic_shared_bytes=entrant.shared)
            entrant.code = Code(gpu, entrant.cubin, entrant.entry, own, entrant.arguments)
            found = _outputs(gpu, entrant.code, data)
            first_ms = sample_ms(gpu, entrant.code, data)
        except Exception as error:  # whatever the driver says ends this code alone
            entrant.out = f"cannot be launched: {error}"
            continue
        if expected is None:
            expected = found
        elif compare and not all(_equal(gpu.cupy, *pair) for pair in zip(found, expected)):
            entrant.out = "other outputs than the author's code"
        if first_ms > _TRIED_MS:
            entrant.out = f"took {first_ms:.0f} ms"


def _round(gpu, field, data, launches, number, samples_of):
    order = list(field)
    random.shuffle(order)
    for entrant in order:
        samples_of(entrant)[number] = sample_ms(gpu, entrant.code, data, launches)


def _ratio(entrant, author, samples_of):
    return statistics.median(paired_ratios(samples_of(entrant), samples_of(author)))


def judge(gpu, launch, arrays, entrants, rounds=100, seconds=60, compare=True):
    """What came of each contender, by its key; the first is the author's code.

    Ends after `rounds` fresh rounds, or after the tenth of them when the time is up; the result says how many there
    were.
    """
    until = time.monotonic() + seconds
    data = Data(gpu, launch, arrays)
    _enter(gpu, entrants, data, launch, compare)
    author = entrants[0]
    if author.out:
        return {"out": {author.key: author.out}, "rounds": 0, "ratios": {}, "author_ms": None}
    warm_up(gpu, author.code, data)
    launches = launches_for(sample_ms(gpu, author.code, data))
    field = [entrant for entrant in entrants if not entrant.out]

    number = 0
    for wanted, factor in _THINNING:
        while number < wanted and (number < 3 or time.monotonic() < until):
            number += 1
            _round(gpu, field, data, launches, number, lambda one: one.samples)
        leader = min(_ratio(entrant, author, lambda one: one.samples) for entrant in field)
        field = [entrant for entrant in field if entrant is author or entrant.named
                 or _ratio(entrant, author, lambda one: one.samples) <= leader * factor]
    for number in range(1, rounds + 1):
        if number > 10 and time.monotonic() > until:
            break
        _round(gpu, field, data, launches, number, lambda one: one.fresh)

    ratios = {}
    for entrant in field:
        low, middle, high = median_interval(paired_ratios(entrant.fresh, author.fresh))
        ratios[entrant.key] = {"low": low, "ratio": middle, "high": high,
                               "ms": statistics.median(entrant.fresh.values())}
    return {"rounds": len(author.fresh), "launches": launches, "restored": data.is_restored, "codes": len(entrants),
            "author_ms": statistics.median(author.fresh.values()), "ratios": ratios,
            "out": {entrant.key: entrant.out for entrant in entrants if entrant.out}}


def answer_to(request, write):
    from arrays import make_arrays

    launch = launch_from(request["launch"])
    entrants = [Contender(**{**one, "cubin": Path(one["cubin"]).read_bytes()}) for one in request["contenders"]]
    return {"judged": judge(Gpu(), launch, make_arrays(launch), entrants, request["rounds"], request["seconds"],
                            request["compare"])}


if __name__ == "__main__":
    serve(answer_to)

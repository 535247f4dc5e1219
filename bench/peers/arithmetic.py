"""The figures of the tables: extrapolation, ratios, means and intervals. Pure functions over numbers."""

import math
import statistics

MARGIN = 0.005  # an answer within it of the referee's best counts as the best


def extrapolate(startup_s, measured_s, measured, wanted):
    """Seconds for `wanted` configurations, from those for `measured` of them. The start-up is paid once."""
    if measured <= 0:
        raise ValueError("nothing was measured that could be extrapolated")
    return startup_s + measured_s * wanted / measured


def spread_caps(wanted, first=24, last=255):
    """So many configurations over the whole range, evenly: the author's own code (0), and caps from first to last."""
    caps = range(first, last + 1)
    wanted -= 1
    if wanted >= len(caps):
        return [0, *caps]
    if wanted <= 0:
        return [0]
    if wanted == 1:
        return [0, last]
    return [0] + sorted({first + round(index * (last - first) / (wanted - 1)) for index in range(wanted)})


def geometric_mean(values):
    values = list(values)
    if not values or min(values) <= 0:
        raise ValueError("a geometric mean is of positive numbers")
    return math.exp(statistics.fmean(math.log(value) for value in values))


def geometric_spread(values):
    """The factor by which one standard deviation of the logarithms moves the geometric mean."""
    logs = [math.log(value) for value in values]
    return math.exp(statistics.stdev(logs)) if len(logs) > 1 else 1.0


def within(ratio, best, margin=MARGIN):
    return ratio <= best * (1 + margin)


def paired_ratios(samples, reference):
    """By round: {round: ms} of both. Rounds that one of them lacks are left out."""
    return [samples[number] / reference[number] for number in samples if number in reference]


def median_interval(values, confidence=0.99):
    """The median, and its confidence interval by order statistics (binomial; no assumption on the distribution)."""
    ordered = sorted(values)
    count = len(ordered)
    if count == 0:
        raise ValueError("no values")
    middle = statistics.median(ordered)
    tail, below = (1 - confidence) / 2, 0.0
    rank = 0  # values that may be dropped at each end
    for taken in range(count // 2):
        below += math.comb(count, taken) * 0.5 ** count
        if below > tail:
            break
        rank = taken + 1
    if rank == 0:  # too few for that confidence: all that was seen
        return ordered[0], middle, ordered[-1]
    return ordered[rank - 1], middle, ordered[count - rank]

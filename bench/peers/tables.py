"""The tables, as Markdown, from the rows of raw results. What was not measured is an empty cell, never a guess."""

import statistics

from arithmetic import geometric_mean, geometric_spread


def markdown(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def seconds(value):
    if value is None:
        return ""
    return f"{value:.0f} s" if value >= 100 else f"{value:.1f} s" if value >= 10 else f"{value:.2f} s"


def percent(ratio):
    return "" if ratio is None else f"{100 * (ratio - 1):+.2f} %"


def times(value):
    return "" if value is None else f"{value:.1f} x"


def of_kind(rows, kind, **fields):
    return [row for row in rows
            if row["kind"] == kind and all(row.get(name) == value for name, value in fields.items())]


def median_of(rows, name):
    values = [row[name] for row in rows if row.get(name) is not None]
    return statistics.median(values) if values else None


def judgements(rows, part, case):
    """By (peer, variant, run): what the referee says of that answer."""
    found = {}
    for row in of_kind(rows, "judgement", part=part, case=case):
        for winner in row.get("winners", []):
            found[winner["peer"], winner["variant"], winner["run"]] = winner
    return found


def groups(rows, part, case):
    """The runs of a part by (peer, variant), regtune's own first."""
    grouped = {}
    for row in of_kind(rows, "run", part=part, case=case):
        grouped.setdefault((row["peer"], row["variant"]), []).append(row)
    # What ended early says nothing of the others' figures; where it is all there is, its reason stands in the table.
    grouped = {who: [run for run in runs if not run.get("failed")] or runs for who, runs in grouped.items()}
    return sorted(grouped.items(), key=lambda item: (item[0] != ("regtune", ""), item[0][0] != "regtune"))


def name_of(peer, variant):
    return f"{peer}, {variant}" if variant else peer


def extrapolation(rows, part, case, peer, variant):
    found = of_kind(rows, "extrapolation", part=part, case=case, peer=peer, variant=variant)
    return found[0] if found else None


def runs_left_out(rows):
    """Lines about runs that ended early where others of the same kind did not."""
    lines = []
    for row in of_kind(rows, "run"):
        if row.get("failed") and all(not run.get("failed") for who, runs in groups(rows, row["part"], row["case"])
                                     for run in runs if who == (row["peer"], row["variant"])):
            lines.append(f"{row['case']}: run {row['run']} of {name_of(row['peer'], row['variant'])}: {row['failed']}")
    return lines


def was_run(rows, part, case):
    """Whether another of the runs that are summed up has what one had no time for."""
    found = of_kind(rows, "public") if part == "public" else of_kind(rows, "run", part=part)
    return any(case in (None, row["case"]) for row in found)


def own_wall(rows, part, case):
    runs = of_kind(rows, "run", part=part, case=case, peer="regtune", variant="")
    return median_of([run for run in runs if not run.get("failed")] or runs, "wall_s")


def within_words(runs, judged, peer, variant):
    """'5 of 5': answers within 0.5 % of the referee's best, of those that were judged."""
    said = [judged.get((peer, variant, run["run"])) for run in runs]
    said = [one for one in said if one and "within" in one]
    return f"{sum(one['within'] for one in said)} of {len(said)}" if said else ""


def sweep_table(rows, part, case):
    """Who took how long over the same configurations, and what the referee says of the answers."""
    own_s, judged = own_wall(rows, part, case), judgements(rows, part, case)
    table = []
    for (peer, variant), runs in groups(rows, part, case):
        wall_s = median_of(runs, "wall_s")
        wall, whole = seconds(wall_s), extrapolation(rows, part, case, peer, variant)
        if whole:
            wall = f"{seconds(whole['extrapolated_s'])} (extrapolated: {seconds(wall_s)} for {whole['measured']})"
            wall_s = whole["extrapolated_s"]
        answers = [judged.get((peer, variant, run["run"]), {}) for run in runs]
        failed = next((run["failed"] for run in runs if run.get("failed")), "")
        table.append([name_of(peer, variant), len(runs), runs[0].get("settled", ""), wall,
                      times(wall_s / own_s) if own_s and wall_s else "", seconds(median_of(runs, "warm_s")),
                      seconds(median_of(runs, "gpu_s")), failed or runs[0].get("winner", ""),
                      _milliseconds(median_of(answers, "ms")), percent(median_of(answers, "over_best_cap")),
                      within_words(runs, judged, peer, variant)])
    return markdown(["who", "runs", "configurations", "wall, cold", "over regtune's", "wall, warm", "GPU time",
                     "answer", "its time", "over the best cap", "within 0.5 %"], table)


def _milliseconds(value):
    return "" if value is None else f"{value:.4g} ms"


def referee_line(rows, part, case):
    """How the best was found, or that there is no judgement."""
    found = of_kind(rows, "judgement", part=part, case=case)
    if not found or "best_cap" not in found[-1]:
        return "No judgement: " + (found[-1].get("failed", "") if found else "the referee had no time left.")
    row = found[-1]
    best = row["best_cap"]
    budgets = ["author's code" if cap == "author" else f"cap {cap}" for cap in best["budgets"][:3]]
    return (f"The referee timed {row['codes']} codes, those of {row['caps']} configurations among them; the last "
            f"{row['rounds']} rounds count. The best of these: {', '.join(budgets)}, {best['ratio']:.4f} of the "
            f"author's time ({best['low']:.4f} to {best['high']:.4f}); the author's code: {row['author_ms']:.4g} ms.")


def strategy_table(rows):
    """Answers with the same wall time as regtune's. Where a kernel was in both parts, the one of five runs."""
    parts = {row["case"]: part for part in ("strategies", "repeats")
             for row in of_kind(rows, "run", part=part)}
    table = []
    for case, part in parts.items():
        judged = judgements(rows, part, case)
        for (peer, variant), runs in groups(rows, part, case):
            answers = [judged.get((peer, variant, run["run"]), {}) for run in runs]
            failed = next((run["failed"] for run in runs if run.get("failed")), "")
            table.append([case, name_of(peer, variant),
                          seconds(median_of(runs, "tuning_s") or median_of(runs, "wall_s")),
                          f"{median_of(runs, 'settled') or 0:.0f}", failed or runs[0].get("winner", ""),
                          percent(median_of(answers, "over_best_cap")), within_words(runs, judged, peer, variant)])
    return markdown(["kernel", "who", "time", "configurations", "answer (first run)", "over the best cap",
                     "within 0.5 %"], table)


def better_peers(rows, margin=0.005):
    """A line for each peer's answer that the referee found faster than all of regtune's on that kernel."""
    lines = []
    for row in of_kind(rows, "judgement"):
        judged = [one for one in row.get("winners", []) if "ratio" in one]
        own = [one["ratio"] for one in judged if one["peer"] == "regtune"]
        others = {}
        for one in judged:
            if one["peer"] != "regtune":
                others.setdefault(name_of(one["peer"], one["variant"]), []).append(one["ratio"])
        for who, ratios in others.items():
            better = [ratio for ratio in ratios if own and ratio * (1 + margin) < min(own)]
            if better:
                lines.append(f"- {row['case']} ({row['part']}): {who}, {len(better)} of {len(ratios)} runs: "
                             f"{min(better):.4f} of the author's time against regtune's {min(own):.4f}.")
    return lines


def public_speedup(row):
    """(speed-up over the author's code, its interval or None) of a public kernel; None where nothing is known."""
    ratios = row.get("ratios") or {}
    if row.get("same_code"):
        return 1.0, None  # the answer is to leave it alone: what two samples of one code differ by is noise
    if "winner" in ratios:
        one = ratios["winner"]
        return 1 / one["ratio"], (1 / one["high"], 1 / one["low"])
    if row.get("verified"):
        return row["verified"]["median"], (row["verified"]["low"], row["verified"]["high"])
    return (row["speedup"], None) if row.get("speedup") else None


def _referee_name(row):
    return {"CuPy": "the referee"}.get(row.get("judged_by"), row.get("judged_by", ""))


def public_table(rows):
    table = []
    for row in of_kind(rows, "public"):
        found = public_speedup(row) if "failed" not in row else None
        interval = f"{found[1][0]:.3f} to {found[1][1]:.3f}" if found and found[1] else ""
        table.append([row["case"], row["hand_set"] or "none", _milliseconds(row.get("author_ms")),
                      row.get("failed", row.get("winner", ""))[:80], f"{found[0]:.3f} x" if found else "", interval,
                      _referee_name(row) if found else ""])
    return markdown(["kernel", "the author's budget", "author's code", "regtune's answer", "speed-up", "interval",
                     "judged by"], table)


def public_sums(rows):
    """The geometric mean over all kernels with its spread, every loss, and what became of hand-set budgets."""
    known = [(row, public_speedup(row)[0]) for row in of_kind(rows, "public")
             if "failed" not in row and public_speedup(row)]
    if not known:
        return "No public kernel was judged."
    gains = [gain for _, gain in known]
    lines = [f"Geometric mean over {len(gains)} kernels: {geometric_mean(gains):.3f} x (one standard deviation: a "
             f"factor of {geometric_spread(gains):.3f}; least {min(gains):.3f} x, most {max(gains):.3f} x)."]
    losses = [f"{row['case']} ({gain:.3f} x)" for row, gain in known if gain < 1]
    lines.append(f"Slower than the author's code: {', '.join(losses) or 'none'}.")
    by_hand = [(row, gain) for row, gain in known if row["hand_set"]]
    beaten = [row["case"] for row, gain in by_hand if gain > 1.005]
    if by_hand:
        lines.append(f"Of {len(by_hand)} budgets set by hand, {len(beaten)} are no longer the best on this GPU"
                     + (f": {', '.join(beaten)}." if beaten else "."))
    return "\n".join(lines)


def own_speedups(rows):
    """{kernel of kernels/: what regtune's answer gains over the author's code}: the median of its judged answers, of
    the part that judged the kernel first."""
    gains = {}
    for row in of_kind(rows, "judgement"):
        ratios = [one["ratio"] for one in row.get("winners", [])
                  if (one["peer"], one["variant"]) == ("regtune", "") and "ratio" in one]
        if ratios:
            gains.setdefault(row["case"], 1 / statistics.median(ratios))
    return gains


def all_sums(rows):
    """The geometric mean over every kernel that was judged, those of kernels/ and the public ones, and every loss."""
    gains = own_speedups(rows)
    gains.update({row["case"]: public_speedup(row)[0] for row in of_kind(rows, "public")
                  if "failed" not in row and public_speedup(row)})
    if not gains:
        return "No kernel was judged."
    losses = [f"{case} ({gain:.4f} x)" for case, gain in gains.items() if gain < 1]
    by_gain = ", ".join(f"{case} {gain:.3f}" for case, gain in sorted(gains.items(), key=lambda item: -item[1]))
    return "\n".join([f"Geometric mean over all {len(gains)} kernels, those of `kernels/` among them: "
                      f"{geometric_mean(list(gains.values())):.3f} x (one standard deviation: a factor of "
                      f"{geometric_spread(list(gains.values())):.3f}).", f"Slower than the author's code: "
                      f"{', '.join(losses) or 'none'}.", f"Each: {by_gain}."])


def scaling_series(rows, axis):
    """[(name, [(x, seconds)])] of one axis."""
    series = {}
    for row in of_kind(rows, "scaling", axis=axis):
        if "failed" not in row:
            series.setdefault(row["peer"], []).append((row["x"], row["wall_s"]))
    return list(series.items())


def scaling_table(rows, axis):
    series = scaling_series(rows, axis)
    values = sorted({x for _, points in series for x, _ in points})
    table = [[name] + [seconds(dict(points).get(x)) for x in values] for name, points in series]
    return markdown([axis, *(str(value) for value in values)], table)

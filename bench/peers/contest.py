"""One kernel, all that compete on it, and the referee's judgement over their answers.

The referee's own codes are plain NVRTC's for every cap, compiled by many processes, so that the best of the space is
known whoever found it.
"""

from dataclasses import asdict

import cubins
import nvrtc
from arithmetic import within
from children import run_peer
from launches import read_launch, study
from referee import AUTHOR, Contender
from settings import ALL_CAPS


# CuPy adds it to every compilation, so that Kernel Tuner's and the script's codes have it. All get it, to be of one
# code.
SHARED_OPTIONS = ["-ftz=true"]


def judged(launch, contenders, folder, rounds, seconds, compare=True):
    """The referee's word on them, from a process of its own; the first is the author's code."""
    (folder / "codes").mkdir(parents=True, exist_ok=True)
    entries = []
    for number, one in enumerate(contenders):
        file = folder / "codes" / f"{number}.cubin"
        file.write_bytes(one.cubin)
        entries.append({"key": one.key, "cubin": str(file), "entry": one.entry, "named": one.named,
                        "shared": one.shared, "arguments": one.arguments})
    answer = run_peer("referee", {"launch": asdict(launch), "contenders": entries, "rounds": rounds, "seconds": seconds,
                                  "compare": compare}, folder / "referee", seconds + 45)
    return answer.get("judged") or {"ratios": {}, "rounds": 0, "out": {"referee": answer.get("failed", "no answer")}}


_compiled = {}  # of earlier contests over the same text


class Contest:
    def __init__(self, settings, results, case, part):
        self.settings, self.results, self.case, self.part = settings, results, case, part
        kernel, signature = study(settings.regtune, case.source, case.side_file)
        self.launch = read_launch(case.name, case.source, kernel, signature, case.side_file, case.sizes)
        self.text = case.source.read_text()
        self.headers = nvrtc.header_options() if case.headers else []
        self.options = [f"--gpu-architecture={settings.architecture}", "-std=c++17", *SHARED_OPTIONS, *self.headers,
                        *self.launch.options]
        self.folder = settings.work / part / case.name
        self.contestants = []  # (peer, variant, run, key)
        self.named = {}  # key: Contender
        self.author = self.code_of_cap(0)

    def request(self, **more):
        """What a peer's process is told."""
        return {"launch": asdict(self.launch), "source": str(self.case.source), "kernel": self.launch.bare_kernel,
                "block": self.launch.block, "grid": self.launch.grid, "caps": ALL_CAPS, "runs": [{}],
                "options": ["-std=c++17", *self.headers, *self.launch.options],
                "nvcc_options": [*SHARED_OPTIONS, *self.headers], "architecture": self.settings.architecture, **more}

    def regtune_options(self):
        return [part for name, value in self.case.sizes.items() for part in ("--set", f"{name}={value}")]

    def code_of_cap(self, cap):
        cubin = nvrtc.compile_cubin(self.text, self.options + nvrtc.cap_options(cap), self.case.source.name)
        return self._contender(cubin, self.launch.kernel, named=True)

    def _contender(self, cubin, entry, named, **more):
        return Contender(cubins.code_key(cubin, entry), cubin, entry, named, **more)

    def add_code(self, peer, variant, run, cubin, entry, figures, **more):
        """A peer's answer as machine code. Its row is written now, its judgement later."""
        contender = self._contender(cubin, entry, named=True, **more)
        self.named.setdefault(contender.key, contender)
        self.contestants.append((peer, variant, run, contender.key))
        self.add_row(peer, variant, run, {**figures, "key": contender.key,
                                          "registers": cubins.registers(cubin, entry)})

    def add_cap(self, peer, variant, run, cap, figures):
        code = self.code_of_cap(cap)
        self.add_code(peer, variant, run, code.cubin, code.entry,
                      {"winner": f"--maxrregcount={cap}" if cap else "author's code", **figures})

    def add_row(self, peer, variant, run, figures):
        self.results.add("run", part=self.part, case=self.case.name, peer=peer, variant=variant, run=run, **figures)

    def judge(self, seconds, rounds=100, caps=ALL_CAPS):
        """Times all codes, and writes the judgement."""
        known = (self.text, *self.options, *caps)
        if known not in _compiled:
            _compiled[known] = nvrtc.compile_caps(self.text, self.options, [cap for cap in caps if cap],
                                                  self.settings.jobs, self.case.source.name)
        compiled = _compiled[known]
        budgets = {self.author.key: [AUTHOR]}
        codes = {self.author.key: self.author, **self.named}
        for cap, cubin in compiled.items():
            contender = self._contender(cubin, self.launch.kernel, named=False)
            codes.setdefault(contender.key, contender)
            budgets.setdefault(contender.key, []).append(cap)
        said = judged(self.launch, list(codes.values()), self.folder, rounds, seconds)
        ratios = said.pop("ratios")
        if not ratios:
            self.results.add("judgement", part=self.part, case=self.case.name, failed=str(said["out"]))
            return
        of_caps = {key: one for key, one in ratios.items() if key in budgets}
        best = min(ratios, key=lambda key: ratios[key]["ratio"])
        best_cap = min(of_caps, key=lambda key: of_caps[key]["ratio"])
        winners = []
        for peer, variant, run, key in self.contestants:
            row = {"peer": peer, "variant": variant, "run": run, "key": key, **ratios.get(key, {})}
            if key in ratios:
                row["over_best"] = ratios[key]["ratio"] / ratios[best]["ratio"]
                row["over_best_cap"] = ratios[key]["ratio"] / ratios[best_cap]["ratio"]
                row["within"] = within(ratios[key]["ratio"], ratios[best_cap]["ratio"])
            else:
                row["failed"] = said["out"].get(key, "left the field")
            winners.append(row)
        self.results.add("judgement", part=self.part, case=self.case.name, winners=winners, caps=len(compiled) + 1,
                         best={"key": best, "budgets": budgets.get(best, []), **ratios[best]},
                         best_cap={"key": best_cap, "budgets": budgets[best_cap], **ratios[best_cap]}, **said)

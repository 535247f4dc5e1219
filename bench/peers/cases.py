"""The kernels of the comparison: those of kernels/, and public ones from checkouts that the user has.

Of a public kernel only the description is kept here or in examples/public/, with the repository and the path in its
first line. HAND_SET says which budget its authors set by hand, and where.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from settings import REPOSITORY


@dataclass(frozen=True)
class Case:
    name: str
    source: Path
    side_file: Path = None
    sizes: dict = field(default_factory=dict)  # in the place of the description's
    headers: bool = False  # includes CUB
    hand_set: str = ""  # the author's budget
    repository: str = ""


# The referee times more than a hundred codes of this one, some of them ten times slower: a quarter of its size will do.
_SIZES = {"decay_indexed": {"n": 4194304}}

HAND_SET = {
    "fletcher_tti": "-maxrregcount 127, in the Makefile",
    "llmc_matmul4": "__launch_bounds__(256)",
    "sgemm_warptile": "__launch_bounds__(128)",
    "sgemm_2d_blocktiling": "__launch_bounds__(256, 1)",
    "llmc_trimul": "__launch_bounds__(256, 2)",
    "floyd_warshall": "__launch_bounds__(1024, 2)",
}

# Compiled or launched within seconds first, so that a short run has most of them.
PUBLIC_ORDER = ["sgemm_warptile", "llmc_matmul4", "fletcher_tti", "sgemm_2d_blocktiling", "llmc_trimul",
                "floyd_warshall", "kt_expdist", "rushlarsen", "lulesh_fb", "kalman8", "ethash_search", "smallpt",
                "nlm_denoise", "bf16_wmma_gemm", "gpu4pyscf_mdj31", "cg_multiblock", "gpumd_nep_angular"]


def own_case(name):
    return Case(name, REPOSITORY / "kernels" / f"{name}.cu", sizes=_SIZES.get(name, {}),
                headers=name == "block_sort", hand_set="__launch_bounds__(256, 5)" if name == "decay_bounded" else "")


def public_cases(checkouts):
    """(cases whose source is there, lines about those whose is not)."""
    found, absent = [], []
    for name in PUBLIC_ORDER:
        for folder in (REPOSITORY / "examples" / "public", REPOSITORY / "bench" / "peers" / "public"):
            description = folder / f"{name}.toml"
            if description.exists():
                break
        else:
            continue
        repository, path = re.match(r"# (\S+): (\S+)", description.read_text()).groups()
        source = Path(checkouts or "/nonexistent") / repository / path
        if source.exists():
            found.append(Case(name, source, description, hand_set=HAND_SET.get(name, ""), repository=repository))
        else:
            absent.append(f"{name}: {repository}/{path} is not there: bench/peers/fetch_public.sh FOLDER gets it, "
                          "--public FOLDER names it")
    return found, absent

"""How a kernel is launched, for the peers and the referee: read from the description that regtune itself is given.

So all of them get the same kernel, sizes, block, grid and arguments. What a plain CuPy launch cannot hand over
(structures, textures, variables of the module, cooperative launches) raises Unsupported, and is left to regtune's own
referee. The parameter types come from regtune's study of the source, which needs no GPU.
"""

import json
import re
import subprocess
import tempfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from expressions import evaluate, evaluate_list


class Unsupported(Exception):
    """Why a plain CuPy launch cannot do it."""


@dataclass
class Argument:
    name: str
    type: str  # as C++ spells it: "const float*", "unsigned long"
    value: object = None  # of a scalar
    count: int = None  # of a buffer: elements
    init: str = "zeros"

    @property
    def is_buffer(self):
        return self.count is not None

    @property
    def is_written(self):
        return self.is_buffer and not self.type.startswith("const ")


@dataclass
class Launch:
    name: str  # of the case: "decay_wide"
    source: str  # path
    kernel: str  # mangled, as it is called in the machine code
    bare_kernel: str  # as the source calls it
    options: list = field(default_factory=list)  # of the compiler
    sizes: dict = field(default_factory=dict)
    block: tuple = (1, 1, 1)
    grid: tuple = (1, 1, 1)
    dynamic_shared_bytes: int = 0
    arguments: list = field(default_factory=list)


def launch_from(fields):
    """The launch that dataclasses.asdict() made a table of, for another process."""
    return Launch(**{**fields, "arguments": [Argument(**one) for one in fields["arguments"]]})


def description_of(source, side_file=None):
    """The description as a table: of a file of its own, or of the comment in the source."""
    if side_file:
        return tomllib.loads(Path(side_file).read_text())
    found = re.search(r"/\*regtune\n(.*?)\*/", Path(source).read_text(), re.DOTALL)
    if not found:
        raise Unsupported(f"{source} holds no launch description")
    return tomllib.loads(found.group(1))


def parameter_types(signature):
    """The parameter types of a demangled signature: 'k<2>(const float*, int)' gives ['const float*', 'int']."""
    depth, opening = 0, -1
    for position in range(len(signature) - 1, -1, -1):
        depth += (signature[position] == ")") - (signature[position] == "(")
        if depth == 0:
            opening = position
            break
    inside = signature[opening + 1:signature.rindex(")")].strip()
    if not inside:
        return []
    types, depth, start = [], 0, 0
    for position, letter in enumerate(inside):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0:
            types.append(inside[start:position].strip())
            start = position + 1
    return types + [inside[start:].strip()]


def study(regtune, source, side_file=None, seconds=120):
    """What regtune says of the source without a GPU: the mangled name and the signature."""
    with tempfile.TemporaryDirectory() as folder:  # the user's own cache is left alone
        command = [str(regtune), "analyze", str(source), "--arch", "sm_90", "--compile-budget", "0.01", "--json",
                   "--quiet", "--no-config", "--cache", folder + "/study.db"]
        command += ["--description", str(side_file)] if side_file else []
        answer = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    if answer.returncode != 0:
        raise Unsupported(f"regtune does not take {source}: {answer.stderr.strip()[-300:]}")
    record = json.loads(answer.stdout)["studies"][0]["record"]
    return record["kernel"], record["signature"]


def _argument(name, type_, value, names):
    if isinstance(value, dict):
        if "buffer" not in value or not type_.endswith("*"):
            raise Unsupported(f"the argument {name} is no plain buffer")
        element = value.get("type")
        if element:
            type_ = ("const " if type_.startswith("const ") else "") + element + "*"
        return Argument(name, type_, count=int(evaluate(value["buffer"], names)), init=value.get("init", "zeros"))
    if isinstance(value, bool):
        return Argument(name, type_, value=value)
    return Argument(name, type_, value=evaluate(value, names))


def read_launch(name, source, kernel, signature, side_file=None, sizes=None):
    """The launch of a kernel whose mangled name and signature are known. `sizes` replace those of the description."""
    table = description_of(source, side_file)
    if "globals" in table or table.get("cooperative") or "cluster" in table:
        raise Unsupported("variables of the module, cooperative and clustered launches are not made here")
    names = {}
    for key, text in table.get("sizes", {}).items():
        names[key] = (sizes or {}).get(key, evaluate(text, names))
    chosen = dict(names)
    block = table.get("block", 1)
    block = block[0] if isinstance(block, list) else block
    block = [int(part) for part in str(block).split("x")]
    block = tuple(block + [1] * (3 - len(block)))
    names |= {"block": block[0] * block[1] * block[2], "block_x": block[0], "block_y": block[1], "block_z": block[2]}
    grid = [int(value) for value in evaluate_list(table.get("grid", 1), names)]
    types = parameter_types(signature)
    described = table.get("args", {})
    if len(types) != len(described):
        raise Unsupported(f"{len(described)} of {len(types)} arguments are described")
    arguments = [_argument(key, type_, value, names) for type_, (key, value) in zip(types, described.items())]
    return Launch(name, str(source), kernel, table.get("kernel", "").split("<")[0], list(table.get("options", [])),
                  chosen, block, tuple(grid + [1] * (3 - len(grid))),
                  int(evaluate(table.get("dynamic_shared_bytes", 0), names)), arguments)

"""The data of a launch: arrays on the host, made from a description and a seed.

Values are random as the description asks, and the same for every peer. Data files, and element types that NumPy has
no equal of, are refused.
"""

import re
from dataclasses import replace

import numpy as np

from launches import Unsupported

_SCALARS = {
    "bool": np.bool_,
    "char": np.int8,
    "signed char": np.int8,
    "unsigned char": np.uint8,
    "short": np.int16,
    "unsigned short": np.uint16,
    "int": np.int32,
    "unsigned int": np.uint32,
    "unsigned": np.uint32,
    "long": np.int64,
    "unsigned long": np.uint64,
    "long long": np.int64,
    "unsigned long long": np.uint64,
    "float": np.float32,
    "double": np.float64,
}
_BFLOAT16 = "__nv_bfloat16"  # stored as the upper half of a float


def element_of(type_):
    """The scalar type and how many of them an element has: 'const float4*' gives (numpy.float32, 4)."""
    name = re.sub(r"\bconst\b|\bvolatile\b|\b__restrict__\b|\*", "", type_)
    name = re.sub(r"\s+", " ", name).strip()
    if name == _BFLOAT16:
        return np.uint16, 1
    vector = re.fullmatch(r"(char|uchar|short|ushort|int|uint|float|double)([234])", name)
    if vector:
        base = vector.group(1)
        base = "unsigned " + base[1:] if base.startswith("u") else base
        return _SCALARS[base], int(vector.group(2))
    if name not in _SCALARS:
        raise Unsupported(f"{type_} has no equal in NumPy")
    return _SCALARS[name], 1


def _numbers(init, count, scalar, random):
    kind, _, inside = init.partition("(")
    limits = [float(part) for part in inside.rstrip(")").split(",")] if inside else []
    floating = np.issubdtype(scalar, np.floating)
    if kind == "zeros":
        return np.zeros(count, scalar)
    if kind == "ones":
        return np.ones(count, scalar)
    if kind == "iota":
        return np.arange(count).astype(scalar)
    if kind == "mod":
        return (np.arange(count) % int(limits[0])).astype(scalar)
    if kind == "permutation":
        return random.permutation(int(limits[0]))[:count].astype(scalar)
    if kind == "uniform" and floating:
        return random.random(count, dtype=scalar) * scalar(limits[1] - limits[0]) + scalar(limits[0])
    if kind == "uniform":
        return random.integers(int(limits[0]), int(limits[1]), count, dtype=np.int64).astype(scalar)
    if kind == "sorted":
        return np.sort(random.integers(int(limits[0]), int(limits[1]), count, dtype=np.int64)).astype(scalar)
    if kind == "normal":
        return random.normal(limits[0], limits[1], count).astype(scalar)
    raise Unsupported(f"buffers are not filled with {init} here")


def _made(argument, random):
    scalar, width = element_of(argument.type)
    if not argument.is_buffer:
        if argument.type.endswith("*"):  # a null pointer
            return np.uint64(0)
        return scalar(argument.value)
    if _BFLOAT16 in argument.type:
        values = _numbers(argument.init, argument.count, np.float32, random)
        return (values.view(np.uint32) >> 16).astype(np.uint16)
    return _numbers(argument.init, argument.count * width, scalar, random)


def check_arrays(launch):
    """Raises Unsupported for data that cannot be made here, without making them."""
    random = np.random.default_rng(1)
    for argument in launch.arguments:
        _made(replace(argument, count=1) if argument.is_buffer else argument, random)


def make_arrays(launch, seed=1):
    """One NumPy array or scalar for each parameter, in their order."""
    random = np.random.default_rng(seed)
    return [_made(argument, random) for argument in launch.arguments]

"""Reads machine code files: which kernels a cubin holds, their registers, and whether two hold the same code.

A cubin is a 64-bit ELF file with a section .text.NAME for each kernel; .nv.info holds the number of registers of each
function. The compiler's notes and its command line differ between equal codes, so they are left out.
"""

import hashlib
import struct
from dataclasses import dataclass


_REGISTER_COUNT = 0x2F  # attribute of .nv.info: a symbol's index, and its registers


@dataclass
class Section:
    name: str
    link: int
    size: int
    data: bytes


def sections(cubin):
    """All sections. A file that is none of 64-bit ELF raises ValueError."""
    if cubin[:5] != b"\x7fELF\x02":
        raise ValueError("this is no 64-bit ELF file")
    offset, = struct.unpack_from("<Q", cubin, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", cubin, offset + index * entry_size) for index in range(count)]
    names_at, names_size = headers[names_index][4], headers[names_index][5]
    names = cubin[names_at:names_at + names_size]
    found = []
    for name_at, kind, _, _, at, size, link, _, _, _ in headers:
        data = b"" if kind == 8 else cubin[at:at + size]  # 8: takes no bytes in the file
        found.append(Section(_text_at(names, name_at), link, size, data))
    return found


def _text_at(strings, at):
    return strings[at:strings.index(b"\0", at)].decode()


def _symbol_names(all_sections):
    table = next(section for section in all_sections if section.name == ".symtab")
    strings = all_sections[table.link].data
    return [_text_at(strings, struct.unpack_from("<I", table.data, at)[0]) for at in range(0, len(table.data), 24)]


def kernels(cubin):
    return [section.name[len(".text."):] for section in sections(cubin) if section.name.startswith(".text.")]


def registers(cubin, kernel):
    """Registers per thread, as the file declares them."""
    all_sections = sections(cubin)
    names = _symbol_names(all_sections)
    info = next(section.data for section in all_sections if section.name == ".nv.info")
    at = 0
    while at < len(info):
        form, attribute, value = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == 4:  # the value is the size of what follows
            if attribute == _REGISTER_COUNT:
                symbol, count = struct.unpack_from("<II", info, at)
                if names[symbol] == kernel:
                    return count
            at += value
    raise ValueError(f"the file holds no kernel {kernel}")


def code_key(cubin, kernel):
    """Equal for two files whose kernels are the same instructions with the same constants, memory and registers."""
    digest = hashlib.sha256(b"registers%d" % registers(cubin, kernel))
    suffix = "." + kernel
    for section in sorted(sections(cubin), key=lambda one: one.name):
        whole = section.name.startswith((".nv.constant", ".nv.global"))
        if section.name == ".text" + suffix:
            digest.update(b"text" + section.data)
        elif section.name == ".nv.shared" + suffix:
            digest.update(b"shared%d" % section.size)
        elif whole:
            digest.update(section.name.encode() + section.data)
    return digest.hexdigest()[:16]

"""Find out how many bits of an 8-bit weight a processor can multiply without losing sums.

x86 processors before VNNI add two products of 8 bits each in 16 bits, which overflow to the largest
number: answers are then far off, whatever the ranges are. With weights of 7 bits all sums fit; see
ONNX Runtime's "Quantize ONNX models", on reduce_range.
"""

import platform
from functools import cache
from pathlib import Path
from typing import Final

_CPUINFO: Final = Path("/proc/cpuinfo")
_WIDE_SUMS: Final = frozenset({"avx512_vnni", "avx_vnni", "avx_vnni_int8", "amx_int8"})
_X86: Final = ("x86_64", "amd64", "i686")


@cache
def weight_bits() -> int:
    """Return 8 for processors that add products of 8 bits in 32, else 7; 7 where nobody knows."""
    if platform.machine().lower() not in _X86:
        return 8
    try:
        text = _CPUINFO.read_text(encoding="utf-8")
    except OSError:
        return 7
    return bits_of(text)


def bits_of(cpuinfo: str) -> int:
    """Return the same by what Linux says of an x86 machine's processors, if all of them can.

    Args:
        cpuinfo: text of /proc/cpuinfo.

    Example:
        >>> bits_of("flags : fpu avx2"), bits_of("flags : fpu avx2 avx_vnni")
        (7, 8)
    """
    flags = [
        set(line.partition(":")[2].split())
        for line in cpuinfo.splitlines()
        if line.startswith("flags")
    ]
    return 8 if flags and all(one & _WIDE_SUMS for one in flags) else 7

"""Checks of files of `key=value` lines: the configurations of Vitis HLS and of v++'s linker, and xrt.ini.

Each function takes the design on its board and the file's text, and returns what is wrong, a line each.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from speckv.board import Banks, may_share
from speckv.errors import ToolError
from speckv.vendor import documented
from speckv.vendor.files import Vendor
from speckv.vendor.settings import Setting, read, values


def hls_config(vendor: Vendor, kernel: str, folder: Path, text: str) -> list[str]:
    """hls_config_KERNEL.cfg: part, clock and top are the design's, and the source is there."""
    settings, problems = read(text, documented.HLS_KEYS)
    expected = {
        ("", "part"): vendor.board.part,
        ("hls", "clock"): f"{vendor.design.clock_mhz:g}MHz",
        ("hls", "syn.top"): kernel,
        ("hls", "flow_target"): "vivado" if vendor.is_zynq else "vitis",
        ("hls", "package.output.format"): "ip_catalog" if vendor.is_zynq else "xo",
    }
    for (section, key), value in expected.items():
        found = [one.value for one in values(settings, section, key)]
        if found != [value]:
            problems.append(f"{key} is {', '.join(found) or 'missing'}, expected {value}")
    for one in values(settings, "hls", "syn.file"):
        if not (folder / one.value).is_file():
            problems.append(f"line {one.line}: there is no file {one.value}")
    if not values(settings, "hls", "syn.file"):
        problems.append("syn.file is missing, expected the kernel's source")
    return problems


def xrt_ini(text: str) -> list[str]:
    """xrt.ini: only what XRT documents."""
    return read(text, documented.XRT_KEYS)[1]


def link(vendor: Vendor, text: str) -> list[str]:
    """link.cfg: every kernel once, every stream and memory port connected once and rightly, banks that exist."""
    settings, problems = read(text, documented.LINK_KEYS)
    clocks = [one.value for one in values(settings, "clock", "defaultFreqHz")]
    hertz = f"{vendor.design.clock_mhz * 1e6:.0f}"
    if clocks != [hertz]:
        problems.append(f"defaultFreqHz is {', '.join(clocks) or 'missing'}, expected {hertz}")
    instances: dict[str, str] = {}
    for one in values(settings, "connectivity", "nk"):
        kernel, _, rest = one.value.partition(":")
        if kernel not in vendor.interfaces or rest != f"1:{kernel}_1":
            problems.append(f"line {one.line}: nk={one.value}, expected KERNEL:1:KERNEL_1 of a kernel of the design")
        instances[f"{kernel}_1"] = kernel
    problems += [f"kernel {kernel} has no nk" for kernel in vendor.interfaces if kernel not in instances.values()]
    ends = {
        f"{instance}.{port}": what
        for instance, kernel in instances.items()
        if kernel in vendor.interfaces
        for port, what in vendor.interfaces[kernel].ports.items()
    }
    problems += [*_streams(settings, ends), *_memories(vendor, settings, ends), *_regions(vendor, settings, instances)]
    return problems


def _streams(settings: list[Setting], ends: dict[str, str]) -> Iterator[str]:
    connected = []
    for one in values(settings, "connectivity", "sc"):
        source, _, sink = one.value.partition(":")
        for end, what in ((source, "stream out"), (sink, "stream in")):
            connected.append(end)
            if ends.get(end) != what:
                yield f"line {one.line}: {end} is {ends.get(end, 'no port')}, expected a {what}"
    yield from _each_once(connected, [end for end, what in ends.items() if what.startswith("stream")], "sc")


def _memories(vendor: Vendor, settings: list[Setting], ends: dict[str, str]) -> Iterator[str]:
    memories = {port.port.replace(".", "_1.m_axi_"): port.memory for port in vendor.wiring.memory_ports}
    connected, found = [], dict[str, Banks]()
    for one in values(settings, "connectivity", "sp"):
        end, _, bank = one.value.partition(":")
        connected.append(end)
        if ends.get(end) != "memory":
            yield f"line {one.line}: {end} is {ends.get(end, 'no port')}, expected a memory port"
            continue
        try:
            banks = vendor.board.banks(bank)
        except ToolError as error:
            yield f"line {one.line}: {error}"
            continue
        memory = memories[end]
        if found.setdefault(memory, banks) != banks:
            yield f"line {one.line}: the {memory} memory has other banks above"
        for other, its in found.items():
            if banks.overlaps(its) and not may_share(memory, other):
                yield f"line {one.line}: the {memory} memory shares banks with the {other} memory"
    yield from _each_once(connected, [end for end, what in ends.items() if what == "memory"], "sp")


def _regions(vendor: Vendor, settings: list[Setting], instances: dict[str, str]) -> Iterator[str]:
    placed = []
    for one in values(settings, "connectivity", "slr"):
        instance, _, region = one.value.partition(":")
        placed.append(instance)
        if region not in {f"SLR{number}" for number in range(vendor.board.slrs)}:
            yield f"line {one.line}: board {vendor.board.name} has no {region}"
    if vendor.board.slrs > 1:
        yield from _each_once(placed, list(instances), "slr")


def _each_once(found: list[str], expected: list[str], key: str) -> Iterator[str]:
    for end in dict.fromkeys([*expected, *found]):
        if end not in expected:
            yield f"{key} of {end}, which does not exist"
        elif found.count(end) != 1:
            yield f"{end} has {found.count(end)} {key}, expected one"

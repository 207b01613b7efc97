"""Checks of scripts: Tcl for Vivado, and the Makefile.

Each function takes the design on its board and the file's text, and returns what is wrong, a line each.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from speckv.vendor import documented, tcl
from speckv.vendor.files import Vendor
from speckv.vendor.interface import CONTROL_PORT

VERBS = {True: ("all", "bitstream", "host", "run", "test", "clean"),
         False: ("all", "xclbin", "emconfig", "host", "run", "test", "clean")}  # fmt: skip
"""What people expect to make, by whether it is for a Zynq board."""
_GETTERS = ("get_bd_intf_pins", "get_bd_pins", "get_bd_addr_segs")


def _parsed(text: str) -> tuple[list[tcl.Command], list[str]]:
    try:
        commands = tcl.read(text)
    except tcl.TclError as error:
        return [], [str(error)]
    return list(tcl.every(commands)), tcl.problems(commands, documented.TCL_COMMANDS)


def _part(vendor: Vendor, commands: list[tcl.Command]) -> Iterator[str]:
    parts = [command.option("-part") for command in commands if command.name == "create_project"]
    if parts != [vendor.board.part]:
        yield f"the project's part is {', '.join(parts) or 'missing'}, expected {vendor.board.part}"


def package(vendor: Vendor, kernel: str, text: str) -> list[str]:
    """package_KERNEL.tcl: the part, the kernel's ports and its registers, each where it is."""
    commands, problems = _parsed(text)
    interface = vendor.interfaces[kernel]
    problems += _part(vendor, commands)
    tops = [c.words[2] for c in commands if c.name == "set_property" and c.words[1] == "top"]
    if tops != [f"{kernel}_ip"]:
        problems.append(f"top is {', '.join(tops) or 'missing'}, expected {kernel}_ip")
    clocked = [port for command in commands if (port := command.option("-busif"))]
    problems += [f"line {c.line}: the kernel has no port {c.option('-busif')}" for c in commands
                 if c.option("-busif") not in {"", *interface.ports}]  # fmt: skip
    problems += [f"port {port} has no clock" for port in interface.ports if port not in clocked]
    registers = {r.name: r for r in interface.registers}
    ports = {argument.offset: f"m_axi_{argument.bundle}" for argument in interface.arguments if argument.bundle}
    added = [command for command in commands if command.name == "add_register"]
    for command in added:
        name = command.words[2]
        its = registers.pop(name, None)
        if its is None:
            problems.append(f"line {command.line}: the kernel has no register {name}, or has it once")
            continue
        expected = f"{its.offset:#x} {max(its.bits, 32)} {ports.get(its.offset, '')}".rstrip()
        if " ".join(command.words[3:]) != expected:
            problems.append(f"line {command.line}: {name} is {' '.join(command.words[3:])}, expected {expected}")
    problems += [f"register {name} is missing" for name in registers]
    objects = [command for command in commands if command.name == "package_xo"]
    wanted = [] if vendor.is_zynq else [(kernel, f"kernel_{kernel}.xml")]
    if [(c.option("-kernel_name"), c.option("-kernel_xml")) for c in objects] != wanted:
        problems.append("package_xo does not package the kernel with its kernel.xml once")
    return problems


def wrapper(vendor: Vendor, kernel: str, text: str) -> list[str]:
    """KERNEL_ip.v: a module with every port of the kernel's RTL, and the kernel inside it, joined by name."""
    expected = {port.name: (f"{port.direction}put", port.width) for port in vendor.interfaces[kernel].signals}
    ports = re.findall(r"^  (input|output) +wire (?:\[(\d+):0\] )?(\w+),?$", text, re.MULTILINE)
    found = {name: (direction, int(high or 0) + 1) for direction, high, name in ports}
    problems = [f"port {name} is {found.get(name, 'missing')}, expected {expected.get(name, 'none of this name')}"
                for name in {**expected, **found} if found.get(name) != expected.get(name)]  # fmt: skip
    joined = dict(re.findall(r"^    \.(\w+)\((\w+)\),?$", text, re.MULTILINE))
    problems += [f"port {name} is joined to {joined.get(name, 'nothing')}" for name in {**expected, **joined}
                 if joined.get(name) != name]  # fmt: skip
    if f"module {kernel}_ip (" not in text or f"  {kernel} kernel (" not in text:
        problems.append(f"it is no module {kernel}_ip with one {kernel} inside")
    return problems


def block_design(vendor: Vendor, text: str) -> list[str]:
    """block_design.tcl: every port connected once and rightly, ports and addresses that the board has."""
    commands, problems = _parsed(text)
    problems += _part(vendor, commands)
    cells = {command.words[-1]: command.option("-vlnv") for command in commands if command.name == "create_bd_cell"}
    for kernel in vendor.interfaces:
        if cells.get(f"{kernel}_1") != vendor.vlnv(kernel):
            problems.append(f"there is no cell {kernel}_1 of {vendor.vlnv(kernel)}")
    for command in commands:
        if command.name in _GETTERS and command.words[1].split("/")[0] not in cells:
            problems.append(f"line {command.line}: there is no cell {command.words[1].split('/')[0]}")
    return [*problems, *_buses(vendor, commands), *_settings(vendor, commands), *_addresses(vendor, commands)]


def _buses(vendor: Vendor, commands: list[tcl.Command]) -> Iterator[str]:
    ends = {f"{kernel}_1/{port}": what for kernel, its in vendor.interfaces.items() for port, what in its.ports.items()}
    joined = {("stream out", "stream in"), ("memory", ""), ("", "control"), ("", "")}
    connected: list[str] = []
    for command in commands:
        if command.name != "connect_bd_intf_net":
            continue
        pins = [getter.words[1] for getter in command.inner if getter.name == "get_bd_intf_pins"]
        connected += pins
        what = tuple(ends.get(pin, "") for pin in pins)
        yield from (f"line {command.line}: {pin} is no port of a kernel" for pin in pins
                    if pin.split("/")[0].removesuffix("_1") in vendor.interfaces and pin not in ends)  # fmt: skip
        if what not in joined:
            yield f"line {command.line}: {' and '.join(pins)} do not fit together"
    for pin in dict.fromkeys([*ends, *connected]):
        if connected.count(pin) != 1:
            yield f"{pin} is connected {connected.count(pin)} times, expected once"


def _settings(vendor: Vendor, commands: list[tcl.Command]) -> Iterator[str]:
    """Every port HP that is connected is switched on, with a width that it has."""
    system = vendor.processing_system
    words = [word for command in commands if command.name == "list" for word in command.words[1:]]
    settings = dict(zip(words[::2], words[1::2], strict=False))
    connected = {
        int(found[1])
        for command in commands
        if command.name == "get_bd_intf_pins" and (found := re.match(r"ps/S_AXI_HP(\d)", command.words[1]))
    }
    for port in sorted(connected | set(vendor.memory_masters)):
        if system.cell == "processing_system7":
            use, width = f"CONFIG.PCW_USE_S_AXI_HP{port}", f"CONFIG.PCW_S_AXI_HP{port}_DATA_WIDTH"
        else:
            use, width = f"CONFIG.PSU__USE__S_AXI_GP{port + 2}", f"CONFIG.PSU__SAXIGP{port + 2}__DATA_WIDTH"
        if port not in connected or port not in vendor.memory_masters:
            yield f"port HP[{port}] is connected, or a memory of the design, but not both"
        if settings.get(use) != "1":
            yield f"{use} is {settings.get(use, 'missing')}, expected 1"
        if settings.get(width) not in ("32", "64", str(system.port_bits)):
            yield f"{width} is {settings.get(width, 'missing')}, expected 32, 64 or {system.port_bits}"


def _addresses(vendor: Vendor, commands: list[tcl.Command]) -> Iterator[str]:
    """Registers of kernels lie apart, in what the processors reach them by."""
    system = vendor.processing_system
    taken: list[tuple[int, int, str]] = []
    for command in commands:
        if command.name != "assign_bd_address" or not command.option("-offset"):
            continue
        base, size = int(command.option("-offset"), 0), int(command.option("-range"), 0)
        owner = next((c.words[1].split("/")[0] for c in command.inner if c.name == "get_bd_addr_segs"), "")
        if not system.control_base <= base <= base + size <= system.control_base + system.control_bytes:
            yield f"line {command.line}: {owner} at {base:#x} is outside of what the processors' port reaches"
        if base % size or size < 0x1000:
            yield f"line {command.line}: {owner} at {base:#x} with {size:#x} bytes is not aligned, or too small"
        for first, end, other in taken:
            if base < end and first < base + size:
                yield f"line {command.line}: the registers of {owner} overlap those of {other}"
        taken.append((base, base + size, owner))
    owners = [owner for _, _, owner in taken]
    for kernel, interface in vendor.interfaces.items():
        if owners.count(f"{kernel}_1") != (CONTROL_PORT in interface.ports):
            yield f"{kernel}_1 has {owners.count(f'{kernel}_1')} ranges of addresses, expected one if it has registers"


def makefile(vendor: Vendor, folder: Path, text: str) -> list[str]:
    """Makefile: the usual verbs, and nothing needed that is neither there nor made."""
    rules = re.findall(r"^([^\s#:=?][^:=?]*):(?!=)([^=\n;]*)", text, re.MULTILINE)
    targets = {target for names, _ in rules for target in names.split()}
    made = {target.rpartition("/")[0] for target in targets} - {""}
    problems = [f"there is no target {verb}" for verb in VERBS[vendor.is_zynq] if verb not in targets]
    for names, needs in rules:
        if names.startswith("."):
            continue
        for need in re.sub(r"\$\(if .*\)\)?", "", needs).split(" "):
            pattern = re.fullmatch(r"\$\(wildcard", need)
            # files beside those that a rule makes are made with them
            is_file = "*" in need and (list(folder.glob(need.rstrip(")"))) or need.rpartition("/")[0] in made)
            if need and not pattern and need not in targets and not is_file and not (folder / need).is_file():
                if need in ("$(BITSTREAM)", "$(FLOW)/emconfig.json"):
                    continue
                problems.append(f"{names.split()[0]} needs {need}, which is not there and nothing makes")
    for flow in vendor.flows:
        if f"ifeq ($(FLOW),{flow})" not in text:
            problems.append(f"there are no rules for flow {flow}")
    return problems

"""The check of kernel.xml, by which v++ and XRT know an RTL kernel: its form, and that it describes the kernel."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from xml.etree import ElementTree

from speckv.vendor.interface import CONTROL_PORT, Argument, Interface

_HEX, _NUMBER, _NAME = r"0x[0-9A-Fa-f]{1,16}", r"[0-9]+", r"[A-Za-z_]\w*"
_PORT = {"name": _NAME, "mode": "master|slave|read_only|write_only", "dataWidth": _NUMBER,
         "portType": "addressable|stream"}  # fmt: skip
_SCHEMA: dict[str, tuple[dict[str, str], dict[str, str], tuple[str, ...]]] = {
    # element: attributes that must be there, those that may be there, elements inside
    "root": ({"versionMajor": _NUMBER, "versionMinor": _NUMBER}, {}, ("kernel",)),
    "kernel": (
        {"name": _NAME, "language": "ip|ip_c", "vlnv": r"[\w.-]+(:[\w.-]+){3}", "attributes": ".*",
         "preferredWorkGroupSizeMultiple": _NUMBER, "workGroupSize": _NUMBER,
         "hwControlProtocol": "ap_ctrl_hs|ap_ctrl_chain|ap_ctrl_none|user_managed"},
        {"interrupt": "true|false"},
        ("ports", "args"),
    ),
    "ports": ({}, {}, ("port",)),
    "port": (_PORT, {"range": _HEX, "base": _HEX}, ()),
    "args": ({}, {}, ("arg",)),
    "arg": (
        {"name": _NAME, "addressQualifier": "[0-4]", "id": _NUMBER, "port": _NAME, "size": _HEX, "offset": _HEX,
         "type": r"[\w*<>, ]+", "hostOffset": _HEX, "hostSize": _HEX},
        {},
        (),
    ),
}  # fmt: skip
"""UG1702, RTL Kernel XML File."""
_MODES = {"control": "slave", "memory": "master", "stream in": "read_only", "stream out": "write_only"}
_SCALAR, _ADDRESS, _STREAM = "0", "1", "4"


def kernel_xml(interface: Interface, vlnv: str, text: str) -> list[str]:
    """What is wrong with the kernel.xml of a kernel, a line each."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        return [f"this is no XML: {error}"]
    form = list(_form(root, "root"))
    if form:
        return form
    return [*_kernel(root[0], interface, vlnv), *_ports(root[0], interface), *_arguments(root[0], interface)]


def _form(element: ElementTree.Element, expected: str) -> Iterator[str]:
    if element.tag != expected:
        yield f"element {element.tag}, expected {expected}"
        return
    required, optional, inside = _SCHEMA[expected]
    what = f"{element.tag} {element.get('name', '')}".strip()
    for name in required:
        if name not in element.attrib:
            yield f"{what} has no attribute {name}"
    for name, value in element.attrib.items():
        rule = required.get(name) or optional.get(name)
        if rule is None:
            yield f"{what} has the attribute {name}, which is not documented"
        elif not re.fullmatch(rule, value):
            yield f"{name} of {what} is {value!r}, expected {rule}"
    repeated = inside in (("port",), ("arg",))
    wanted = inside * len(element) if repeated else inside
    if len(element) != len(wanted):
        yield f"{what} holds {len(element)} elements, expected {', '.join(wanted) or 'none'}"
        return
    for child, name in zip(element, wanted, strict=True):
        yield from _form(child, name)


def _kernel(kernel: ElementTree.Element, interface: Interface, vlnv: str) -> Iterator[str]:
    expected = {"name": interface.kernel, "vlnv": vlnv, "hwControlProtocol": interface.protocol}
    yield from _different("kernel", kernel.attrib, expected)


def _ports(kernel: ElementTree.Element, interface: Interface) -> Iterator[str]:
    found = {port.get("name", ""): port.attrib for port in kernel.iter("port")}
    widths = {stream.name: stream.bits for stream in interface.streams} | {CONTROL_PORT: 32}
    widths |= {f"m_axi_{bundle}": bits for bundle, bits in interface.bundles.items()}
    for name in dict.fromkeys([*interface.ports, *found]):
        if name not in found:
            yield f"port {name} is missing"
        elif name not in interface.ports:
            yield f"port {name} is none of the kernel"
        else:
            expected = {"mode": _MODES[interface.ports[name]], "dataWidth": str(widths[name])}
            yield from _different(f"port {name}", found[name], expected)
    reach = int(found.get(CONTROL_PORT, {}).get("range", "0x0"), 16)
    last = max((register.end for register in interface.registers), default=0)
    if last > reach:
        yield f"the range of {CONTROL_PORT} is {reach:#x}, but registers end at {last:#x}"


def _arguments(kernel: ElementTree.Element, interface: Interface) -> Iterator[str]:
    found = list(kernel.iter("arg"))
    expected = {argument.name: _argument(argument) for argument in interface.arguments}
    expected |= {s.name: {"port": s.name, "addressQualifier": _STREAM, "offset": "0x0"} for s in interface.streams}
    if [arg.get("name") for arg in found] != list(expected):
        yield f"arguments are {', '.join(a.get('name', '') for a in found)}; expected {', '.join(expected)}"
    if [arg.get("id") for arg in found] != [str(number) for number in range(len(found))]:
        yield "the ids of arguments do not count up from 0"
    taken: list[tuple[int, int, str]] = []
    for arg in found:
        name = arg.get("name", "")
        yield from _different(f"argument {name}", arg.attrib, expected.get(name, {}))
        if arg.get("addressQualifier") != _STREAM:
            offset, size = int(arg.get("offset", "0x0"), 16), int(arg.get("size", "0x0"), 16)
            for first, end, other in taken:
                if offset < end and first < offset + size:
                    yield f"the registers of argument {name} overlap those of {other}"
            taken.append((offset, offset + size, name))


def _argument(argument: Argument) -> dict[str, str]:
    return {
        "port": f"m_axi_{argument.bundle}" if argument.bundle else CONTROL_PORT,
        "addressQualifier": _ADDRESS if argument.bundle else _SCALAR,
        "offset": f"{argument.offset:#x}",
        "size": f"{argument.bits // 8:#x}",
    }


def _different(what: str, found: Mapping[str, str], expected: Mapping[str, str]) -> Iterator[str]:
    for name, value in expected.items():
        if found.get(name) != value:
            yield f"{name} of {what} is {found.get(name)!r}, expected {value!r}"

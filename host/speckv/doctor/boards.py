"""What `speckv doctor` looks for besides: vendor tools, XRT, PYNQ, cards, and what a host for cards needs.

None of it is needed without a board, so that what is absent is said calmly.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from speckv.errors import ToolError

ROOT = Path("/")
"""Where device nodes and the kernel's files are; tests put another tree there."""

_VERSION_SECONDS = 30
_XILINX = "0x10ee"
_NODES = ("dev/dri/renderD*", "dev/xclmgmt*", "dev/xfpga/*", "dev/mem", "dev/uio*")
_VENDOR = ("v++", "vitis-run", "vivado", "xrt-smi", "xbutil")


def _vendor_tools() -> str:
    found = {tool: path for tool in _VENDOR if (path := shutil.which(tool))}
    if not found:
        raise ToolError(
            f"none of {', '.join(_VENDOR)} is on PATH: install Vitis and source its settings64.sh to build bitstreams; "
            "simulation needs none of them"
        )
    return ", ".join(f"{tool} {_version(path)}" for tool, path in found.items())


def _version(path: str) -> str:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=_VERSION_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return "(does not tell its version)"
    match = re.search(r"\d+\.\d+(\.\d+)?", done.stdout + done.stderr)
    return match[0] if match else "(does not tell its version)"


def _xrt() -> str:
    from speckv.hardware import xrt

    library = xrt.load_library()
    folder = Path(os.environ.get("XILINX_XRT", ROOT / "opt/xilinx/xrt"))
    about = folder / "version.json"
    match = re.search(r'"VERSION"\s*:\s*"([^"]+)"', about.read_text(errors="replace")) if about.is_file() else None
    return f"XRT {match[1] if match else 'of unknown version'}, {library._name}"


def _pynq() -> str:
    try:
        version = metadata.version("pynq")
    except metadata.PackageNotFoundError:
        raise ToolError(
            "PYNQ is not installed: it belongs to the image of a Zynq board; elsewhere nothing needs it"
        ) from None
    return f"PYNQ {version}, numpy {metadata.version('numpy')}"


def _cards() -> str:
    found = []
    for device in sorted(ROOT.glob("sys/bus/pci/devices/*")):
        if _read(device / "vendor") == _XILINX:
            node = _read(device / "numa_node") or "unknown"
            found.append(f"{device.name} (device {_read(device / 'device')}, NUMA node {node})")
    state = _read(ROOT / "sys/class/fpga_manager/fpga0/state")
    if state:
        found.append(f"programmable logic of a Zynq ({state})")
    if not found:
        raise ToolError(
            "no card of AMD is on the PCIe bus, and no FPGA manager is there: nothing to run a bitstream on; "
            "`lspci -d 10ee:` shows cards of this machine"
        )
    return ", ".join(found)


def _permissions() -> str:
    nodes = [node for pattern in _NODES for node in sorted(ROOT.glob(pattern))]
    if not nodes:
        raise ToolError("there is no device node of a card or of an FPGA: with a card, XRT's driver makes them")
    refused = [str(node) for node in nodes if not os.access(node, os.R_OK | os.W_OK)]
    if refused:
        raise ToolError(
            f"this user may not use {', '.join(refused)}: join the group that owns them (`ls -l`), or run as root on a "
            "Zynq board"
        )
    return ", ".join(map(str, nodes))


def _hugepages() -> str:
    memory = _read(ROOT / "proc/meminfo")
    found = {name: int(value) for name, value in re.findall(r"^(HugePages_Total|Hugepagesize):\s+(\d+)", memory, re.M)}
    if not found.get("HugePages_Total"):
        raise ToolError(
            "none are reserved: all works without; large buffers of the host copy faster with some "
            "(`sysctl vm.nr_hugepages=512`)"
        )
    return f"{found['HugePages_Total']} of {found.get('Hugepagesize', 0)} kB"


def _numa() -> str:
    nodes = sorted(ROOT.glob("sys/devices/system/node/node[0-9]*"))
    if not nodes:
        raise ToolError("the kernel names no NUMA nodes: one memory for all, nothing to bind")
    if len(nodes) == 1:
        return "1 node: nothing to bind"
    return f"{len(nodes)} nodes: run on that of the card (`numactl --cpunodebind=N --membind=N`)"


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


LOOKS: tuple[tuple[str, str, Callable[[], str]], ...] = (
    ("vendor tools", "building bitstreams", _vendor_tools),
    ("XRT", "backend xrt: Alveo cards", _xrt),
    ("PYNQ", "backend pynq: Zynq boards", _pynq),
    ("cards", "backends xrt and pynq", _cards),
    ("device nodes", "backends xrt and pynq", _permissions),
    ("huge pages", "speed of copies to and from cards", _hugepages),
    ("NUMA", "speed of copies to and from cards", _numa),
)
"""Name, what it is needed for, and a function that says what is there or raises ToolError with the remedy."""

"""The steps from rendered files to a bitstream: commands of AMD's tools, as data. All paths are relative to the folder
that the files are rendered to, which every command runs in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from speckv import sources
from speckv.checks import suggestion
from speckv.errors import ToolError

if TYPE_CHECKING:
    from speckv.board import Board
    from speckv.design import Design

HLS, RTL, ZYNQ = "vitis-hls", "rtl", "zynq"
FLOWS = {"alveo": (HLS, RTL), "versal": (HLS, RTL), "zynq": (ZYNQ, HLS)}
"""Flows of a kind of board, the usual one first. Kernels are made by Vitis HLS; or by hlsc, and then a bitstream holds
the RTL that was simulated.
"""
NO_PLATFORM = "PLATFORM"
"""Stands in commands where nobody has named a platform."""
PROFILE = ("--profile.data", "all:all:all")
"""Options that make the linker add monitors to all memory ports and streams: they cost area, and XRT reports counts."""
HDL = "hdl"
"""Where the steps put hlsc's RTL."""
HEADERS = ("*.hpp", "*.h", "speckv/*.hpp")
"""What kernels include."""
TARGETS = ("hw", "hw_emu")
INSTALL = {
    "v++": "install Vitis 2024.1 or newer and source its settings64.sh",
    "vivado": "install Vivado or Vitis 2024.1 or newer and source its settings64.sh",
    "emconfigutil": "install Vitis 2024.1 or newer and source its settings64.sh",
    "speckv": "pip install 'speckv[synth]'",
}
"""How to get each tool."""


@dataclass(frozen=True)
class Step:
    """One command. `inputs` are files or patterns of them, `outputs` files, `reports` patterns of what to keep.

    `version` stands for what it depends on that is no file of the folder.
    """

    name: str
    command: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    reports: tuple[str, ...] = ()
    version: str = ""

    @property
    def tool(self) -> str:
        """The program that it runs."""
        return self.command[0]


def usual_flow(design: Design) -> str:
    """The flow that most people want for the design's board. Raises ToolError if it is for none."""
    return FLOWS[_board(design).kind][0]


def of_flow(
    design: Design, flow: str, *, target: str = "hw", platform: str | None = None, profile: tuple[str, ...] = ()
) -> list[Step]:
    """The steps of one of FLOWS, in order; NO_PLATFORM in a command needs a `platform`, which the board does not have.

    `profile` is () or PROFILE; boards without v++'s linker have no use for it.
    Raises ToolError if the board does not have the flow or the target.
    """
    board = _board(design)
    if flow not in FLOWS[board.kind]:
        raise ToolError(f"there is no flow {flow} for board {board.name}: use {' or '.join(FLOWS[board.kind])}")
    kernels = design.connectivity.kernels
    maker = _by_hls if flow == HLS else _by_hlsc
    made = {kernel: maker(kernel, flow, for_card=board.kind != "zynq") for kernel in kernels}
    steps = list(made.values())
    if flow != HLS:
        steps.insert(0, _rtl(design, kernels))
    objects = tuple(step.outputs[0] for step in made.values())
    if board.kind == "zynq":
        if target == "hw_emu":
            raise ToolError(f"board {board.name} has no hardware emulation: use --target hw, or simulate with cosim")
        return [*steps, _block_design(design, flow, objects)]
    return [*steps, *_link(design, flow, target, platform or board.platform or NO_PLATFORM, profile, objects)]


def until(planned: list[Step], name: str) -> list[Step]:
    """The steps up to the one of that name. Raises ToolError if there is none."""
    names = [step.name for step in planned]
    if name not in names:
        raise ToolError(f"there is no step {name}: {suggestion(name, names)}")
    return planned[: names.index(name) + 1]


def bitstream(design: Design, flow: str, target: str) -> str:
    """What a flow makes, in its folder."""
    return f"{flow}/{design.name}.bit" if _board(design).kind == "zynq" else f"{flow}/{design.name}.{target}.xclbin"


def _board(design: Design) -> Board:
    if design.board is None:
        raise ToolError(f"design {design.name} is for no board: give it a block `board`, as hls/designs/u55c.yaml has")
    return design.board.board


def _by_hls(kernel: str, flow: str, *, for_card: bool) -> Step:
    config, work = f"hls_config_{kernel}.cfg", f"{flow}/{kernel}"
    return Step(
        f"compile-{kernel}",
        ("v++", "-c", "--mode", "hls", "--config", config, "--work_dir", work),
        (config, f"{kernel}.cpp", *HEADERS),
        (f"{work}/{kernel}.xo" if for_card else f"{work}/{kernel}.zip",),
        (f"{work}/hls/syn/report/*.rpt",),
    )


def _by_hlsc(kernel: str, flow: str, *, for_card: bool) -> Step:
    """RTL as an IP, and for cards that as a kernel."""
    script, ip, kernel_object = f"package_{kernel}.tcl", f"{flow}/ip/{kernel}", f"{flow}/{kernel}.xo"
    command = (
        *("vivado", "-mode", "batch", "-nojournal", "-log", f"{flow}/package_{kernel}.log", "-source", script),
        *("-tclargs", HDL, ip, *([kernel_object] if for_card else [])),
    )
    rtl_files = (f"{HDL}/{kernel}.sv", f"{HDL}/hlsc_*.sv")
    inputs = (script, f"{kernel}_ip.v", *rtl_files, *([f"kernel_{kernel}.xml"] if for_card else []))
    return Step(f"package-{kernel}", command, inputs, (kernel_object if for_card else f"{ip}/component.xml",))


def _rtl(design: Design, kernels: tuple[str, ...]) -> Step:
    return Step(
        "rtl",
        ("speckv", "rtl", f"{design.name}.yaml", "-o", HDL),
        (f"{design.name}.yaml", *(f"{kernel}.cpp" for kernel in kernels), *HEADERS),
        tuple(f"{HDL}/{kernel}.sv" for kernel in kernels),
        (f"{HDL}/report.json",),
        sources.compiler_hash(),
    )


def _link(
    design: Design, flow: str, target: str, platform: str, profile: tuple[str, ...], objects: tuple[str, ...]
) -> list[Step]:
    xclbin = bitstream(design, flow, target)
    # the linker of Versal devices stops at a design for the packager
    versal = _board(design).kind == "versal"
    linked = f"{flow}/{design.name}.{target}.xsa" if versal else xclbin
    common = ("-t", target, "--platform", platform)
    work = f"{flow}/link.{target}"
    link = Step(
        "link",
        (
            *("v++", "-l", *common, "--config", "link.cfg", "--save-temps", "--temp_dir", work),
            *("--log_dir", f"{work}/logs", "--report_dir", f"{work}/reports", *profile, "-o", linked, *objects),
        ),
        ("link.cfg", *objects),
        (linked,),
        (f"{work}/reports/**/*.rpt", f"{work}/reports/**/*.xtxt", f"{linked}.info", f"{linked}.link_summary"),
    )
    card = Step("emconfig", ("emconfigutil", "--platform", platform, "--nd", "1", "--od", flow), (),
                (f"{flow}/emconfig.json",))  # fmt: skip
    package = Step("package", ("v++", "-p", *common, "-o", xclbin, linked), (linked,), (xclbin,))
    # a card is to be described for emulation only; the target may be make's variable
    return [*([card] if target != "hw" else []), link, *([package] if versal else [])]


def _block_design(design: Design, flow: str, components: tuple[str, ...]) -> Step:
    name = design.name
    return Step(
        "bitstream",
        (
            *("vivado", "-mode", "batch", "-nojournal", "-log", f"{flow}/bitstream.log", "-source", "block_design.tcl"),
            *("-tclargs", flow, f"{flow}/{name}"),
        ),
        ("block_design.tcl", *components),
        (f"{flow}/{name}.bit", f"{flow}/{name}.hwh"),
        (f"{flow}/{name}_*.rpt",),
    )

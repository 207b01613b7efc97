"""What is public of each board that the kit has a design for, from its data sheet and its platform's description.

Capacities are from the data sheets of Alveo cards (DS978, DS963, DS962) and of Zynq devices (DS987, DS891, DS190), and
from the product brief of the V80.
"""

from __future__ import annotations

from speckv.board import Board, Memory, ProcessingSystem

_MIB, _GIB = 1 << 20, 1 << 30
_HOST = Memory("HOST", 1, 0)  # the host's own, reached over PCIe; has to be enabled on the card


def _capacity(lut: int, ff: int, ramb36: int, uram: int, dsp: int) -> dict[str, int]:
    return {"lut": lut, "ff": ff, "ramb36": ramb36, "uram": uram, "dsp": dsp}


def _zynq(
    name: str, part: str, memory_bytes: int, capacity: dict[str, int], processing_system: ProcessingSystem
) -> Board:
    ports = Memory("HP", 4, memory_bytes)
    return Board(name, "zynq", part, "", 1, (ports,), capacity, processing_system)


def _ultrascale_plus(board_files: str) -> ProcessingSystem:
    return ProcessingSystem("zynq_ultra_ps_e", board_files, 128, 0xA000_0000, 256 * _MIB)


_ALL = (
    Board(
        "u55c", "alveo", "xcu55c-fsvh2892-2L-e", "xilinx_u55c_gen3x16_xdma_3_202210_1", 3,
        (Memory("HBM", 32, 512 * _MIB, adjacent=True), _HOST), _capacity(1_303_680, 2_607_360, 2_016, 960, 9_024),
    ),
    Board(
        "u280", "alveo", "xcu280-fsvh2892-2L-e", "xilinx_u280_gen3x16_xdma_1_202211_1", 3,
        (Memory("HBM", 32, 256 * _MIB, adjacent=True), Memory("DDR", 2, 16 * _GIB), _HOST),
        _capacity(1_303_680, 2_607_360, 2_016, 960, 9_024),
    ),
    Board(
        "u250", "alveo", "xcu250-figd2104-2L-e", "xilinx_u250_gen3x16_xdma_4_1_202210_1", 4,
        (Memory("DDR", 4, 16 * _GIB), _HOST), _capacity(1_728_000, 3_456_000, 2_688, 1_280, 12_288),
    ),
    # AMD offers no platform for v++ here; its open shells link kernels of the same kind with tools of their own
    Board(
        "v80", "versal", "xcv80-lsva4737-2MHP-e-S", "", 3,
        (Memory("HBM", 32, 1 * _GIB, adjacent=True), Memory("DDR", 1, 32 * _GIB)),
        _capacity(2_574_208, 5_148_416, 3_741, 1_925, 10_848),
    ),
    _zynq("kv260", "xck26-sfvc784-2LV-c", 4 * _GIB, _capacity(117_120, 234_240, 144, 64, 1_248),
          _ultrascale_plus("*kv260_som*")),
    _zynq("zcu104", "xczu7ev-ffvc1156-2-e", 2 * _GIB, _capacity(230_400, 460_800, 312, 96, 1_728),
          _ultrascale_plus("*zcu104*")),
    _zynq("pynq-z2", "xc7z020clg400-1", 512 * _MIB, _capacity(53_200, 106_400, 140, 0, 220),
          ProcessingSystem("processing_system7", "*pynq-z2*", 64, 0x4000_0000, 1 * _GIB)),
)  # fmt: skip

BOARDS = {board.name: board for board in _ALL}
"""By name."""

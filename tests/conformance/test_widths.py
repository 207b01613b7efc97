"""Narrow buses: what crosses them in words of 64, 128 or 256 bits is what crosses a bus of whole beats."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backend_tools import made_rtl, require
from dma_material import HALF, Twin, mixed, stored
from material import PAGES, Keep, Packet, assert_same, faults, keep_ok, payload_faults, request
from prefetch_material import both, commands, descriptors
from speckv import model
from speckv.design import Design
from speckv.device import COMPRESS, DECOMPRESS, Device, open_device
from speckv.dma import DmaStatus, Op, open_engine
from speckv.dma.cosim import CosimEngine, MemoryFault
from speckv.frame import Codec, Dtype, Kind, Status, field_offset
from speckv.prefetch.engine import PrefetchEngine, SoftwareTable, clear_all, open_table

STATUS = field_offset("status")
WIDTHS = (64, 128, 256)  # 512 is `tiny`
# RTL takes long to make and to translate: the kernels of the codec by themselves, and the system around kv_dma
PACKETS_IN_RTL, SYSTEM_IN_RTL = 128, (64,)
LIMITS: dict[str, Any] = {
    "max_tokens": 64,
    "max_channels": 64,
    "dtypes": ["bf16"],
    "codecs": ["raw", "quant8"],
    "prefetch": {"rows": 16, "ways": 4, "score_bits": 8, "page_bits": 8, "decay_shift": 2, "resident_pages": 64},
}
CODECS = (Codec.RAW, Codec.QUANT8)
SHAPES = ((64, 64), (1, 32), (17, 64), (5, 32))
STALLS = {"free": (0.0, 0.0), "idle": (0.7, 0.0), "stall": (0.0, 0.7), "both": (0.4, 0.4)}
BUILD_TIMEOUT_S = 1800
SIZES = {"near_bytes": 2 * HALF, "far_bytes": 2 * HALF}


def made(width: int) -> Design:
    changes = {**LIMITS, "bus_bits": width}
    if width == PACKETS_IN_RTL:
        del changes["prefetch"]
    whole = {name: value for name, value in Design.load("tiny").parameters().items() if name != "prefetch"}
    return Design.from_mapping(f"width{width}", whole | changes)


@pytest.fixture(scope="session", params=WIDTHS, ids="{} bits".format)
def design(request: pytest.FixtureRequest) -> Design:
    return made(request.param)


# ----------------------------------------------------------------------------------------------- packets


class Batch:
    """Packets with their TKEEP, and the words that each lacks at its end."""

    def __init__(self) -> None:
        self.packets: list[Packet] = []
        self.keeps: list[Keep] = []
        self.missing: list[int] = []

    def add(self, packet: Packet, keep: Keep = None, missing: int = 0) -> None:
        self.packets.append(packet)
        self.keeps.append(keep)
        self.missing.append(missing)


def spoilt(good: list[Packet], rng: np.random.Generator, beat_words: int, *, payload: bool) -> Batch:
    """Packets with every fault, a whole one after each; and packets that end inside a beat, after any of its words."""
    batch = Batch()
    chosen = [good[int(rng.integers(len(good)))] for _ in range(3)]
    faulty = [fault for one in chosen for fault in faults(one, rng)]
    if payload:
        faulty += [fault for one in chosen for fault in payload_faults(one, rng)]
    for packet, keep in faulty:
        batch.add(packet, keep)
        batch.add(good[int(rng.integers(len(good)))])
    for one in (*good[:4], *good[:2]):
        for missing in range(1, beat_words):
            batch.add(one, missing=missing)
            batch.add(np.concatenate([one, one[:1]]), missing=missing)
            batch.add(one[:1], missing=missing)
            batch.add(good[int(rng.integers(len(good)))])
    return batch


def check_packets(device: Device, seed: int) -> None:
    """Both kernels against the model."""
    design, rng = device.design, np.random.default_rng(seed)
    good = [
        request(maker(rng, SHAPES[index % len(SHAPES)], Dtype.BF16), codec, kind, index)
        for index, maker in enumerate(PAGES.values())
        for codec in CODECS
        for kind in Kind
    ]
    with open_device(design, "software") as golden:
        for kernel, status_beat in ((COMPRESS, 0), (DECOMPRESS, -1)):
            batch = spoilt(good, rng, design.beat_words, payload=kernel == DECOMPRESS)
            options = {"keeps": batch.keeps, "missing_words": batch.missing}
            expected = golden.run(kernel, batch.packets, **options).packets
            found = {Status(int(packet[status_beat, STATUS])) for packet in expected}
            assert {Status.OK, Status.TRUNCATED, Status.OVERLONG, Status.BAD_KEEP} <= found
            what = [f"{missing} words missing" for missing in batch.missing]
            assert_same(device.run(kernel, batch.packets, **options).packets, expected, what)
            assert_same(device.run(kernel, good).packets, golden.run(kernel, good).packets, ["good"] * len(good))
            frames = model.compress_packets(design, good, keep_ok=keep_ok([None] * len(good)))
            good = [frame for frame in frames if frame[0, STATUS] == Status.OK and len(frame) > 3]


def test_packets_in_c_simulation(design: Design) -> None:
    require("csim")
    with open_device(design, "csim") as device:
        check_packets(device, 1)


@pytest.fixture(scope="session")
def kernels_rtl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_rtl(made(PACKETS_IN_RTL), tmp_path_factory)


@pytest.mark.timeout(BUILD_TIMEOUT_S)
@pytest.mark.parametrize("stalls", STALLS)
def test_packets_in_rtl(kernels_rtl: Path, stalls: str) -> None:
    idle, stall = STALLS[stalls]
    with open_device(made(PACKETS_IN_RTL), "cosim", rtl=kernels_rtl, idle=idle, stall=stall, seed=3) as device:
        check_packets(device, 2)


@pytest.mark.timeout(BUILD_TIMEOUT_S)
def test_a_word_per_cycle(kernels_rtl: Path) -> None:
    """Pages pass at the rate of the bus, headers between them."""
    design = made(PACKETS_IN_RTL)
    page = PAGES["normal"](np.random.default_rng(3), (design.max_tokens, design.max_channels), Dtype.BF16)
    packets = [request(page, Codec.QUANT8, Kind.V, key) for key in range(24)]
    most = design.bus_bytes * page.nbytes / (page.nbytes + 64)
    with open_device(design, "cosim", rtl=kernels_rtl) as device:
        for kernel in (COMPRESS, DECOMPRESS):
            result = device.run(kernel, packets)
            assert result.spans is not None
            rate = 16 * page.nbytes / int(result.spans[-1, 1] - result.spans[7, 1])
            assert rate > 0.97 * most, f"{kernel}: {rate:.2f} raw bytes per cycle of {most:.2f}"
            packets = result.packets


# -------------------------------------------------------------------------------- memories, the prefetch table


def check_batches(engine: Any, seed: int) -> None:
    """Batches of all operations, bad descriptors and lists of segments among them."""
    rng = np.random.default_rng([seed, 4])
    twin = Twin.of(engine, rng)
    batch = stored(rng, engine.design, 12)
    sizes = twin.run(batch)["frame_bytes"]
    frames = [one._replace(frame_bytes=int(size)) for one, size in zip(batch, sizes, strict=True)]
    assert (twin.run([one._replace(op=Op.SCRUB) for one in frames])["status"] == DmaStatus.OK).sum() > 4
    for count in (1, 30):
        twin.run(mixed(rng, engine.design, frames, count))


def check_table(table: PrefetchEngine, seed: int) -> None:
    """Batches that end anywhere in a burst, with and without descriptors of what they predict."""
    rng = np.random.default_rng([seed, 5])
    with SoftwareTable(table.design) as twin:
        table.run(clear_all())
        table.descriptors[:] = twin.descriptors[:] = descriptors(rng, len(twin.descriptors))
        for count in (1, 2, 127, 129, 700):
            batch = commands(rng, table.parameters, count, keys=20, pages=24)
            both(table, twin, batch)
            both(table, twin, batch[:200], issue=True)


def test_memories_in_c_simulation(design: Design) -> None:
    require("csim")
    with open_engine(design, "csim", **SIZES) as engine:
        check_batches(engine, 1)
    if design.prefetch is not None:
        with open_table(design, "csim") as table:
            check_table(table, 1)


@pytest.fixture(scope="session", params=SYSTEM_IN_RTL, ids="{} bits".format)
def system_rtl(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Design, Path]:
    return made(request.param), made_rtl(made(request.param), tmp_path_factory)


@pytest.fixture(params=["ideal", "pcie4x16", "ddr4"])
def simulated(request: pytest.FixtureRequest, system_rtl: tuple[Design, Path]) -> Iterator[CosimEngine]:
    """Memories that answer at once, late, and with less than the port could take."""
    design, folder = system_rtl
    links = {"link": request.param, "near_link": "ideal" if request.param == "pcie4x16" else request.param}
    with open_engine(design, "cosim", rtl=folder, **links, **SIZES) as engine:
        assert isinstance(engine, CosimEngine)
        yield engine


@pytest.mark.timeout(BUILD_TIMEOUT_S)
def test_memories_in_rtl(simulated: CosimEngine) -> None:
    check_batches(simulated, 2)
    with simulated.open_table() as table:
        check_table(table, 2)


@pytest.mark.timeout(BUILD_TIMEOUT_S)
def test_a_word_that_fails_harms_its_page_only(system_rtl: tuple[Design, Path]) -> None:
    """One word of a page's beats answers with an error."""
    design, folder = system_rtl
    rng = np.random.default_rng(6)
    with open_engine(design, "cosim", rtl=folder, **SIZES) as engine:
        assert isinstance(engine, CosimEngine)
        twin = Twin.of(engine, rng)
        batch = stored(rng, design, 6)
        sizes = twin.run(batch)["frame_bytes"]
        scrubs = [one._replace(op=Op.SCRUB, frame_bytes=int(size)) for one, size in zip(batch, sizes, strict=True)]
        for victim in range(len(scrubs)):
            before = engine.run(scrubs).completions["status"]
            at = scrubs[victim].far + design.bus_bytes * (64 // design.bus_bytes - 1)  # the last word of its header
            engine.inject_fault("far", MemoryFault.SLVERR, at, at)
            after = engine.run(scrubs).completions["status"]
            assert after[victim] == DmaStatus.READ_ERROR
            assert np.array_equal(np.delete(after, victim), np.delete(before, victim))
            engine.inject_fault("far", MemoryFault.NONE)

"""The steps of a bring-up, in the order in which a fault is found where it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from speckv import checks, doctor
from speckv.backends import BOARDS
from speckv.bringup.twin import Difference, Twin
from speckv.dma import open_engine
from speckv.dma.descriptor import BEAT_BYTES, Descriptor, DmaFlags, Op
from speckv.errors import DeviceError, SpeckvError
from speckv.frame import HEADER_BYTES, Codec, Kind
from speckv.prefetch.commands import COMMAND_DTYPE
from speckv.prefetch.commands import Op as Ask
from speckv.prefetch.engine import SoftwareTable

if TYPE_CHECKING:
    from speckv.design import Design
    from speckv.dma.engine import DmaEngine

MEMORY_BYTES = 4 << 20
SOAK_SECONDS = 60.0
_CHUNK_BYTES = 1 << 16
_BATCH = 24
_PAGES = 60
_SEED = 20
_ABSENT = "not in this design, or not on this backend"


@dataclass(frozen=True)
class Step:
    """One step. `state` is "pass", "fail" or "skip"; `detail` says what was seen, `remedy` what to do about it."""

    name: str
    state: str
    detail: str
    remedy: str = ""
    seconds: float = 0.0


@dataclass
class Report:
    """What became of a board; `facts` is what it says of itself."""

    design: str
    design_hash: str
    backend: str
    evidence: str = ""
    facts: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=doctor.versions)
    began: str = field(default_factory=lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
    steps: list[Step] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """No step failed."""
        return all(step.state != "fail" for step in self.steps)

    def as_json(self) -> dict[str, Any]:
        """All of it, to be attached to a bug."""
        return {"passed": self.passed, **asdict(self)}

    def as_text(self) -> str:
        """A line for each step, and the remedies of those that failed."""
        lines = [f"design {self.design} ({self.design_hash}) on {self.backend}, evidence {self.evidence or 'none'}"]
        lines += [f"  {name}: {value}" for name, value in self.facts.items()]
        for step in self.steps:
            lines.append(f"{step.state.upper():4} {step.name:10} {step.seconds:6.1f} s  {step.detail}")
            if step.remedy:
                lines.append(f"{'':5}{'':10} {'':8}  {step.remedy}")
        return "\n".join([*lines, "PASS" if self.passed else "FAIL"])


def bring_up(
    design: Design,
    backend: str,
    options: Mapping[str, Any],
    *,
    seconds: float = SOAK_SECONDS,
    memory_bytes: int = MEMORY_BYTES,
    on_step: Callable[[str], None] = lambda name: None,
) -> Report:
    """Opens an engine and takes all steps, whatever they come to; after a failure the later ones are skipped.

    `options` are those of the backend's engine. `seconds` is the length of the soak, `memory_bytes` the size of either
    memory. Raises DeviceError for numbers that are none.
    """
    checks.seconds("seconds", seconds, DeviceError)
    report = Report(design.name, design.hash_hex, backend)
    opened: list[DmaEngine] = []

    def open_it(_: object) -> str:
        engine = open_engine(design, backend, near_bytes=memory_bytes, far_bytes=memory_bytes, **options)
        opened.append(engine)
        report.evidence = engine.evidence
        report.facts = engine.facts()
        return "kernels, format version and design are those expected"

    twin: Twin | None = None
    try:
        for name, action, remedy in _steps(open_it, seconds):
            on_step(name)
            if not report.passed:
                report.steps.append(Step(name, "skip", "a step before it failed"))
                continue
            began = time.monotonic()
            try:
                if opened and twin is None:
                    twin = Twin(opened[0], np.random.default_rng(_SEED))
                detail = action(twin)
            except SpeckvError as error:
                remedy = _OPEN_SIMULATED if backend not in BOARDS and name == "open" else remedy
                report.steps.append(Step(name, "fail", str(error), remedy, time.monotonic() - began))
            else:
                took = time.monotonic() - began
                passed = Step(name, "pass", detail, "", took)
                report.steps.append(passed if detail else Step(name, "skip", _ABSENT, "", took))
    finally:
        for engine in opened:
            engine.close()
    return report


Action = Callable[[Any], str]
_OPEN_SIMULATED = "Make the design's RTL with `speckv rtl DESIGN`; `speckv doctor` tells which tools are missing."


def _steps(open_it: Action, seconds: float) -> list[tuple[str, Action, str]]:
    """Name, what is done (a sentence comes back, or nothing if the design lacks it), and what to do if it fails."""
    return [
        ("open", open_it, "Run `speckv doctor`; check that the bitstream is of this design and fits the card's shell."),
        ("registers", registers, "The control port does not hold what is written: check clock and reset of the kernel, "
         "its base address, and that its register map is of this design."),
        ("memory", memory, "An address line or a bank is wrong, or a copy between host and device is lost: check the "
         "banks of the design against the linker's report; a power cycle brings HBM back."),
        ("loop-back", loop_back, "Streams between kv_dma and the codec: check the `sc` lines of link.cfg and the "
         "timing report."),
        ("codecs", codecs, "A codec differs from its model: check the timing report first, then run `speckv bringup "
         "DESIGN --backend cosim`; if that passes, attach both reports to a bug."),
        ("dma", dma, "Batches of many descriptors: check the timing report; `speckv bringup DESIGN --backend cosim` "
         "tells whether the design is at fault."),
        ("prefetch", prefetch, "The prefetch table differs from its model: check the timing report, as for codecs."),
        ("soak", lambda twin: soak(twin, seconds), "It fails only now and then: check temperature and power (`xrt-smi "
         "examine`), and slack of the timing report."),
    ]  # fmt: skip


def registers(twin: Twin) -> str:
    """Every argument keeps what is written, alone and beside all others."""
    known = twin.engine.registers()
    if known is None:
        return ""
    names = [name for name, one in known.map.registers.items() if name.endswith("_DATA") and "W" in one.access]
    for pattern in (0x5555_5555_5555_5555, 0xAAAA_AAAA_AAAA_AAAA, 0, (1 << 64) - 1):
        for index, name in enumerate(names):
            known.write(name, (pattern ^ index) & ((1 << known.map.registers[name].bits) - 1))
        for index, name in enumerate(names):
            wanted = (pattern ^ index) & ((1 << known.map.registers[name].bits) - 1)
            if (found := known.read(name)) != wanted:
                raise Difference(f"register {name} of {known.map.kernel} reads {found:#x}, {wanted:#x} was written")
    return f"{len(names)} registers of {known.map.kernel} keep 4 patterns"


def memory(twin: Twin) -> str:
    """Each beat of far memory holds its own address once near memory was moved there. It comes back in chunks, the last
    one first: so near memory cannot hold by what went out what should have come back.
    """
    engine = twin.engine
    least = min(len(engine.near), len(engine.far))
    chunk = min(_CHUNK_BYTES, least // 2 // BEAT_BYTES * BEAT_BYTES)
    size = least // chunk * chunk
    words = np.arange(size // 8, dtype="<u8") * np.uint64(0x9E37_79B9_7F4A_7C15)
    places = range(0, size, chunk)
    engine.near[:size] = words.view(np.uint8)
    engine.run_all([Descriptor(Op.COPY, near=at, far=at, raw_bytes=chunk, flags=DmaFlags.TO_FAR) for at in places])
    engine.run_all([Descriptor(Op.COPY, near=size - chunk - at, far=at, raw_bytes=chunk) for at in places])
    turned = words.reshape(-1, chunk // 8)[::-1].reshape(-1)
    for name, found, expected in (("far", engine.far[:size], words), ("near", engine.near[:size], turned)):
        wrong = np.flatnonzero(found.view("<u8") != expected)
        if len(wrong):
            raise Difference(f"{len(wrong)} words of {name} memory are wrong, the first at {8 * wrong[0]:#x}")
    twin.fill()
    return f"{size >> 10} KiB of near and of far memory hold addresses"


def loop_back(twin: Twin) -> str:
    """The largest page, uncompressed, through both kernels of the codec."""
    design = twin.design
    raw = 2 * design.max_tokens * design.max_channels
    page = twin.offload(Codec.RAW, Kind.K)._replace(
        near=0, far=twin.half, raw_bytes=raw, frame_bytes=raw + HEADER_BYTES, tokens=design.max_tokens,
        channels=design.max_channels,
    )  # fmt: skip
    twin.run([page])
    twin.run([page._replace(op=Op.FETCH, near=twin.half)])
    return f"a page of {raw} bytes came back"


def codecs(twin: Twin) -> str:
    """Frames and pages of every codec and kind are the model's."""
    twin.store()
    twin.run([twin.fetch(frame) for frame in twin.frames])
    twin.run([frame._replace(op=Op.SCRUB) for frame in twin.frames])
    return f"{len(twin.frames)} sorts of frames are bit-exact"


def dma(twin: Twin) -> str:
    """Batches of all lengths on all channels, one of them bad in the middle of good ones."""
    total = 0
    for count in (0, 1, 2, 16, 64):
        batches = [twin.mixed(count) for _ in range(twin.design.dma_channels)]
        twin.run(*batches)
        total += count * len(batches)
    good = twin.mixed(8)
    twin.run([*good[:4], good[0]._replace(op=9), good[1]._replace(far=1 << 40), *good[4:]])
    return f"{total + len(good)} descriptors on {twin.design.dma_channels} channels"


def prefetch(twin: Twin) -> str:
    """Random commands on the table and on its model; what it issues is fetched."""
    design = twin.design
    if design.prefetch is None:
        return ""
    rng, count = twin.rng, 4000
    batch = np.zeros(count, COMMAND_DTYPE)
    batch["op"] = rng.choice([Ask.TOUCH, Ask.PREDICT, Ask.DECAY], count, p=[0.7, 0.25, 0.05])
    batch["key"], batch["page"] = rng.integers(0, 300, count), rng.integers(0, _PAGES, count)
    batch["weight"], batch["limit"] = rng.integers(1, 9, count), rng.integers(0, design.prefetch.ways + 1, count)
    with twin.engine.open_table() as table, SoftwareTable(design) as golden:
        expected = golden.run(batch)
        if difference := table.run(batch).difference(expected):
            raise Difference(difference)
        for page in range(_PAGES):
            frame = twin.frames[page % len(twin.frames)]
            table.descriptors[page] = golden.descriptors[page] = twin.fetch(frame).record()
        asked = batch[batch["op"] == Ask.PREDICT][:16]
        made = table.run(asked, issue=True)
        if difference := made.difference(golden.run(asked, issue=True)):
            raise Difference(difference)
        twin.run_records(made.fetches)
    return f"{count} commands, {len(expected.results)} predictions, {len(made.fetches)} pages issued and fetched"


def soak(twin: Twin, seconds: float) -> str:
    """Random batches until the time is over."""
    began, runs, moved = time.monotonic(), 0, twin.engine.moved
    while time.monotonic() - began < seconds:
        twin.run(*(twin.mixed(_BATCH) for _ in range(twin.design.dma_channels)))
        runs += 1
        if runs % 16 == 0:
            twin.fill()
            twin.store()
    far = sum(twin.engine.moved[2:]) - sum(moved[2:])
    return f"{runs} runs of {_BATCH * twin.design.dma_channels} descriptors, {far / 1e6:.1f} MB of frames, no fault"

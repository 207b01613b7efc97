"""The prefix coder's HLS blocks against a plain Python reference: C simulation, then RTL under stalls.

Each side is a kernel of its own in tests/hls/programs. Python makes the pages and what has to come out; the natively
compiled C++ has to give exactly that, and the RTL what the C++ gives.
"""

from __future__ import annotations

import random
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import jinja2
import prefix_reference as reference
import pytest
from prefix_reference import LANES, TABLES, Beat

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "hlsc"))

from rtl_bench import ROUNDS, Bench, Program, parse_ports, require_tools  # noqa: E402
from test_ap_int import ap_types_include  # noqa: E402

PAGES_PER_ROUND = 8
CLOCK_NS = 1000 / 300
TRAFFIC_SEEDS = (1, 2)
LONG = 384  # beats of a page of 64 tokens and 192 channels
RAW_BYTES_PER_CYCLE = 45  # least, for pages of about three bits a symbol


# ------------------------------------------------------------------------------------------- the material


def drawn(rng: random.Random, beats: int, weights: Sequence[float], wide: int = 0) -> list[Beat]:
    """A page of symbols with these weights; the lanes of the mask `wide` have 8 bits."""
    page = []
    for _ in range(beats):
        symbols = rng.choices(range(16), weights, k=LANES)
        page.append(Beat(tuple(rng.randrange(256) if wide >> lane & 1 else s for lane, s in enumerate(symbols)), wide))
    return page


def round_of_pages(rng: random.Random) -> list[list[Beat]]:
    """Pages of very different sizes, some not coded, some all of the shortest or the longest codes."""
    falling = [2.0 ** (-s / 2) for s in range(16)]
    pages = [
        drawn(rng, 1, falling),
        drawn(rng, rng.randrange(2, 40), falling, wide=rng.randrange(1 << LANES)),
        [],
        drawn(rng, rng.randrange(2, 9), [1] * 16),
        drawn(rng, rng.randrange(40, 90), [1] + [0] * 15, wide=1 << rng.randrange(LANES)),
        drawn(rng, rng.randrange(30, 60), [0] * 15 + [1], wide=(1 << LANES) - 1),
        drawn(rng, rng.randrange(100, 140), [1.5 ** -abs(s - 7) for s in range(16)]),
        drawn(rng, rng.randrange(16, 20), [0] * 14 + [1, 0]),
    ]
    rng.shuffle(pages)
    assert len(pages) == PAGES_PER_ROUND
    return pages


def three_bits(rng: random.Random) -> list[list[Beat]]:
    """Long pages whose best table takes about three bits a symbol."""
    return [drawn(rng, LONG, [2.0 ** (-s / 1.7) for s in range(16)]) for _ in range(PAGES_PER_ROUND)]


def page_rounds(seed: int) -> list[list[list[Beat]]]:
    rng = random.Random(seed)
    rounds = [three_bits(rng)] + [round_of_pages(rng) for _ in range(ROUNDS - 1)]
    rounds[2][0] = drawn(rng, 512, [1] * 16, wide=0x80000001)  # a design's greatest page
    return rounds


def encoded(page: list[Beat]) -> tuple[int, bytes]:
    """The table and the section that the format asks for."""
    table = reference.best_table(page, TABLES)
    return table, reference.encode(page, TABLES[table])


# --------------------------------------------------------------------------------------------- the benches


@dataclass
class Traffic:
    """What goes into each port and must come out, round by round, as integers."""

    rounds: list[dict[str, list[int]]] = field(default_factory=list)

    def tape(self, port: str) -> list[int]:
        return [beat for one in self.rounds for beat in one[port]]


def stimulus(program_ports: str, traffic: Traffic, folder: Path) -> tuple[str, int]:
    """C++ that puts the tapes onto the input ports, and the beats of the longest tape."""
    parts, longest = [], 1
    for index, port in enumerate(parse_ports(program_ports)):
        if port.direction == "out":
            continue
        words_each = (port.data_bits + 31) // 32
        tape = traffic.tape(port.name)
        longest = max(longest, len(tape))
        words = (beat >> 32 * w & 0xFFFFFFFF for beat in tape for w in range(words_each))
        (folder / f"{port.name}.inc").write_text(",".join(map(str, words)) or "0")
        parts.append(
            f'if (port == {index}) {{ static const uint32_t tape[] = {{\n#include "{port.name}.inc"\n}};\n'
            f"for (int w = 0; w < {words_each} && k < {len(tape)}; ++w) beat.data[w] = tape[{words_each} * k + w]; }}\n"
        )
    return "".join(parts), longest


def write_tables(folder: Path) -> None:
    """`code_tables.hpp`, from the kit's own template, with the tables of these tests."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(ROOT / "hls" / "templates"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    text = environment.get_template("code_tables.hpp.j2").render(design=SimpleNamespace(code_tables=TABLES))
    (folder / "code_tables.hpp").write_text(text)


def bench_of(name: str, ports: str, traffic: Traffic, folder: Path) -> Bench:
    require_tools()
    from hlsc import compile_kernel

    write_tables(folder)
    (folder / "speckv").symlink_to(ROOT / "hls" / "include" / "speckv")
    body, beats = stimulus(ports, traffic, folder)
    source = (ROOT / "tests" / "hls" / "programs" / f"{name}.cpp").read_text()
    program = Program(
        name, source, parse_ports(ports), calls=PAGES_PER_ROUND, tape_beats=beats, stimulus=body, clock_ns=CLOCK_NS
    )
    bench = Bench([program], folder, partial(compile_kernel, include_dirs=[folder]), parallel=False)
    bench.build()
    assert not bench.failures, bench.failures
    return bench


def simulated(bench: Bench) -> list[dict[str, list[int]]]:
    """What the natively compiled C++ took and gave, round by round."""
    (program,) = bench.programs
    words = memoryview((bench.folder / "vectors.bin").read_bytes()).cast("I")
    at, rounds = 1, []
    for _ in range(words[0]):
        one = {}
        for port in program.ports:
            count, each = words[at], (port.data_bits + 31) // 32
            at += 1
            one[port.name] = [sum(words[at + each * k + w] << 32 * w for w in range(each)) for k in range(count)]
            at += each * count
        rounds.append(one)
    return rounds


def beats_of(data: bytes) -> list[int]:
    return [int.from_bytes(data[k : k + 64], "little") for k in range(0, len(data), 64)]


def values_of(page: list[Beat]) -> list[int]:
    return [int.from_bytes(bytes(beat.symbols), "little") for beat in page]


# --------------------------------------------------------------------------------------------- the encoder

ENCODER_PORTS = "pages<10 words<288 tables>3 sizes>10 section>512"


def encoder_traffic() -> Traffic:
    traffic = Traffic()
    for pages in page_rounds(seed=1):
        one: dict[str, list[int]] = {name: [] for name in ("pages", "words", "tables", "sizes", "section")}
        for page in pages:
            one["pages"].append(len(page))
            one["words"] += [value | beat.wide << 256 for value, beat in zip(values_of(page), page, strict=True)]
            table, section = encoded(page)
            one["tables"].append(table)
            one["sizes"].append(len(section) // 64 if page else 0)
            one["section"] += beats_of(section) if page else []
        traffic.rounds.append(one)
    return traffic


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    traffic = encoder_traffic()
    return traffic, bench_of("prefix_encoder", ENCODER_PORTS, traffic, tmp_path_factory.mktemp("prefix_encoder"))


def test_encoder_csim(encoder):
    traffic, bench = encoder
    check_rounds(traffic, simulated(bench))


def test_encoder_rtl(encoder):
    traffic, bench = encoder
    check_rtl(bench, "section", len(traffic.rounds[0]["words"]))  # the input runs ahead into the FIFO that holds a page


def test_encoder_ap_types(encoder):
    check_ap_types(encoder[1])


def check_rounds(traffic: Traffic, found: list[dict[str, list[int]]]) -> None:
    assert len(found) == len(traffic.rounds)
    for r, (expected, got) in enumerate(zip(traffic.rounds, found, strict=True)):
        for port in expected:
            assert len(got[port]) == len(expected[port]), f"round {r}, {port}"
            for k, (a, b) in enumerate(zip(got[port], expected[port], strict=True)):
                assert a == b, f"round {r}, {port}, beat {k}: got {a:x}, expected {b:x}"


def check_ap_types(bench: Bench) -> None:
    """g++ with Xilinx's ap_types, where what nobody sets is no zero, gives what clang and our headers give."""
    include = ap_types_include()
    if shutil.which("g++") is None or include is None:
        pytest.skip("needs g++ and the ap_types headers of the da4ml package")
    assert bench.build_reference_gxx(include).read_bytes() == (bench.folder / "vectors.bin").read_bytes()


def check_rtl(bench: Bench, port: str, raw_beats: int) -> None:
    """The RTL gives what the C++ gives, under stalls, and takes round 0 fast enough."""
    (program,) = bench.programs
    for seed in TRAFFIC_SEEDS:
        result = bench.run(seed)[program.name]
        assert result.passed, f"traffic seed {seed}: {result.verdict} {result.note}"
    side = "in" if any(p.name == port and p.direction == "in" for p in program.ports) else "out"
    first, last = result.rounds[0][side]
    rate = 64 * raw_beats / (last - first + 1)
    assert rate >= RAW_BYTES_PER_CYCLE, f"{rate:.1f} raw bytes per cycle"


# --------------------------------------------------------------------------------------------- the decoder

DECODER_PORTS = "plans<24 section<512 masks<32 values>256 misfits>1"


def damaged(rng: random.Random, section: bytes) -> bytes:
    """A section of the same or another length that no encoder would write."""
    data = bytearray(section)
    kind = rng.randrange(7)
    if kind == 0:  # nothing but noise
        return rng.randbytes(len(data))
    if kind == 1:  # one length is wrong
        lane = rng.randrange(LANES)
        data[2 * lane : 2 * lane + 2] = rng.choice([0, 1, 17, 600, 0xFFFF]).to_bytes(2, "little")
    elif kind == 2:  # lanes are missing
        return bytes(data[:64])
    elif kind == 3:  # a beat too many
        return bytes(data) + rng.randbytes(64)
    elif kind == 4:  # all lengths are the greatest
        data[:64] = b"\xff" * 64
    elif kind == 5:  # no lane has a byte
        data[:64] = bytes(64)
    else:  # flipped bits
        for _ in range(20):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def decoder_traffic() -> Traffic:
    rng = random.Random(2)
    traffic = Traffic()
    for r, pages in enumerate(page_rounds(seed=3)):
        one: dict[str, list[int]] = {name: [] for name in ("plans", "section", "masks", "values", "misfits")}
        for page in pages:
            if not page:
                one["plans"].append(0)
                one["misfits"].append(0)
                continue
            table, section = encoded(page)
            masks = [beat.wide for beat in page]
            if r == 3 or (r == 2 and rng.randrange(3) == 0):
                section = damaged(rng, section)
            expected, misfit = reference.decode(section, masks, TABLES[table])
            wide = any(masks)
            one["plans"].append(len(section) // 64 | len(page) << 10 | table << 20 | wide << 23)
            one["section"] += beats_of(section)
            one["masks"] += masks if wide else []
            one["values"] += values_of(expected)
            one["misfits"].append(int(misfit))
        traffic.rounds.append(one)
    return traffic


@pytest.fixture(scope="module")
def decoder(tmp_path_factory):
    traffic = decoder_traffic()
    return traffic, bench_of("prefix_decoder", DECODER_PORTS, traffic, tmp_path_factory.mktemp("prefix_decoder"))


def test_decoder_csim(decoder):
    traffic, bench = decoder
    assert any(flag for one in traffic.rounds for flag in one["misfits"])
    check_rounds(traffic, simulated(bench))


def test_decoder_rtl(decoder):
    traffic, bench = decoder
    check_rtl(bench, "values", len(traffic.rounds[0]["values"]))


def test_decoder_ap_types(decoder):
    check_ap_types(decoder[1])

#!/usr/bin/env python3
"""Make the frozen test vectors in tests/vectors.

    python scripts/make_vectors.py                    add vectors that are missing; refuse to change any
    python scripts/make_vectors.py --new-format-version 2
                                                      make all anew, once speckv.frame.VERSION is 2

A vector is one packet into a kernel and the packet that must come out. Inputs come from SHAKE-128 streams, so
that no library's random numbers matter; outputs are those of `speckv.model` when the vector was first made.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from speckv import bf16, frame, model
from speckv.design import Design
from speckv.frame import BEAT_BYTES, Codec, Header, Kind, Status

VECTORS = Path(__file__).resolve().parents[1] / "tests" / "vectors"
MANIFEST = "manifest.json"
DESIGN = "tiny"
COMPRESS, DECOMPRESS = "kv_compress", "kv_decompress"

Page = NDArray[np.uint16]
Packet = NDArray[np.uint8]


@dataclass(frozen=True)
class Case:
    """One packet for one kernel, and what the vector is there to show."""

    name: str
    kernel: str
    packet: Packet
    shows: str
    keep_ok: bool = True


# ------------------------------------------------------------------------------------------------- pages


def stream(seed: str, count: int) -> NDArray[np.uint8]:
    """`count` bytes that depend on `seed` alone."""
    return np.frombuffer(hashlib.shake_128(seed.encode()).digest(count), np.uint8)


def patterns(seed: str, tokens: int, channels: int) -> Page:
    """Any 16-bit patterns, NaNs and infinities among them."""
    return stream(seed, 2 * tokens * channels).view("<u2").reshape(tokens, channels).astype(np.uint16)


def bells(seed: str, tokens: int, channels: int) -> Page:
    """Values like a real cache: bell-shaped, with a scale and an offset for each channel."""
    dice = stream(seed, 4 * tokens * channels).reshape(4, tokens, channels).astype(np.float32).sum(axis=0)
    channel = stream(seed + "/channel", 2 * channels).reshape(2, channels).astype(np.float32)
    spread = np.ldexp((dice - 510) / 128, (channel[0] // 43).astype(np.int32) - 3)
    values = spread + (channel[1] - 127) / 64
    return bf16.from_float32(values.astype(np.float32))


def finite(bits: Page) -> Page:
    """The same patterns with NaNs and infinities moved into the finite range."""
    return np.where(bf16.is_finite(bits), bits, bits ^ np.uint16(0x4000))


def subnormals(seed: str, tokens: int, channels: int) -> Page:
    """Subnormals and the smallest normals, of both signs."""
    return patterns(seed, tokens, channels) & np.uint16(0x81FF)


def signed_zeros(seed: str, tokens: int, channels: int) -> Page:
    """Zeros of both signs; in every second token some ones too."""
    bits = patterns(seed, tokens, channels)
    ones = np.where(bits & 7, 0, 0x3F80).astype(np.uint16)
    ones[::2] = 0
    return (bits & np.uint16(bf16.SIGN)) | ones


def wide(seed: str, tokens: int, channels: int) -> Page:
    """Magnitudes from subnormal to the greatest, each channel and token with the extremes of both signs."""
    bits = finite(patterns(seed, tokens, channels)).copy()
    spots = np.arange(tokens)
    bits[spots, spots % channels] = bf16.MAX_FINITE
    bits[spots, (spots + 1) % channels] = bf16.MAX_FINITE | bf16.SIGN
    return bits


def smallest(seed: str, tokens: int, channels: int) -> Page:
    """Token t has exponents up to t / 2, in odd tokens of one sign and with few different fractions."""
    bits = patterns(seed, tokens, channels)
    top = np.arange(tokens, dtype=np.uint16)[:, None] // 2
    page = (bits & 0x807F) | (top - np.minimum(top, bits >> 7 & 3)) << 7
    page[1::2] = (top[1::2] << 7) | (bits[1::2] & 0x0003)
    return page


def constant(seed: str, tokens: int, channels: int) -> Page:
    """One value for each channel."""
    return np.tile(finite(patterns(seed, 1, channels)), (tokens, 1))


def with_value(page: Page, token: int, channel: int, bits: int) -> Page:
    """A copy of the page with one value replaced."""
    changed = page.copy()
    changed[token, channel] = bits
    return changed


# ----------------------------------------------------------------------------------------------- packets


def as_packet(*parts: bytes) -> Packet:
    """Bytes as a packet [beats, 64]."""
    return np.frombuffer(b"".join(parts), np.uint8).reshape(-1, BEAT_BYTES)


def header_of(page: Page, codec: Codec, kind: Kind, seed: str) -> Header:
    """A request's header with a name that depends on `seed`."""
    namespace, page_key = (int(word) for word in stream(seed + "/name", 16).view("<u8"))
    tokens, channels = page.shape
    return Header.request(
        codec=codec,
        kind=kind,
        tokens=tokens,
        channels=channels,
        namespace=namespace,
        page_key=page_key,
        generation=1,
    )


def request(header: Header, page: Page) -> Packet:
    """The packet that asks for a page to be compressed."""
    return as_packet(header.pack(), page.astype("<u2").tobytes())


def page_cases() -> Iterator[tuple[str, Packet, str]]:
    """Requests that are answered with a frame: name, packet, what it shows."""
    raw, int8, keys, values = Codec.RAW, Codec.INT8, Kind.K, Kind.V
    rows: list[tuple[str, Codec, Kind, Page, str]] = [
        ("raw_k_5x64", raw, keys, patterns("a", 5, 64), "any bits survive"),
        ("raw_v_1x32", raw, values, patterns("b", 1, 32), "the smallest page"),
        ("int8_k_64x256", int8, keys, bells("c", 64, 256), "the largest page of the design"),
        ("int8_k_7x32", int8, keys, bells("d", 7, 32), "an odd number of tokens, padded sections"),
        ("int8_k_64x96", int8, keys, bells("e", 64, 96), "whole tiles, three beats a token"),
        ("int8_v_16x256", int8, values, bells("f", 16, 256), "four groups a token"),
        ("int8_v_31x96", int8, values, bells("g", 31, 96), "a short last group, padded parameters"),
        ("int8_v_3x32", int8, values, bells("h", 3, 32), "one short group a token, padded codes"),
        ("int8_k_subnormal", int8, keys, subnormals("i", 16, 32), "scale is clamped to the smallest normal"),
        ("int8_v_subnormal", int8, values, subnormals("j", 8, 64), "scale is clamped to the smallest normal"),
        ("int8_v_smallest", int8, values, smallest("u", 40, 64), "scales around the smallest normal"),
        ("int8_k_signed_zeros", int8, keys, signed_zeros("k", 16, 32), "lo is -0, with and without a spread"),
        (
            "int8_v_signed_zeros",
            int8,
            values,
            signed_zeros("l", 8, 64),
            "lo is -0, with and without a spread",
        ),
        ("int8_k_constant", int8, keys, constant("m", 16, 32), "scale 0: every code is 0"),
        ("int8_v_zeros", int8, values, np.zeros((8, 64), np.uint16), "an empty page"),
        ("int8_k_wide", int8, keys, wide("n", 32, 32), "all magnitudes: sums beyond the finite range"),
        ("int8_v_wide", int8, values, wide("o", 16, 64), "all magnitudes: sums beyond the finite range"),
        (
            "int8_k_nan",
            int8,
            keys,
            with_value(bells("p", 8, 32), 7, 31, 0x7FC1),
            "NONFINITE: a NaN, stored raw",
        ),
        (
            "int8_v_inf",
            int8,
            values,
            with_value(bells("q", 4, 64), 0, 0, 0xFF80),
            "NONFINITE: -Inf, stored raw",
        ),
        ("int8_k_4x32", int8, keys, bells("r", 4, 32), "NO_SHRINK: as long as raw, stored raw"),
        (
            "int8_v_1x64",
            int8,
            values,
            with_value(bells("s", 1, 64), 0, 5, 0x7F80),
            "NO_SHRINK comes before NONFINITE",
        ),
    ]
    for name, codec, kind, page, shows in rows:
        yield name, request(header_of(page, codec, kind, name), page), shows
    page = bells("t", 4, 64)
    noisy = header_of(page, int8, values, "ignored").replace(
        flags=0xFF,
        status=0xFF,
        requested_codec=0xFF,
        payload_bytes=12345,
        payload_crc=1,
        raw_crc=2,
        reserved=3,
    )
    yield "int8_v_ignored_fields", request(noisy, page), "fields that a request's reader ignores"


def broken_headers() -> dict[str, dict[str, int]]:
    """Faults of a 4 x 64 page's header that requests and frames share: case name to changed fields."""
    return {
        "bad_magic": {"magic": frame.MAGIC ^ 0x20000000},
        "bad_version": {"version": 2},
        "bad_codec": {"codec": 2},
        "bad_dtype": {"dtype": 0},
        "bad_kind": {"kind": 2},
        "bad_geometry_no_tokens": {"tokens": 0, "raw_bytes": 0},
        "bad_geometry_tokens": {"tokens": 65, "raw_bytes": 2 * 65 * 64},
        "bad_geometry_no_channels": {"channels": 0, "raw_bytes": 0},
        "bad_geometry_channels": {"channels": 48, "raw_bytes": 2 * 4 * 48},
        "bad_geometry_wide": {"channels": 288, "raw_bytes": 2 * 4 * 288},
        "bad_geometry_tile": {"tile_tokens": 32},
        "bad_geometry_group": {"group_channels": 32},
        "bad_geometry_bytes": {"raw_bytes": 2 * 4 * 64 + 64},
        "bad_order": {"version": 2, "codec": 9, "dtype": 9, "kind": 9, "tokens": 0},
    }


def compress_faults() -> Iterator[Case]:
    """Requests that kv_compress refuses."""
    page = bells("faults", 4, 64)
    good = header_of(page, Codec.INT8, Kind.V, "faults")
    for name, changes in broken_headers().items():
        packet = request(good.replace(**changes), page)
        yield Case(f"request_{name}", COMPRESS, packet, f"header fields {', '.join(changes)}")
    packet = request(good, page)
    rows = [
        ("truncated_header", packet[:1], "TLAST on the header"),
        ("truncated", packet[:-1], "the last beat is missing"),
        ("overlong", np.concatenate([packet, packet[1:3]]), "two beats too many"),
    ]
    for name, changed, shows in rows:
        yield Case(f"request_{name}", COMPRESS, changed, shows)
    yield Case("request_bad_keep", COMPRESS, packet, "a TKEEP bit is 0", keep_ok=False)
    yield Case("request_order", COMPRESS, packet[:-1], "TRUNCATED comes before BAD_KEEP", keep_ok=False)
    both = request(good.replace(kind=7), page)[:-1]
    yield Case(
        "request_header_first", COMPRESS, both, "BAD_KIND comes before the stream's faults", keep_ok=False
    )


def sealed(header: Header, payload: bytes) -> Packet:
    """A frame whose checksums are right, whatever else is wrong with it."""
    return as_packet(header.replace(payload_crc=frame.crc32c(payload)).pack(), payload)


def crafted_parameters() -> list[tuple[int, int, str]]:
    """lo and scale that no page of this file gives, each with what it shows."""
    return [
        (0x0001, 0x4000, "lo far below the step: decides ties upwards"),
        (0x8001, 0x4000, "lo far below the step: decides ties downwards"),
        (0x8000, 0x4000, "lo is -0: q = 0 keeps it, others do not see it"),
        (0x0000, 0x4000, "lo is +0"),
        (0xFF7F, 0x7F7F, "clamped above, an exact zero at q = 1"),
        (0x7F7F, 0x7780, "clamped above, e(lo) - e(scale) = 15"),
        (0xFF7F, 0x7700, "e(lo) - e(scale) = 16"),
        (0xBF80, 0x3B80, "-1 + q / 256: exact zero does not occur, ties do"),
        (0xC300, 0x3F80, "-128 + q: an exact zero at q = 128"),
        (0x8080, 0x0080, "an exact zero at q = 1, among the smallest normals"),
        (0x807F, 0x0080, "sums in the subnormal range"),
        (0xC0FF, 0x0000, "scale 0: every q gives lo"),
        (0x8000, 0x0000, "scale 0 and lo -0: q = 0 gives -0, others +0"),
        (0x0000, 0x7F7F, "the greatest scale"),
        (0x3F80, 0x3980, "lo finer than the step by nothing: ties to even"),
        (0x3F81, 0x3F80, "equal exponents"),
    ]


def bad_parameters() -> list[tuple[int, int, str]]:
    """Pairs that no encoder writes."""
    return [
        (0x7F80, 0x3F80, "lo is infinite"),
        (0xFFC0, 0x0000, "lo is a NaN"),
        (0x3F80, 0x007F, "scale is subnormal"),
        (0x3F80, 0x8000, "scale is -0"),
        (0x3F80, 0xBF80, "scale is negative"),
        (0x3F80, 0x7F80, "scale is infinite"),
        (0x3F80, 0x7FC0, "scale is a NaN"),
        (0x3F80, 0x3700, "e(lo) - e(scale) = 17"),
    ]


def crafted_frame(pairs: list[tuple[int, int, str]], seed: str) -> Packet:
    """A V frame of one token for each pair, 256 channels, each group with 64 of the 256 codes."""
    tokens, channels = len(pairs), 256
    groups = np.array([[pair[:2]] * 4 for pair in pairs], "<u2")
    codes = np.tile(np.arange(channels, dtype=np.uint8), (tokens, 1))
    parameters = groups.tobytes()
    padding = bytes(frame.padded_bytes(len(parameters)) - len(parameters))
    payload = parameters + padding + codes.tobytes()
    header = header_of(np.zeros((tokens, channels), np.uint16), Codec.INT8, Kind.V, seed)
    return sealed(header.replace(payload_bytes=len(payload)), payload)


def decompress_faults(design: Design) -> Iterator[Case]:
    """Frames that kv_decompress refuses, or that no encoder of ours writes."""
    page = bells("faults", 4, 64)
    packet = model.compress_packet(design, request(header_of(page, Codec.INT8, Kind.V, "faults"), page))
    good, payload = Header.unpack(packet[0]), packet[1:].tobytes()
    for name, changes in broken_headers().items():
        broken = as_packet(good.replace(**changes).pack(), payload)
        yield Case(f"frame_{name}", DECOMPRESS, broken, f"header fields {', '.join(changes)}")
    flipped = packet.copy()
    flipped[0, frame.field_offset("page_key")] ^= 1
    damaged = packet.copy()
    damaged[-1, 63] ^= 0x80
    shorter = as_packet(good.replace(payload_bytes=good.payload_bytes - 64).pack(), payload)
    odd = as_packet(good.replace(status=5, flags=0xF0, reserved=9, raw_crc=7).pack(), payload)
    rows = [
        ("bad_header_crc", flipped, "one bit of the page key flipped"),
        ("bad_payload_bytes", shorter, "64 bytes fewer than codec, kind and shape give"),
        ("bad_payload_crc", damaged, "one bit of the last code flipped: the page is sent all the same"),
        ("truncated_header", packet[:1], "TLAST on the header: a page of zeros"),
        ("truncated", packet[:-1], "the last beat is missing and taken as zero"),
        ("overlong", np.concatenate([packet, packet[1:3]]), "two beats too many, dropped"),
        ("unchecked_fields", odd, "status, flags, reserved and raw_crc are not looked at"),
        ("crafted", crafted_frame(crafted_parameters(), "crafted"), "every code with unusual lo and scale"),
        ("bad_parameter", crafted_frame(bad_parameters(), "bad"), "groups that decode to zero"),
    ]
    for name, changed, shows in rows:
        yield Case(f"frame_{name}", DECOMPRESS, changed, shows)
    yield Case(
        "frame_bad_keep", DECOMPRESS, packet, "a TKEEP bit is 0: the page is sent all the same", keep_ok=False
    )
    both = crafted_frame(bad_parameters()[:2] + crafted_parameters()[8:9], "both").copy()
    both[-1, 0] ^= 1
    yield Case("frame_order", DECOMPRESS, both, "BAD_PAYLOAD_CRC comes before BAD_PARAMETER")
    first = as_packet(good.replace(kind=7).pack(), payload)[:-1]
    yield Case(
        "frame_header_first", DECOMPRESS, first, "BAD_KIND comes before the stream's faults", keep_ok=False
    )


def cases(design: Design) -> Iterator[Case]:
    """All vectors. A frame that kv_compress makes is also a vector for kv_decompress."""
    for name, packet, shows in page_cases():
        yield Case(f"{name}_compress", COMPRESS, packet, shows)
        yield Case(f"{name}_decompress", DECOMPRESS, model.compress_packet(design, packet), shows)
    yield from compress_faults()
    yield from decompress_faults(design)


# --------------------------------------------------------------------------------------------- the files

MODELS: dict[str, Callable[..., Packet]] = {
    COMPRESS: model.compress_packet,
    DECOMPRESS: model.decompress_packet,
}


def status_of(case: Case, answer: Packet) -> Status:
    """The status in an answer: in its first beat from kv_compress, in its last from kv_decompress."""
    beat = answer[0] if case.kernel == COMPRESS else answer[-1]
    return Status(int(beat[frame.field_offset("status")]))


def build(format_version: int) -> tuple[dict[str, bytes], dict]:
    """File contents by name, and the manifest. Packets that occur twice share a file."""
    design = Design.load(DESIGN)
    contents: dict[str, bytes] = {}
    names: dict[bytes, str] = {}
    entries = []

    def store(name: str, packet: Packet) -> str:
        image = packet.tobytes()
        if image not in names:
            names[image] = name
            contents[name] = image
        return names[image]

    for case in cases(design):
        answer = MODELS[case.kernel](design, case.packet, keep_ok=case.keep_ok)
        entries.append(
            {
                "name": case.name,
                "kernel": case.kernel,
                "shows": case.shows,
                "status": status_of(case, answer).name,
                "keep_ok": case.keep_ok,
                "in": store(f"{case.name}.in.bin", case.packet),
                "out": store(f"{case.name}.out.bin", answer),
            }
        )
    manifest = {
        "format_version": format_version,
        "design": DESIGN,
        "origin": "scripts/make_vectors.py: inputs from SHAKE-128, outputs of speckv.model when first made; "
        "a file is one packet, 64 bytes a beat, TLAST on the last",
        "cases": entries,
        "sha256": {name: hashlib.sha256(image).hexdigest() for name, image in sorted(contents.items())},
    }
    return contents, manifest


def conflicts(contents: dict[str, bytes], manifest: dict, folder: Path) -> list[str]:
    """What writing would change or drop among the vectors in `folder`."""
    if not (folder / MANIFEST).exists():
        return []
    frozen = json.loads((folder / MANIFEST).read_text())
    found = []
    for name, digest in frozen["sha256"].items():
        if name not in contents:
            found.append(f"{name} would be dropped")
        elif hashlib.sha256(contents[name]).hexdigest() != digest:
            found.append(f"{name} would change")
    made = {entry["name"]: entry for entry in manifest["cases"]}
    for entry in frozen["cases"]:
        new = made.get(entry["name"])
        if new is None or any(new[key] != entry[key] for key in ("kernel", "status", "keep_ok", "in", "out")):
            found.append(f"case {entry['name']} would change")
    return found


def write(new_format_version: int | None, folder: Path = VECTORS, format_version: int = frame.VERSION) -> int:
    """Write what is missing; everything if the format version is a new one. Returns an exit code."""
    contents, manifest = build(format_version)
    found = conflicts(contents, manifest, folder)
    if found:
        frozen_version = json.loads((folder / MANIFEST).read_text())["format_version"]
        if new_format_version is None:
            print("\n".join(found), file=sys.stderr)
            print(
                f"{len(found)} frozen vector(s) of format version {frozen_version} differ from what the code "
                "makes: mend the code, or raise the format version (docs, kernels, speckv.frame.VERSION) and "
                "pass --new-format-version",
                file=sys.stderr,
            )
            return 1
        if new_format_version != format_version or new_format_version <= frozen_version:
            print(
                f"--new-format-version is {new_format_version}, expected speckv.frame.VERSION, which is "
                f"{format_version}, and more than the frozen {frozen_version}",
                file=sys.stderr,
            )
            return 1
        for name in json.loads((folder / MANIFEST).read_text())["sha256"]:
            (folder / name).unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    for name, image in contents.items():
        path = folder / name
        if not path.exists():
            path.write_bytes(image)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    total_bytes = sum(map(len, contents.values()))
    print(f"{len(manifest['cases'])} vectors in {len(contents)} files, {total_bytes} bytes, in {folder}")
    return 0


def main() -> int:
    """Parse the command line and do what it says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--new-format-version", type=int, metavar="N", help="replace the vectors of an older format"
    )
    options = parser.parse_args()
    return write(options.new_format_version)


if __name__ == "__main__":
    sys.exit(main())

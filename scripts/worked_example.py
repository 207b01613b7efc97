#!/usr/bin/env python3
"""Print the worked example of hls/format.md: the text below its heading."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from speckv import bf16, codec, frame
from speckv.design import Design
from speckv.frame import Codec, Dtype, Flags, Kind

Page = NDArray[np.uint16]

EXAMPLE_TOKENS = [
    ("-4 to 3.75 in steps of 0.25", "ordinary values of both signs"),
    ("1.5 everywhere", "a constant group: `z` alone holds the value"),
    ("-0 and +0 in turn", "no range: `c` and `z` are 0, and signs of zero are lost"),
    ("the first token's, times 2^-40", "far below the page's greatest value: `c` is 1"),
]
CODE_BITS = 4


def example_page() -> Page:
    """The page of the worked example, [4, 32]."""
    ramp = np.arange(32, dtype=np.float64)
    tokens = [ramp / 4 - 4, np.full(32, 1.5), np.where(ramp % 2, 0.0, -0.0), np.ldexp(ramp / 4 - 4, -40)]
    return bf16.from_float32(np.array(tokens, np.float32))


def exponent(bits: int) -> int:
    """e(x) of a bf16."""
    return max(bits >> 7 & 0xFF, 1)


def significand(bits: int) -> int:
    """m(x) of a bf16."""
    return 8 * ((bits & 0x7F) + (128 if bits & 0x7F80 else 0))


def group_steps(values: Page, E: int) -> dict[str, int | str]:
    """The encoder's quantities for one group, in Python integers, as `hls/format.md` names them."""
    lo, hi = (int(bf16.from_order_key(key)) for key in np.sort(bf16.order_key(values))[[0, -1]])
    Eg = max(exponent(lo), exponent(hi))

    def sign(bits: int) -> int:
        return -1 if bits >> 15 else 1

    def fixed(bits: int) -> int:
        return sign(bits) * (significand(bits) * 32 >> (Eg - exponent(bits)))

    row: dict[str, int | str] = {"lo": f"{lo:04X}", "hi": f"{hi:04X}", "Eg": Eg, "F(lo)": fixed(lo), "F(hi)": fixed(hi)}
    T = max(2**20 // (2**CODE_BITS - 1) * (fixed(hi) - fixed(lo)), 8256 * abs(fixed(lo)))
    row["T"] = T
    if T == 0:
        return row | dict.fromkeys(("n", "M", "S", "R"), "") | {"c": 0, "z": 0}
    n = T.bit_length() - 1
    M, S = -(-T // 2 ** (n - 3)), n + Eg - 35
    if M == 16:
        M, S = 8, S + 1
    c = 8 * (S - E + 31) + M - 8
    if c < 1:
        c, S, M = 1, E - 31, 9
    R, h = (2**19 + M) // (2 * M), 25 + S - exponent(lo)
    z = (sign(lo) * significand(lo) * R + 2 ** (h - 1)) // 2**h
    return row | {"n": n, "M": M, "S": S, "R": R, "c": c, "z": z}


def hex_block(name: str, data: bytes) -> str:
    """A fenced block of hexadecimal bytes, 32 a line."""
    lines = [data[i : i + 32].hex(" ").upper() for i in range(0, len(data), 32)]
    return "\n".join([f"```hex {name}", *lines, "```"])


def table(rows: list[dict[str, int | str]]) -> str:
    """A markdown table."""
    head = list(rows[0])
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(str(row[key]) for key in head)} |" for row in rows)])


def worked_example() -> str:
    """The text below the heading `## A worked example`."""
    design, page = Design.load("tiny"), example_page()
    (image,) = codec.encode_frames(
        page[None],
        codec="quant4",
        kind="V",
        design=design,
        namespace=0x0123456789ABCDEF,
        page_keys=[42],
        generation=1,
    )
    header, parameters, words = image[:64], image[64:128], image[128:]
    back, made = codec.decode_frame(image, design)
    E = max(exponent(int(bits)) for bits in page.ravel())
    groups = [{"token": token, **group_steps(values, E)} for token, values in enumerate(page)]
    fields: list[dict[str, int | str]] = []
    for name in frame.HEADER_DTYPE.names or ():
        start = frame.field_offset(name)
        image_of_field = header[start : start + frame.HEADER_DTYPE[name].itemsize]
        fields.append(
            {
                "field": f"`{name}`",
                "bytes": image_of_field.hex(" ").upper(),
                "value": shown_field(name, getattr(made, name)),
            }
        )
    contents = [
        {"token": token, "values": values, "shows": shows} for token, (values, shows) in enumerate(EXAMPLE_TOKENS)
    ]
    decoded = bf16.to_float32(back)
    exact = bf16.to_float32(page)
    errors = [
        {"token": token, "first": f"{row[0]:.9g}", "last": f"{row[-1]:.9g}", "greatest error": f"{error:.6g}"}
        for token, (row, error) in enumerate(zip(decoded, np.abs(decoded - exact).max(axis=1), strict=True))
    ]
    return "\n\n".join(
        [
            "`scripts/worked_example.py` prints this section, and a test decodes it.",
            "A V page of 4 tokens × 32 channels, to be encoded with `quant4`. Each token is one (short) group:",
            table(contents),
            "The page, 256 bytes, one token in two lines:",
            hex_block("page", page.astype("<u2").tobytes()),
            f"E is {E}. The encoder's quantities for each group:",
            table(groups),
            "The frame's header:",
            hex_block("header", header),
            table(fields),
            "The payload's parameters, `c` and `z` of four groups, padded to a beat:",
            hex_block("parameters", parameters),
            "The payload's words, four a token, lowest plane first:",
            hex_block("words", words),
            f"The codes of the first token are the bits of its four words: {codes_of(words[:16])}.",
            f"Its first value decodes to ({groups[0]['z']} + 0) · {groups[0]['M']} · 2^{int(groups[0]['S']) - 130} = "
            f"{decoded[0, 0]:.9g}. The page that comes back:",
            hex_block("decoded", back.astype("<u2").tobytes()),
            table(errors),
            "In `kv_decompress`'s answer the header follows it, unchanged.\n",
        ]
    )


def codes_of(words: bytes) -> str:
    """The codes of a beat as text, lane 0 first."""
    planes = [int.from_bytes(words[at : at + 4], "little") for at in range(0, len(words), 4)]
    codes = [sum((plane >> lane & 1) << bit for bit, plane in enumerate(planes)) for lane in range(frame.LANES)]
    return ", ".join(map(str, codes))


def shown_field(name: str, value: int) -> str:
    """A header field's value as people read it."""
    names: dict[str, Callable[[int], object]] = {
        "codec": lambda v: f"{v}, `{Codec(v).label}`",
        "requested_codec": lambda v: f"{v}, `{Codec(v).label}`",
        "dtype": lambda v: f"{v}, `{Dtype(v).label}`",
        "kind": lambda v: f"{v}, {Kind(v).name}",
        "flags": lambda v: f"{v}" if v == Flags.NONE else f"{v}, {Flags(v).name}",
        "magic": lambda v: '"SKVF"',
    }
    if name.endswith("_crc"):
        return f"{value:08X}"
    if name == "namespace":
        return f"{value:016X}"
    return str(names[name](value)) if name in names else str(value)


if __name__ == "__main__":
    print(worked_example(), end="")

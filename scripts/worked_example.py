#!/usr/bin/env python3
"""Print the worked example of hls/format.md: the text below its heading."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from speckv import bf16, codec, frame
from speckv.design import Design
from speckv.frame import Codec, Flags, Kind

Page = NDArray[np.uint16]

EXAMPLE_TOKENS = [
    ("-4 to 3.75 in steps of 0.25", "ordinary values of both signs"),
    ("1.5 everywhere", "a constant group: `scale` is 0"),
    ("-0 and +0 in turn", "`lo` is -0 and D is 0: all become -0"),
    ("-128 to 120 in steps of 8, times 2^-133", "subnormals: `scale` is clamped to 2^-126"),
]


def example_page() -> Page:
    """The page of the worked example, [4, 32]."""
    ramp = np.arange(32, dtype=np.float64)
    tokens = [ramp / 4 - 4, np.full(32, 1.5), np.where(ramp % 2, 0.0, -0.0), np.ldexp(8 * ramp - 128, -133)]
    return bf16.from_float32(np.array(tokens, np.float32))


def group_steps(values: Page) -> dict[str, int | str]:
    """The encoder's quantities for one group, in Python integers, as `hls/format.md` names them."""
    lo, hi = (int(bf16.from_order_key(key)) for key in np.sort(bf16.order_key(values))[[0, -1]])

    def exponent(bits: int) -> int:
        return max(bits >> 7 & 0xFF, 1)

    E = max(exponent(lo), exponent(hi))

    def fixed(bits: int) -> int:
        magnitude = (bits & 0x7F) + (128 if bits & 0x7F80 else 0)
        return (-1 if bits >> 15 else 1) * (magnitude * 256 >> (E - exponent(bits)))

    D = fixed(hi) - fixed(lo)
    row: dict[str, int | str] = {"lo": f"{lo:04X}", "hi": f"{hi:04X}", "E": E, "F(lo)": fixed(lo), "D": D}
    if D == 0:
        return row | dict.fromkeys(("n", "M", "s", "R", "h"), "") | {"scale": "0000"}
    T = 257 * D
    n = T.bit_length() - 1
    M = T // 2 ** (n - 7) + 1
    if M == 256:
        M, n = 128, n + 1
    s = E + n - 31
    if s < 1:
        s, M = 1, 128
    R, h = (2**23 + M) // (2 * M), 30 + s - E
    return row | {"n": n, "M": M, "s": s, "R": R, "h": h, "scale": f"{s << 7 | M - 128:04X}"}


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
        codec="int8",
        kind="V",
        design=design,
        namespace=0x0123456789ABCDEF,
        page_keys=[42],
        generation=1,
    )
    header, parameters, codes = image[:64], image[64:128], image[128:]
    back, made = codec.decode_frame(image, design)
    groups = [{"token": token, **group_steps(values)} for token, values in enumerate(page)]
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
        {"token": token, "values": values, "shows": shows}
        for token, (values, shows) in enumerate(EXAMPLE_TOKENS)
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
            "A V page of 4 tokens × 32 channels, to be encoded with `int8`. Each token is one (short) group:",
            table(contents),
            "The page, 256 bytes, one token in two lines:",
            hex_block("page", page.astype("<u2").tobytes()),
            "The encoder's quantities for each group:",
            table(groups),
            "The frame's header:",
            hex_block("header", header),
            table(fields),
            "The payload's parameters, `lo` and `scale` of four groups, padded to a beat:",
            hex_block("parameters", parameters),
            "The payload's codes, 128 bytes, one token a line:",
            hex_block("codes", codes),
            "The page that comes back:",
            hex_block("decoded", back.astype("<u2").tobytes()),
            table(errors),
            "In `kv_decompress`'s answer the header follows it, unchanged.\n",
        ]
    )


def shown_field(name: str, value: int) -> str:
    """A header field's value as people read it."""
    names: dict[str, Callable[[int], object]] = {
        "codec": lambda v: f"{v}, `{Codec(v).name.lower()}`",
        "requested_codec": lambda v: f"{v}, `{Codec(v).name.lower()}`",
        "dtype": lambda v: f"{v}, `bf16`",
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

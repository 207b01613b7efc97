"""Two pictures: the way of a page through the kit, and how one C++ source is run in several ways."""

from __future__ import annotations

from speckv.report.svg import LINE, WIDTH, document, line, path, rect, text


def _box(x: float, y: float, width: float, height: float, lines: list[str], css: str = "box") -> str:
    """A box with its first line in bold, the lines centred."""
    body = [rect(x, y, width, height, css).replace("<rect ", '<rect rx="7" ')]
    baseline = y + height / 2 + 4.5 - (len(lines) - 1) * (LINE - 1) / 2
    for i, content in enumerate(lines):
        body.append(
            text(
                x + width / 2,
                baseline + i * (LINE - 1),
                content,
                css="group" if i == 0 else "note",
                anchor="middle",
            )
        )
    return "".join(body)


def _arrow(x1: float, y1: float, x2: float, y2: float, label: str = "") -> str:
    """A horizontal or vertical arrow; the label is written beside its middle."""
    if x1 == x2:
        sign = 1 if y2 > y1 else -1
        head = [(x2 - 4.5, y2 - 8 * sign), (x2, y2), (x2 + 4.5, y2 - 8 * sign)]
        body = line(x1, y1, x2, y2 - 3 * sign, "arrow")
        note = text(x1 + 10, (y1 + y2) / 2 + 4, label, css="note")
    else:
        sign = 1 if x2 > x1 else -1
        head = [(x2 - 8 * sign, y2 - 4.5), (x2, y2), (x2 - 8 * sign, y2 + 4.5)]
        body = line(x1, y1, x2 - 3 * sign, y2, "arrow")
        note = text((x1 + x2) / 2, y1 - 8, label, css="note", anchor="middle")
    return body + path(head, "arrow-head", closed=True) + (note if label else "")


def page_flow(raw_bytes: int, frame_bytes: int, page: str) -> str:
    """The way of a page: near memory, compression, far memory, decompression, and back."""
    wide = 178.0
    near, far = 4.0, WIDTH - wide - 4
    body = [
        _box(near, 8, wide, 64, ["page, near memory", page, f"{raw_bytes:,} bytes of bf16".replace(",", " ")]),
        _arrow(near + wide / 2, 72, near + wide / 2, 120),
        _box(near, 122, wide, 46, ["kv_compress", "C++ → RTL"], "box kernel"),
        _arrow(near + wide, 145, far, 145, "frame"),
        _box(far, 113, wide, 64, ["far memory", "header + payload", f"{frame_bytes:,} bytes".replace(",", " ")]),
        _arrow(far + wide / 2, 177, far + wide / 2, 220),
        _box(far, 222, wide, 46, ["kv_decompress", "C++ → RTL"], "box kernel"),
        _arrow(far, 245, near + wide, 245, "page"),
        _box(near, 213, wide, 64, ["page again", "every error below", "its stated bound"]),
    ]
    title = "The way of a page"
    description = (
        f"A page of {raw_bytes} bytes goes from near memory through the kernel kv_compress, as a frame of "
        f"{frame_bytes} bytes to far memory, and back through kv_decompress."
    )
    return document(title, description, 282, body)


def source_flow(backends: list[str]) -> str:
    """One C++ source and what each backend runs; the backends of this run are drawn solid."""
    rows = [
        ("csim", "clang, native code", 8.0),
        ("cosim", "hlsc → RTL → Verilator", 92.0),
        ("software", "numpy, shares no code", 222.0),
    ]
    body = [
        _box(4, 8, 156, 132, ["HLS C++", "templates + headers", "one parameter set"], "box kernel"),
        _box(4, 222, 156, 48, ["format.md", "the normative text"]),
    ]
    for backend, note, y in rows:
        body.append(_box(194, y, 180, 48, [backend, note], "box" if backend in backends else "box absent"))
        body.append(_arrow(160, y + 24, 194, y + 24))
        body.append(_arrow(374, y + 24, 404, y + 24))
    body.append(_box(404, 8, 72, 262, ["same", "frames,", "same", "pages,", "bit", "for bit"], "box result"))
    title = "One source, several ways to run it"
    description = (
        "The kernels' C++ runs as native code (csim) and, compiled by hlsc, as RTL under Verilator (cosim). "
        "The numpy codec (software) is written from the normative text. All must give the same bits."
    )
    return document(title, description, 282, body)

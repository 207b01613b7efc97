#!/usr/bin/env python3
"""Make the frozen test vectors in tests/vectors.

    python scripts/make_vectors.py                    add vectors that are missing; refuse to change any
    python scripts/make_vectors.py --new-format-version 4
                                                      make all anew, once speckv.frame.VERSION is 4

A vector is one packet into a kernel and the packet that must come out. Inputs come from SHAKE-128 streams, so
that no library's random numbers matter; outputs are those of `speckv.model` when the vector was first made.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from speckv import frame, model
from speckv.design import Design
from speckv.frame import SCALE_BITS, Status
from vector_cases import COMPRESS, DECOMPRESS, FINE_BITS, Case, cases
from vector_pages import Packet

VECTORS = Path(__file__).resolve().parents[1] / "tests" / "vectors"
MANIFEST = "manifest.json"
DESIGN = "tiny"

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
    full = replace(Design.load(DESIGN), codecs=frame.CODEC_NAMES)
    designs = {bits: replace(full, scale_bits=bits) for bits in (SCALE_BITS, FINE_BITS)}
    contents: dict[str, bytes] = {}
    names: dict[bytes, str] = {}
    entries = []

    def store(name: str, packet: Packet) -> str:
        image = packet.tobytes()
        if image not in names:
            names[image] = name
            contents[name] = image
        return names[image]

    for case in cases(designs):
        answer = MODELS[case.kernel](designs[case.scale_bits], case.packet, keep_ok=case.keep_ok)
        entries.append(
            {
                "name": case.name,
                "kernel": case.kernel,
                "shows": case.shows,
                "status": status_of(case, answer).name,
                "keep_ok": case.keep_ok,
                "scale_bits": case.scale_bits,
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
        if new is None or any(new[key] != entry.get(key) for key in set(new) - {"shows"}):
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--new-format-version", type=int, metavar="N", help="replace the vectors of an older format")
    options = parser.parse_args()
    return write(options.new_format_version)


if __name__ == "__main__":
    sys.exit(main())

"""Runs clang, and puts its messages into the terms of the kernel's author.

Files are shown as the author named them: no message and no report holds a path of this machine.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .errors import UNKNOWN, HlscError, Location

INCLUDE_DIR = Path(__file__).parent / "include"
# parts of the C++ library for threads, files and time
_HOSTED = frozenset([
    "print", "thread", "mutex", "shared_mutex", "condition_variable", "future", "semaphore", "barrier", "latch",
    "stop_token", "filesystem", "chrono", "locale", "regex", "random",
])  # fmt: skip
_INTEGERS = "compute with ap_int or ap_uint, and shift where the binary point moves"
_DATAFLOW = (
    "call the functions from a top with dataflow and ap_ctrl_none: there each process starts again when it returns"
)
# headers of Vitis HLS that hlsc has not: what is missing with them, what to write instead
_VENDOR = {
    "ap_fixed.h": ("fixed-point types", _INTEGERS),
    "ap_float.h": ("floating-point types", _INTEGERS),
    "hls_half.h": ("floating-point types", _INTEGERS),
    "hls_math.h": ("mathematical functions", "write the function with integers, or look it up in a constant table"),
    "hls_vector.h": ("hls::vector", "write a struct with an array, or a wide ap_uint with range()"),
    "hls_task.h": ("hls::task", _DATAFLOW),
    "hls_np_channel.h": (
        "hls::merge or hls::split",
        "write the merge or split as a process that takes its streams in a fixed order",
    ),
    "hls_streamofblocks.h": ("hls::stream_of_blocks", "send the words of a block through an hls::stream"),
    "hls_directio.h": ("direct inputs or outputs", "use an hls::stream, or an integer on s_axilite"),
    "hls_burst_maxi.h": ("hls::burst_maxi", "use hlsc::burst_read and hlsc::burst_write of hlsc_burst.h"),
    "hls_print.h": ("output of text", "guard it with #ifndef __SYNTHESIS__"),
    "hls_fft.h": ("FFT core", "write the transform in the kernel"),
    "hls_fir.h": ("FIR core", "write the filter as a loop over its coefficients"),
    "hls_dsp_builtins.h": ("DSP primitives", "write the products and sums: synthesis puts them into DSP slices"),
    "hls_array_partition.h": ("partitioned array type", "use #pragma HLS array_partition"),
    "ap_shift_reg.h": ("shift register class", "write a static array that a loop with unroll shifts"),
    "ap_utils.h": ("wait for cycles", "let streams decide the order: cycles are not part of a kernel's function"),
}


def run_clang(arguments: Sequence[str], display: Mapping[str, str], cwd: Path, folders: Sequence[Path] = ()) -> str:
    """Run clang. Messages show files of ``folders`` by their path there."""
    command = [sys.executable, "-m", "ziglang", "c++", *arguments]
    run = subprocess.run(command, capture_output=True, cwd=cwd)
    if run.returncode != 0:
        errors = run.stderr.decode("utf-8", "replace").replace(f"{INCLUDE_DIR}/", "<hlsc>/")
        for path in folders:
            errors = re.sub(rf"^(In file included from |\s+from |){re.escape(str(path))}/", r"\1", errors, flags=re.M)
        raise _clang_error(errors, display)
    try:
        return run.stdout.decode("utf-8")
    except UnicodeDecodeError as e:
        raise _header_not_utf8(run.stdout[: e.start], display, cwd) from None


def not_utf8(file: str, error: UnicodeDecodeError) -> HlscError:
    return HlscError(
        Location(file, error.object.count(b"\n", 0, error.start) + 1, 1),
        "source file",
        f"byte {error.start} is not UTF-8",
        "save the file as UTF-8",
    )


def _header_not_utf8(before: bytes, display: Mapping[str, str], cwd: Path) -> HlscError:
    """The included file that the preprocessed text was in when it ceased to be UTF-8."""
    markers = re.findall(rb'^# \d+ "((?:[^"\\]|\\.)*)"', before, re.M)
    name = markers[-1].decode("utf-8", "replace") if markers else "kernel.cpp"
    try:
        (cwd / name).read_bytes().decode("utf-8")
    except UnicodeDecodeError as e:
        return not_utf8(display.get(name, Path(name).name), e)
    except OSError:
        pass
    return HlscError(Location(display.get(name, Path(name).name)), "source file", "it is not UTF-8", "save it as UTF-8")


def _clang_error(stderr: str, display: Mapping[str, str]) -> HlscError:
    """The first error of clang as an HlscError, at the user's own line if it arose inside a header of
    hlsc.
    """
    where, message = UNKNOWN, stderr.strip().splitlines()[-1] if stderr.strip() else "clang failed"
    error_seen = False
    included: list[Location] = []  # from where, outermost first
    for line in stderr.splitlines():
        m = re.match(r"(?:In file included|\s+) from (.*?):(\d+)[:,]", line)
        if m and not error_seen:
            included.append(Location(display.get(m.group(1), m.group(1)), int(m.group(2)), 1))
        m = re.match(r"(.*?):(\d+):(\d+): (fatal error|error|note): (.*)", line)
        if not m:
            continue
        place = Location(display.get(m.group(1), m.group(1)), int(m.group(2)), int(m.group(3)))
        if "error" in m.group(4):
            if error_seen:
                break
            error_seen, where, message = True, place, m.group(5)
            own = [x for x in included if not _foreign(x.file)]
            if _foreign(where.file) and own:  # inside the C++ library: show the line that includes it
                return HlscError(
                    own[-1],
                    "#include of a header of the C++ library",
                    f"it needs an operating system or exceptions ({Path(place.file).name.strip('<>')}: {message})",
                    "include only <cstdint>, <climits>, <type_traits> and the like, or guard it with "
                    "#ifndef __SYNTHESIS__",
                )
        elif error_seen and where.file.startswith("<hlsc>") and "requested here" in m.group(5):
            where = place
    if _foreign(where.file):
        where = Location(Path(where.file).name, where.line, where.column)
    own_refusal = re.match(r"static assertion failed.*?: (\S+\(\)): (.*); instead: (.*)", message)
    if own_refusal is not None:  # of hls_stream.h
        return HlscError(where, *own_refusal.groups())
    private = re.match(r"cannot (?:bind|decompose) .* of '(.*)'", message)
    if private is not None:  # hls_stream.h opens what it packs
        what = f"stream element of type {private.group(1)}"
        return HlscError(where, what, "it has private members", "use a struct of integers and arrays")
    return _missing_header(where, message) or HlscError(
        where, "C++ error", message, "correct the source: clang does not accept it"
    )


def _missing_header(where: Location, message: str) -> HlscError | None:
    m = re.match(r"'(.*)' file not found", message)
    if m is None:
        return None
    why, instead = f"there is no file {m.group(1)}", "pass the folder that holds it with -I"
    known = _VENDOR.get(m.group(1).rpartition("/")[2])
    if known is not None:
        why, instead = f"hlsc has no {known[0]}", known[1]
    return HlscError(where, f"#include of {m.group(1)}", why, instead)


def _foreign(file: str) -> bool:
    """A header of the C++ library: its path is absolute, or was and is shown as <...>."""
    return Path(file).is_absolute() or (file.startswith("<") and not file.startswith("<hlsc>"))


def refuse_hosted(preprocessed: str, shown: str) -> None:
    """Headers of the C++ library that only make sense with an operating system."""
    file, line = shown, 1
    for text in preprocessed.splitlines():
        m = re.match(r'# (\d+) "((?:[^"\\]|\\.)*)"((?: \d)*)', text)
        if m is None:
            line += 1
            continue
        name = Path(m.group(2)).name.strip("<>")
        if "1" in m.group(3).split() and _foreign(m.group(2)) and name in _HOSTED and not _foreign(file):
            raise HlscError(
                Location(file, line, 1),
                f"#include <{name}>",
                "this part of the C++ library has no hardware",
                "guard it with #ifndef __SYNTHESIS__",
            )
        file, line = m.group(2), int(m.group(1))


def display_names(text: str, main: str, shown: str, include_dirs: Sequence[Path]) -> str:
    """Rewrite the line markers, so that no absolute path gets into messages and reports.

    Headers of hlsc become <hlsc>/..., the temporary file the user's name, headers in the folders that were
    given their path there, and those of the C++ library <...>.
    """

    def rename(m: re.Match[str]) -> str:
        path = m.group(2)
        if path == main:
            path = shown
        elif Path(path).parent == INCLUDE_DIR:
            path = "<hlsc>/" + Path(path).name
        else:
            for folder in include_dirs:
                if Path(path).is_absolute() and Path(path).is_relative_to(folder):
                    path = str(Path(path).relative_to(folder))
                    break
            else:
                if Path(path).is_absolute():
                    path = f"<{path.rpartition('/include/')[2].lstrip('/')}>"
        return f'{m.group(1)}"{path}"'

    return re.sub(r'^(# \d+ )"((?:[^"\\]|\\.)*)"', rename, text, flags=re.M)

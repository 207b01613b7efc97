"""Which constructs of hlsc's subset a kernel has, told from its text; and which tests use or refuse each of them.

    python tests/hlsc/constructs.py    the table: construct, directed programs, random programs, refused by

The directed programs are those of tests/hlsc/programs, the random ones those of the batch in test_random_programs.py,
so the table cannot say more than the tests do.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Loops:
    """The loops of a text that are not unrolled whole."""

    deepest: int  # loops in loops
    with_streams: bool  # a `while` or `do` with a stream access directly inside


@cache
def loops_of(text: str) -> Loops:
    deepest, with_streams = 0, False
    head = ""  # the loop whose body comes next
    parentheses = 0
    open_braces: list[str] = []  # the loop that each belongs to, '' if none
    for m in re.finditer(r"\b(?:for|while|do)\b|[(){};]|\.(?:read|write)\(", text):
        token = m.group(0)
        if token in ("for", "while", "do"):
            head = token
        elif token == "{":
            unrolled = re.match(r"\s*#pragma HLS unroll\s*\n", text[m.end() :])
            open_braces.append("" if unrolled else head)
            deepest = max(deepest, sum(x != "" for x in open_braces))
            head = ""
        elif token == "}":
            open_braces.pop()
        elif token == ";" and parentheses == 0:
            head = ""
        elif token.endswith("("):
            parentheses += 1
            with_streams |= len(token) > 1 and open_braces[-1] in ("while", "do")
        elif token == ")":
            parentheses -= 1
    return Loops(deepest, with_streams)


def widest(text: str) -> int:
    return max(map(int, re.findall(r"\bap_u?int<(\d+)>", text)), default=0)


def constant_words(text: str) -> list[int]:
    """Sizes of the constant arrays."""
    return [int(n) for n in re.findall(r"\bconst [\w<>]+(?: \w+)? \w+\[(\d+)\] = \{", text)]


_ARRAY = r"(?m)^  (?:[\w<>]+ )?[\w<>]+ (\w+)\[\d+\]"
_IN_TABLE = r"(?m)^  (?:[\w<>]+ )?[\w<>]+ \w+\[\d+\]\[\d+\];"

# construct -> how its presence is told
PRESENT: dict[str, str | Callable[[str], bool]] = {
    # control flow
    "loop with a constant bound": r"for \(\w+ (\w+) = 0; \1 < \d+;",
    "loop with a variable bound": r"for \(\w+ (\w+) = 0; \1 < [a-z]",
    "loops nested twice": lambda text: loops_of(text).deepest >= 2,
    "loops nested three deep": lambda text: loops_of(text).deepest >= 3,
    "while": r"(?m)^ *while \(",
    "do ... while": r"\bdo \{",
    "while with stream accesses": lambda text: loops_of(text).with_streams,
    "break out of a loop": r"\) break;|^ +break;\n +\}\n(?! *(?:case|default))",
    "continue": r"\bcontinue;",
    "loop label": r"(?m)^ *\w+: for \(",
    "if ... else": r"\} else \{",
    "switch": r"\bswitch \(",
    "switch that falls through": r"\n *\}\n *case |case \d+:\n? *case ",
    # streams and processes
    "three or more stream ports": lambda text: text.count("mode=axis") >= 3,
    "conditional read": r"if \(.*\) [^;{]*\.read\(\)",
    "conditional write": r"if \(.*\) \w+\.write\(",
    "dataflow, two processes": r'hls::stream<.*> \w+\("\w+"\);',
    "dataflow, more processes": lambda text: len(re.findall(r'hls::stream<.*> \w+\("\w+"\);', text)) >= 3,
    "two instances of a process": r"(?m)^  (\w+)\(\w+, \w+\);\n  \1\(",
    "stream depth": r"#pragma HLS stream variable=",
    "structure in a stream": r"hls::stream<(?:Item|\w+_item)>",
    "keep and last": r"AXIS_ENABLE_KEEP",
    "user, id and dest": r"ap_axiu<",
    "rewind": r"#pragma HLS pipeline.* rewind",
    # types
    "ap_uint": r"\bap_uint<",
    "ap_int": r"\bap_int<",
    "integers of 65 to 256 bits": lambda text: widest(text) > 64,
    "integers of 257 to 1024 bits": lambda text: widest(text) > 256,
    "native integers": r"(?m)^ +(?:const )?(?:unsigned|int|short|long|unsigned char|unsigned long) \w+ = ",
    "structure or class with methods": r"\bMeter<|struct counter",
    "function template": r"\bfolded<|\bsaturated<|template <",
    "inlined function": r"\b(?:rotated|ones|folded|saturated|sum_or_most|mix)\w*(?:<\d+>)?\(",
    # operators
    "product": r"[\w)>] \* [\w(]",
    "quotient by a constant": r" / (?:-?\d+u?\b|NUMBER)",
    "remainder by a constant": r" % (?:-?\d+u?\b|NUMBER)",
    "quotient or remainder by a variable": r" [/%] (?:ap_|\(unsigned\)|[a-z]\w*;)",
    "shift by a constant": r"(?:<<|>>) \d",
    "shift by a variable": r"(?:<<|>>) (?:ap_|\()",
    "range, constant": r"\.range\(\d+, \d+\)",
    "range, moving": r"\.range\((?:\(|\w+ \+|\d+ \* )",
    "range, assigned": r"\.range\(.*\) = ",
    "bit, constant": r"\w\[\d+\]",
    "bit, assigned": r"\w\[.*\] = \(",
    "concatenation": r"\(\((?:[\w.]+|x), ",
    "concatenation, assigned": r"(?m)^ *\(\w+, \w+\) = ",
    "reductions": r"\.(?:and|or|xor)_reduce\(\)",
    "increment, decrement": r"\w(?:\+\+|--);",
    "minimum, maximum": r"\((.+) [<>] (.+) \? \1 : \2\)|a < c \? a : c",
    "magnitude": r"(\w[^;?]*) < 0 \? [^;]*-\1",
    "saturation": r"\bsaturated<|\bsum_or_most\(|> 127 \?",
    "leading zeros": r"\.countLeadingZeros\(\)",
    "trailing zeros": r"reverse\(\)\.countLeadingZeros|__builtin_ctz|trailing = ",
    "number of ones": r"__builtin_popcount|\bones\(",
    "bit and byte reversal": r"\.reverse\(\)|__builtin_bswap",
    "rotation": r"rotate\(|\brotated\(",
    # memories
    "array": _ARRAY,
    "several arrays in a process": lambda text: any(len(re.findall(_ARRAY, f)) > 1 for f in re.split(r"(?m)^}", text)),
    "array of two dimensions": _IN_TABLE,
    "array of structures": r"(?m)^ +\w+_cell\d* \w+\[|counter counters\[",
    "two accesses of an array in a statement": r"(?<!\.)\b([a-z]\w*)\[(?!\d+\]).*;?(?<![.\w])\1\[(?!\d+\])",
    "constant array, small: logic": lambda text: any(n <= 64 for n in constant_words(text)),
    "constant array, large: ROM": lambda text: any(n > 64 for n in constant_words(text)),
    "initial values from constructors": r"const ap_u?int<\d+> \w+\[\d+\] = \{|\bconst powers table",
    "static variable": r"(?m)^ +static (?!const)[^\[(]* = ",
    "static array": r"(?m)^ *static (?!const)[^=(]*\[\d+\];",
    # pragmas
    "pipeline II=": r"#pragma HLS pipeline II=",
    "unroll": r"#pragma HLS unroll\s*\n",
    "unroll factor=": r"#pragma HLS unroll factor=",
    "array_partition complete": r"#pragma HLS array_partition",
    "bind_storage": r"#pragma HLS bind_storage",
    "loop_tripcount": r"#pragma HLS loop_tripcount",
    "inline": r"#pragma HLS inline",
}

# covered by benches of their own
ELSEWHERE = {
    "s_axilite arguments and results": "test_control.test_runs_in_the_rtl",
    "m_axi by burst processes": "test_control.test_runs_in_the_rtl",
    "ap_ctrl_hs, ap_ctrl_chain": "test_control.test_runs_in_the_rtl",
    "result widths of ap_int, ap_uint": "test_ap_int.test_ap_int_matches_ap_types",
}

# what the subset does not have -> the test that demands its refusal
REFUSED = {
    "recursion, dynamic memory, floating point, foreign functions": "test_subset.test_construct_without_hardware",
    "endless loop without a stream": "test_subset.test_endless_loop_without_stream",
    "empty(), full() of a stream": "test_subset.test_state_of_a_stream_has_no_hardware",
    "reading and writing one stream": "test_subset.test_reading_and_writing_one_stream",
    "one stream inside a process": "test_subset.test_construct_without_hardware",
    "pragma that cannot be honoured": "test_subset.test_pragma_that_cannot_be_honoured",
    "pragma of an unknown variable": "test_subset.test_pragma_of_an_unknown_variable",
    "rewind with anything beside one loop": "test_subset.test_rewind_needs_one_loop_and_nothing_else",
    "stream without one of its ends": "test_subset.test_stream_needs_both_ends",
    "variable shared by processes": "test_subset.test_processes_share_nothing_but_streams",
    "array copied as a whole, of mixed structures": "test_subset.test_whole_array_copies_of_mixed_structs",
    "initial value not known at compile time": "test_subset.test_initialiser_that_cannot_be_computed",
    "name that the RTL needs": "test_subset.test_names_that_the_rtl_needs_itself",
    "top of another form": "test_subset.test_what_the_top_must_be",
    "header without hardware": "test_subset.test_library_without_hardware",
    "sizes beyond reason": "test_subset.test_sizes_beyond_reason_are_refused_at_once",
    "missing top": "test_subset.test_top_must_exist",
    "C++ error": "test_subset.test_cpp_error_is_at_the_users_line",
    "port without an interface": "test_subset.test_every_port_needs_an_interface",
    "control and register interfaces that do not fit": "test_interface_pragmas.test_refusals",
    "memory outside of burst processes": "test_interface_pragmas.test_what_may_not_be_done_with_memory",
}


def constructs_of(source: str) -> set[str]:
    """Names from PRESENT."""
    text = re.sub(r"//.*", "", source)
    return {name for name, how in PRESENT.items() if (how(text) if callable(how) else re.search(how, text))}


def users(programs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """construct -> names of those programs, given as (name, source), that have it."""
    found: dict[str, list[str]] = {name: [] for name in PRESENT}
    for name, source in programs:
        for construct in constructs_of(source):
            found[construct].append(name)
    return found


def directed_users() -> dict[str, list[str]]:
    folder = Path(__file__).resolve().parent / "programs"
    return users((path.stem, path.read_text()) for path in sorted(folder.glob("*.cpp")))


def random_users(seeds: Iterable[int]) -> dict[str, list[str]]:
    from program_generator import generate

    return users((str(seed), generate(seed).source) for seed in seeds)


def is_a_test(name: str) -> bool:
    """`test_subset.test_top_must_exist`: is there such a function in such a file?"""
    module, _, function = name.partition(".")
    path = Path(__file__).resolve().parent / f"{module}.py"
    return path.exists() and f"def {function}(" in path.read_text()


def table(seeds: range) -> str:
    """In Markdown."""
    directed, fuzzed = directed_users(), random_users(seeds)
    rows = [f"| construct | directed | random programs of {len(seeds)} | refused |", "|---|---|---|---|"]
    for construct in PRESENT:
        names = directed[construct]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") if names else "-"
        rows.append(f"| {construct} | {shown} | {len(fuzzed[construct])} | |")
    rows += [f"| {construct} | {test} | - | |" for construct, test in ELSEWHERE.items()]
    rows += [f"| {construct} | - | - | {test} |" for construct, test in REFUSED.items()]
    return "\n".join(rows)


if __name__ == "__main__":
    from test_random_programs import SEEDS

    print(table(SEEDS))

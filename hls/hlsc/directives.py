"""The directives of `#pragma HLS` that hlsc knows, their options and values; and why it refuses others."""

from __future__ import annotations

import re

from .errors import HlscError, Location

# directive -> option -> None (a flag), or the pattern its value must match
_KNOWN: dict[str, dict[str, str | None]] = {
    "pipeline": {"ii": r"[1-9]\d*", "rewind": None, "style": r"flp"},
    "unroll": {"factor": r"\S+"},
    "dataflow": {},
    "interface": {
        "mode": r"\w+",
        "port": r"\w+",
        "bundle": r"\w+",
        "offset": r"slave|0[xX][0-9a-fA-F]+|\d+",
        "depth": r"\S+",
        "max_read_burst_length": r"[1-9]\d*",
        "max_write_burst_length": r"[1-9]\d*",
        "num_read_outstanding": r"[1-9]\d*",
        "num_write_outstanding": r"[1-9]\d*",
        "axis": None,
        "m_axi": None,
        "register_mode": r"both",
        "s_axilite": None,
        "ap_ctrl_none": None,
        "ap_ctrl_hs": None,
        "ap_ctrl_chain": None,
        "ap_none": None,
        "ap_vld": None,
    },
    "stream": {"variable": r"[\w.\[\]]+", "depth": r"[1-9]\d*", "type": r"fifo"},
    "array_partition": {
        "variable": r"[\w.]+",
        "type": r"(?i:complete|cyclic|block)",
        "complete": None,
        "cyclic": None,
        "block": None,
        "factor": r"[1-9]\d*",
        "dim": r"\d",
    },
    "dependence": {
        "variable": r"[\w.]+",
        "type": r"(?i:inter|intra)",
        "inter": None,
        "intra": None,
        "class": r"(?i:array)",
        "array": None,
        "direction": r"(?i:raw|war|waw)",
        "raw": None,
        "war": None,
        "waw": None,
        "dependent": r"(?i:true|false)",
        "true": None,
        "false": None,
    },
    "bind_storage": {
        "variable": r"[\w.]+",
        "type": r"(?i:ram_2p|ram_s2p|ram_1p|rom_1p|rom_2p|rom_np|fifo)",
        "impl": r"(?i:auto|bram|lutram|uram)",
    },
    "loop_tripcount": {"min": r"\S+", "max": r"\S+", "avg": r"\S+"},
    "inline": {"off": None, "recursive": None},
    "function_instantiate": {"variable": r"\w+"},
    "stable": {"variable": r"\w+"},
    "loop_flatten": {"off": None},
    "aggregate": {"variable": r"[\w.]+", "compact": r"bit"},
}
# the values of each pattern in words
_EXPECTED = {
    r"[1-9]\d*": "give a whole number from 1",
    r"\d": "give a whole number from 0 to 9",
    r"\S+": "give a value",
    r"\w+": "give a name",
    r"[\w.]+": "give the name of a variable",
    r"[\w.\[\]]+": "give the name of a stream",
    r"flp": "write style=flp",
    r"fifo": "write type=fifo",
    r"(?i:complete|cyclic|block)": "write type=complete, type=cyclic or type=block",
    r"(?i:inter|intra)": "write type=inter",
    r"(?i:array)": "write class=array, or leave it out",
    r"(?i:raw|war|waw)": "give one of RAW, WAR, WAW",
    r"(?i:true|false)": "write dependent=false",
    r"both": "write register_mode=both: every stream port of hlsc is registered in both directions",
    r"bit": "write compact=bit",
    r"slave|0[xX][0-9a-fA-F]+|\d+": "write offset=slave for m_axi, or the byte address of a register for s_axilite",
    r"(?i:ram_2p|ram_s2p|ram_1p|rom_1p|rom_2p|rom_np|fifo)": "give one of ram_1p, ram_2p, ram_s2p, rom_1p, "
    "rom_2p, rom_np, fifo",
    r"(?i:auto|bram|lutram|uram)": "give one of auto, bram, lutram, uram",
}
# directives that hlsc could only ignore: why, and what to do instead
_REFUSED = {
    "latency": ("how long a stage takes follows from the clock, and streams wait for data anyway", "remove it"),
    "allocation": ("operators are not shared", "remove it; a loop that is not unrolled uses one operator"),
    "bind_op": ("synthesis chooses how an operator is built", "remove it"),
    "array_reshape": ("elements of an array are not joined to words", "use array_partition, or wider elements"),
    "disaggregate": (
        "members of structs are always apart in arrays and variables, and always together in a stream",
        "remove it; for ports of their own pass one argument for each member",
    ),
    "reset": ("static variables in registers have their initial values at reset, those in RAM never", "remove it"),
    "protocol": ("an order of cycles is not kept: streams and their order are", "let a stream carry the order"),
    "occurrence": ("a condition decides in every iteration", "remove it"),
    "performance": ("transactions are not a target of the schedule", "ask for an II with pipeline"),
    "loop_merge": ("loops stay as they are written", "write one loop"),
    "expression_balance": ("chains of integer operations are always balanced", "remove it"),
    "array_stencil": ("window buffers are not inferred", "write the line buffer as an array"),
    "cache": ("masters have no cache", "keep the data in an array"),
    "alias": ("memory is reached by bursts only, in their order", "remove it"),
    "top": ("the command line names the top", "remove it"),
}
# beyond these a typing error is more likely than a purpose
MAX_DEPTH = 1 << 20
MAX_UNROLL = 4096
_GREATEST = {
    ("pipeline", "ii"): 4096,
    ("unroll", "factor"): MAX_UNROLL,
    ("stream", "depth"): MAX_DEPTH,
    ("array_partition", "factor"): MAX_UNROLL,
}
# older spellings: flag -> the option whose value it is
_PARTITIONS = dict.fromkeys(("complete", "cyclic", "block"), "type")
_DEPENDENCES = {
    **dict.fromkeys(("inter", "intra"), "type"),
    **dict.fromkeys(("raw", "war", "waw"), "direction"),
    **dict.fromkeys(("true", "false"), "dependent"),
    "array": "class",
}
_AS_VALUE = {"array_partition": _PARTITIONS, "dependence": _DEPENDENCES}


def parse_options(text: str, where: Location) -> tuple[str, dict[str, str]]:
    """The directive and the options of what follows `#pragma HLS`. Raises HlscError for any that is not known.

    A flag has the value 'true'; the flags that name a type are given as that option.
    """
    text = re.sub(r"\s*([=*/+()])\s*", r"\1", text.strip())
    words = text.split()
    if not words:
        raise HlscError(where, "#pragma HLS", "the directive is missing", "name one, for example pipeline II=1")
    directive = words[0].lower()
    if directive in _REFUSED:
        why, instead = _REFUSED[directive]
        raise HlscError(where, f"#pragma HLS {directive}", f"not supported: {why}", instead)
    if directive not in _KNOWN:
        raise HlscError(
            where,
            f"#pragma HLS {directive}",
            "this directive is not supported and would have no effect",
            "remove it; supported are " + ", ".join(sorted(_KNOWN)),
        )
    options: dict[str, str] = {}
    for word in words[1:]:
        key, eq, value = word.partition("=")
        key = key.lower()
        if key not in _KNOWN[directive] or bool(eq) != (_KNOWN[directive][key] is not None):
            raise HlscError(
                where,
                f"#pragma HLS {directive} {word}",
                "this option is not supported",
                "use only " + (", ".join(sorted(_KNOWN[directive])) or "the directive without options"),
            )
        pattern = _KNOWN[directive][key]
        if pattern is not None and not re.fullmatch(pattern, value):
            raise HlscError(
                where,
                f"#pragma HLS {directive} {word}",
                "this value is not supported",
                _EXPECTED[pattern],
            )
        greatest = _GREATEST.get((directive, key))
        # the length first: Python refuses to convert thousands of digits
        if greatest is not None and value.isdecimal() and not (len(value) < 10 and 0 < int(value) <= greatest):
            raise HlscError(
                where,
                f"#pragma HLS {directive} {key}",
                "the value is zero" if value.strip("0") == "" else f"the value is above the limit of {greatest}",
                f"give a whole number from 1 to {greatest}",
            )
        options[key] = (value.lower() if pattern is not None and pattern.startswith("(?i:") else value) or "true"
    for key in [k for k in options if k in _AS_VALUE.get(directive, {})]:
        options.pop(key)
        options[_AS_VALUE[directive][key]] = key
    return directive, options

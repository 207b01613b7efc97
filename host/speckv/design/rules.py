"""What a design may be: every rule that its parameters break, by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from speckv import frame
from speckv.checks import cut, shown, suggestion, typed
from speckv.connectivity import KERNELS, SYSTEM, with_channels
from speckv.design import placement
from speckv.design.parameters import PARAMETERS, Parameter
from speckv.prefetch.parameters import violations as table_violations

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_MAX_LANE_BYTES = 0xFFFF  # a lane has a symbol of at most 8 bits in every beat


def violations(name: object, mapping: Mapping[str, Any]) -> list[str]:
    """Every broken rule, one line each, in the order of `PARAMETERS`, then the unknown keys."""
    lines = []
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        lines.append(
            f"name is {typed(name)}, expected a lower-case identifier (a letter, then letters, digits, _): "
            "it names C++ and RTL modules; rename the file"
        )
    for key, parameter in PARAMETERS.items():
        if key in mapping:
            problem = _problem(parameter, mapping[key])
            if problem:
                lines.append(f"{key} is {problem}, expected {parameter.rule}; {parameter.remedy}")
        elif not parameter.optional:
            lines.append(f"{key} is missing, expected {parameter.rule}; {parameter.remedy}")
    for key in mapping:
        if key not in PARAMETERS:
            text = cut(key) if isinstance(key, str) else shown(key)
            lines.append(f"{text} is no parameter; {suggestion(text, list(PARAMETERS))}")
    return lines or [
        *table_violations(mapping.get("prefetch")),
        *_lane_violations(mapping),
        *_board_violations(mapping),
    ]


def _board_violations(mapping: Mapping[str, Any]) -> list[str]:
    kernels = KERNELS if "prefetch" in mapping else SYSTEM.kernels
    return placement.violations(mapping.get("board"), with_channels(mapping.get("dma_channels", 1)).memories, kernels)


def _lane_violations(mapping: Mapping[str, Any]) -> list[str]:
    """The rule that joins parameters: a lane of a prefix-coded page must not be longer than its length can say."""
    prefix = [codec.label for codec in frame.Codec if codec.is_prefix and codec.label in mapping["codecs"]]
    beats = mapping["max_tokens"] * mapping["max_channels"] // frame.LANES
    if not prefix or beats <= _MAX_LANE_BYTES:
        return []
    return [
        f"max_tokens * max_channels is {frame.LANES} * {beats}, expected {frame.LANES} * {_MAX_LANE_BYTES} or less "
        f"with codec {prefix[0]}: a lane's length has 16 bits; split the pages, or leave prefix codecs out"
    ]


def _problem(parameter: Parameter, value: Any) -> str | None:
    """What is wrong with a value, starting with the value itself; None if nothing."""
    if parameter.type is list:
        return _list_problem(parameter, value)
    if not _has_type(parameter.type, value):
        return f"{typed(value)}, which is no {_TYPE_NAMES[parameter.type]}"
    if parameter.choices and value not in parameter.choices:
        return typed(value)
    if parameter.minimum is not None and not value >= parameter.minimum:
        return typed(value)
    if parameter.maximum is not None and not value <= parameter.maximum:
        return typed(value)
    if parameter.multiple_of is not None and value % parameter.multiple_of:
        return typed(value)
    return None


def _list_problem(parameter: Parameter, value: Any) -> str | None:
    if not isinstance(value, list):
        return f"{typed(value)}, which is no list"
    for item in value:
        if item not in parameter.choices:
            hint = suggestion(cut(item) if isinstance(item, str) else shown(item), list(parameter.choices))
            return f"{typed(value)} with the unknown {typed(item)} ({hint})"
    if not value:
        return "an empty list"
    if len(set(value)) < len(value):
        return f"{typed(value)} with a repetition"
    missing = [name for name in parameter.required if name not in value]
    if missing:
        return f"{typed(value)} without {', '.join(missing)}"
    return None


_TYPE_NAMES = {int: "integer", float: "number", str: "text", list: "list", dict: "mapping"}


def _has_type(wanted: type, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if wanted is float else wanted)

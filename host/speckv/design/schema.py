"""The JSON Schema of a design file."""

from __future__ import annotations

import json
from typing import Any

from speckv.design.parameters import PARAMETERS, Parameter


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a design file: types, ranges, descriptions, no other keys."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "SpecKV design",
        "type": "object",
        "additionalProperties": False,
        "required": [key for key, parameter in PARAMETERS.items() if not parameter.optional],
        "properties": {key: _property_schema(parameter) for key, parameter in PARAMETERS.items()},
    }


def _property_schema(parameter: Parameter) -> dict[str, Any]:
    schema: dict[str, Any] = {"description": parameter.description}
    if parameter.type is list:
        items = {"type": "string", "enum": list(parameter.choices)}
        schema |= {"type": "array", "items": items, "minItems": 1, "uniqueItems": True}
        if parameter.required:
            schema["allOf"] = [{"contains": {"const": name}} for name in parameter.required]
        return schema
    if parameter.type is dict:
        return schema | {"type": "object", **parameter.schema}
    schema["type"] = {int: "integer", float: "number", str: "string"}[parameter.type]
    limits = {
        "enum": list(parameter.choices) or None,
        "minimum": parameter.minimum,
        "maximum": parameter.maximum,
        "multipleOf": parameter.multiple_of,
    }
    return schema | {key: value for key, value in limits.items() if value is not None}


def schema_text() -> str:
    """`json_schema` as the text of `hls/designs/schema.json`."""
    return json.dumps(json_schema(), indent=2) + "\n"

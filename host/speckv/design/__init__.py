"""Designs: from a YAML file, through the rules for its parameters, to a frozen point that all else is derived from."""

from speckv.design.file import designs
from speckv.design.parameters import PARAMETERS, Parameter
from speckv.design.point import Design
from speckv.design.schema import json_schema, schema_text

__all__ = ["PARAMETERS", "Design", "Parameter", "designs", "json_schema", "schema_text"]

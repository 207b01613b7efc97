"""The compiler's own error: every refusal names the place, the construct, the reason and the way out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Location:
    """A place in the kernel's source. Line and column count from 1; 0 means not known."""

    file: str = "<unknown>"
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


UNKNOWN = Location()


class HlscError(Exception):
    """A construct outside the supported subset, or an error in the source.

    ``construct`` is what was found, ``why`` says why it cannot be compiled, ``instead`` says what to write.
    """

    def __init__(self, where: Location, construct: str, why: str, instead: str) -> None:
        self.where = where
        self.file = where.file
        self.line = where.line
        self.column = where.column
        self.construct = construct
        self.why = why
        self.instead = instead
        super().__init__(str(self))

    def __str__(self) -> str:
        return f"{self.where}: {self.construct}: {self.why}; instead: {self.instead}"


class InternalError(RuntimeError):
    """A contradiction inside the compiler: a bug of hlsc, never of the kernel."""

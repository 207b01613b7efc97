"""One exception hierarchy for the whole library: catch `SpeckvError` to catch them all.

Every message names the thing, its value, what was expected and what to do.
"""

from __future__ import annotations

import enum


class SpeckvError(Exception):
    """Base of every error that this library raises on purpose."""


class DesignError(SpeckvError):
    """A design is not valid. `violations` holds one line per broken rule, all of them."""

    def __init__(self, name: str, violations: list[str]) -> None:
        self.name = name
        self.violations = list(violations)
        lines = "\n".join(f"  - {line}" for line in self.violations)
        super().__init__(f"design {name!r} breaks {len(self.violations)} rule(s):\n{lines}")


class PageError(SpeckvError, ValueError):
    """A raw page has the wrong dtype, shape or geometry."""


class FrameError(SpeckvError, ValueError):
    """A frame cannot be decoded: truncated, corrupted, or of another format or design.

    `status` is the kernels' status code where there is one (`speckv.frame.Status`), `offset` the byte in the
    frame where the fault lies.
    """

    def __init__(self, message: str, *, status: int | None = None, offset: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.offset = offset


class FileError(SpeckvError, ValueError):
    """A file is not what was asked for: of another format, truncated, corrupted, or not to be overwritten."""


class CapabilityError(SpeckvError):
    """A backend was asked for something that it does not offer."""


class ToolError(SpeckvError):
    """A tool (compiler, simulator) is missing or failed; the message ends with the remedy."""


class DeviceError(SpeckvError):
    """The device misbehaved or was used wrongly (closed, wrong packet, out of memory)."""


class DmaError(SpeckvError):
    """The DMA engine was used wrongly, or a descriptor failed: the message names it, its status and the remedy."""


class PoolError(SpeckvError):
    """The page pool was used wrongly: closed, a bad size, a key that is not there, or too full to take a page."""


class Miss(enum.Enum):
    """Why a block is not there."""

    NEVER_STORED = "never stored"
    EVICTED = "evicted"
    OTHER_NAMESPACE = "stored under another namespace"
    CORRUPT = "damaged in far memory"


class MissError(PoolError):
    """A block is not in the pool; the message names it and why. `reason` is that."""

    def __init__(self, message: str, reason: Miss) -> None:
        super().__init__(message)
        self.reason = reason


class PrefetchError(SpeckvError):
    """A prefetcher, its table or a policy was used wrongly: a size, a page number or a score out of range."""


class DeviceTimeout(DeviceError):
    """A kernel did not answer in time. The message names the kernel and what it was waiting for."""


class StaleRtlError(SpeckvError):
    """Committed RTL does not belong to the sources beside it."""

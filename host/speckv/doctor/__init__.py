"""What an installation can do, and what it lacks; on boards and cards, too."""

from speckv.doctor.installation import Check, checks, versions

__all__ = ["Check", "checks", "versions"]

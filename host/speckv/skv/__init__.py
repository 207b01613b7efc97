"""A whole K or V cache in a file of frames, `.skv`, as `hls/skv.md` has it.

`pack` makes such files of arrays, and arrays of them; `inspection` tells what is in one.
"""

from speckv.skv.file import AXES, Entry, SkvFile, SkvHeader, any_design, check_axes

__all__ = ["AXES", "Entry", "SkvFile", "SkvHeader", "any_design", "check_axes"]

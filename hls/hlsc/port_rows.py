"""Kinds of the rows that describe the top's arguments and its return value (see include/hlsc_probe.h).

The probe sees types only, so it calls each integer that the kernel may write SCALAR_OUT; `result_arguments.py` finds
those that are also read, or read only.
"""

OTHER, PLAIN, AXIS, SCALAR_IN, SCALAR_OUT, SCALAR_INOUT = 1, 2, 3, 4, 5, 6

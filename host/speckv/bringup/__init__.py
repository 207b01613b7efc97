"""Bring-up of a board: does what was built do what it must, step by step, with what to do where it does not.

`run.bring_up` opens the kernels of a design on a backend and compares all that they do with the numpy models.
"""

"""Bench of the AXI4 and AXI4-Lite checkers themselves."""

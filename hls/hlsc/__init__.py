"""hlsc: a small open compiler from Vitis HLS C++ to SystemVerilog."""

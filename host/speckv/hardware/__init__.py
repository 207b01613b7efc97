"""Boards and cards: kernels in an FPGA, behind the interfaces of the DMA engine, the prefetch table and the device.

`transport` is what a vendor's library must give: registers of kernels, and buffers with a copy on either side. `xrt`
and `pynq` are its two implementations, each the only place that knows its library. `kernel` runs a kernel by its
registers; `dma`, `prefetch` and `device` are the backends built on that.
"""

"""Bench of `kv_dma`."""

"""Bench of `kv_decompress`."""

"""Bench of `kv_compress`."""

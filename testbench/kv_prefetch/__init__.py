"""Bench of `kv_prefetch`."""

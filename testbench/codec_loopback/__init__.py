"""Bench of `kv_compress` feeding `kv_decompress`."""

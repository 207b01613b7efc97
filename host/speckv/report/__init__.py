"""The demo's result as one HTML file that needs nothing else: no script, no network, no other file."""

from __future__ import annotations

from speckv.report.build import check_writable, default_path, html, write

__all__ = ["check_writable", "default_path", "html", "write"]

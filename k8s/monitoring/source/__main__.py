"""Writes what is made from the rule files and the dashboards' code; `make dashboards` calls it."""

from __future__ import annotations

from .written import WRITTEN

for _path, _text in WRITTEN.items():
    _path.parent.mkdir(exist_ok=True)
    _path.write_text(_text())

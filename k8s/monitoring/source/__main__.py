"""Writes what is made from the rule files and the dashboards' code; `make dashboards` calls it."""

from __future__ import annotations

from .rules import OBJECT, rule_object

OBJECT.write_text(rule_object())

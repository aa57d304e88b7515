"""Audits evidence offline: checks any bundle or run against every rule.

Anybody may have written what is read here: reading is bounded and never raises an exception.
"""

from __future__ import annotations

from .bundles import audit_bundle
from .rules import RULES, Finding
from .runs import Audited, audit, audit_run

__all__ = ["RULES", "Audited", "Finding", "audit", "audit_bundle", "audit_run"]

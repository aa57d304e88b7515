"""Is evidence what it must be? Every rule (rules.py), on any bundle or run, offline.

What is read here may have been written by anybody: bounded, and never an exception.
"""

from __future__ import annotations

from .bundles import audit_bundle
from .finding import Finding
from .rules import RULES
from .runs import Audited, audit, audit_run

__all__ = ["RULES", "Audited", "Finding", "audit", "audit_bundle", "audit_run"]

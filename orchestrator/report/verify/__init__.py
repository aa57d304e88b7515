"""Verifies a run or a bundle offline: every file is as written, every result follows from it."""

from __future__ import annotations

from .run import Proof, prove_bundle, prove_run, verify_bundle, verify_run

__all__ = ["Proof", "prove_bundle", "prove_run", "verify_bundle", "verify_run"]

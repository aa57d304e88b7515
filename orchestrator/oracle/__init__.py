"""Oracles: hard questions about device state, each answer auditable and computable again."""

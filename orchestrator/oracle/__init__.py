"""Oracles: hard questions about device state, each with an answer that can be recomputed."""

"""Verifies a run or a bundle offline: every file is as written, every result follows from it."""

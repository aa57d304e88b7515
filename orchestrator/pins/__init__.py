"""Pins: the facts that make a run repeatable (profile, image, host, code) and their hashes."""

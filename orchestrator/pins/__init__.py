"""Pins: what a result must name to be repeatable: profile, image, host, code."""

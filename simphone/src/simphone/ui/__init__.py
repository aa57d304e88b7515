"""Screens: one tree of nodes behind the picture, the dump and the taps."""

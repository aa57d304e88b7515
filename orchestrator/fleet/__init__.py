"""Fleets: pairs of a device and its worker, made, watched and removed. No case is known here."""

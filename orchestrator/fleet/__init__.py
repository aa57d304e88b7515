"""Devices: made, watched and removed. No case and no attempt is known here."""

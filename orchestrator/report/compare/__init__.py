"""Compares two runs of the same episodes, figure by figure."""

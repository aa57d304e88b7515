"""Runs on a cluster: their coordinator in its Pod, and the commands that start and follow them."""

"""Small modules for every room: canonical JSON, the progress callback, interpreter settings."""

"""Small modules that every room may use: canonical JSON, the progress callback, the gc pause."""

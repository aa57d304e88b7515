"""Reports: derived from a journal and its bundles, and from nothing else."""

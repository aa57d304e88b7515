"""Reports, comparisons and proofs: derived from a run's folder and from nothing else."""

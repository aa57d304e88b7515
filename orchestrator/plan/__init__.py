"""A plan: which episodes a run consists of, frozen before it begins."""

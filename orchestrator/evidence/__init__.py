"""Evidence: the bundle of each attempt, its seal, its archive for upload, and its audit."""

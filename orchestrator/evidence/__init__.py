"""Evidence: one folder per attempt, written as things happen, sealed by its manifest."""

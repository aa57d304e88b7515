"""What happened, as lines that can be hashed: canonical JSON, digests, the journal's words."""

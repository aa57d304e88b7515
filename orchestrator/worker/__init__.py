"""The worker: the loop that owns one device. Lease, attempt, commit."""

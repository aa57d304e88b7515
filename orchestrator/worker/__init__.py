"""The worker of one device: takes a lease, plays the attempt, commits its bundle, and again."""

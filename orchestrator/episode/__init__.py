"""One attempt at an episode, from the reset to the verdicts."""

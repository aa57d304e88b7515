"""Plans: the frozen list of episodes of a run, how it is built, and plan.json."""

"""Agents: the thing under test, its language of actions, and what it is shown."""

"""Agents, the thing under test: built-in, command, HTTP and container agents, and their actions."""

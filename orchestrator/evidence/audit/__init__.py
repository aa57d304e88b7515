"""Audits evidence offline: checks any bundle or run against every rule.

Anybody may have written what is read here: reading is bounded and never raises an exception.
"""

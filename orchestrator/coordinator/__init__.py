"""Gives out leases, takes commits and keeps the journal of one run.

Nothing here knows a device, a backend or an agent: workers speak HTTP, fleets report losses.
"""

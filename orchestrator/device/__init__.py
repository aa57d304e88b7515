"""A running, reachable phone, real or simulated; the only room that knows adb.

Every call has a time-out and ends in a whole answer or in a DeviceFault. What a fault means for an
episode is decided elsewhere.
"""

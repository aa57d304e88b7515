"""The simulated phone: a program of its own that the real adb takes for an emulator.

It speaks adbd's transport and the emulator console on loopback, takes the emulator's command
line, and keeps a small Android world behind them. Nothing outside this package imports its
inside; everybody else meets it as a process with a port. It imports nothing from the farm's
rooms, so a farm that works against it cannot be relying on shared code.
"""

__version__ = "0.1.0"

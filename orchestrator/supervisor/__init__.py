"""The supervisor: the entry point of a device, which runs an emulator and a private adb server.

It uses the standard library only and imports nothing of the farm, so that it can be the one program
of a device image.
"""


class SupervisorError(Exception):
    """The supervisor cannot continue; its text is the last line of its output."""

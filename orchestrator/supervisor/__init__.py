"""The supervisor: a device's entry point, with an emulator and a private adb server under it.

Stdlib only and imports nothing of the farm, so that it can be the one program of a device image.
"""

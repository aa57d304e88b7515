"""The local backend: devices and workers as processes of this machine."""

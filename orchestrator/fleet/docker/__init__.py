"""The Docker backend: devices and workers as containers of one engine."""

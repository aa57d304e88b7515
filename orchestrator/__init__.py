"""emufarm: runs Android agents against a farm of emulators and keeps evidence of every attempt."""

__version__ = "0.1.0"

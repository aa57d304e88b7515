"""The emulator's console: a line protocol on loopback, outside the guest."""

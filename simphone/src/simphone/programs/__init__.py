"""The phone's programs, by name: what its shell finds in /system/bin."""

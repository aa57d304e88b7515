"""What Android's system services keep: packages, settings, notifications, clipboard, telephony."""

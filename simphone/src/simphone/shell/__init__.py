"""The phone's /system/bin/sh: mksh's language, as far as adb one-liners and scripts use it."""

"""Android's key codes by name, as `input keyevent` takes them."""

from __future__ import annotations

_NAMES = (
    "UNKNOWN SOFT_LEFT SOFT_RIGHT HOME BACK CALL ENDCALL 0 1 2 3 4 5 6 7 8 9 STAR POUND DPAD_UP "
    "DPAD_DOWN DPAD_LEFT DPAD_RIGHT DPAD_CENTER VOLUME_UP VOLUME_DOWN POWER CAMERA CLEAR A B C D "
    "E F G H I J K L M N O P Q R S T U V W X Y Z COMMA PERIOD ALT_LEFT ALT_RIGHT SHIFT_LEFT "
    "SHIFT_RIGHT TAB SPACE SYM EXPLORER ENVELOPE ENTER DEL GRAVE MINUS EQUALS LEFT_BRACKET "
    "RIGHT_BRACKET BACKSLASH SEMICOLON APOSTROPHE SLASH AT NUM HEADSETHOOK FOCUS PLUS MENU "
    "NOTIFICATION SEARCH MEDIA_PLAY_PAUSE MEDIA_STOP MEDIA_NEXT MEDIA_PREVIOUS MEDIA_REWIND "
    "MEDIA_FAST_FORWARD MUTE PAGE_UP PAGE_DOWN"
)
_LATER = {
    "ESCAPE": 111,
    "FORWARD_DEL": 112,
    "CTRL_LEFT": 113,
    "CTRL_RIGHT": 114,
    "CAPS_LOCK": 115,
    "SCROLL_LOCK": 116,
    "META_LEFT": 117,
    "META_RIGHT": 118,
    "MOVE_HOME": 122,
    "MOVE_END": 123,
    "INSERT": 124,
    "FORWARD": 125,
    "MEDIA_PLAY": 126,
    "MEDIA_PAUSE": 127,
    "NUMPAD_ENTER": 160,
    "VOLUME_MUTE": 164,
    "INFO": 165,
    "ZOOM_IN": 168,
    "ZOOM_OUT": 169,
    "SETTINGS": 176,
    "APP_SWITCH": 187,
    "LANGUAGE_SWITCH": 204,
    "CONTACTS": 207,
    "CALENDAR": 208,
    "MUSIC": 209,
    "CALCULATOR": 210,
    "ASSIST": 219,
    "BRIGHTNESS_DOWN": 220,
    "BRIGHTNESS_UP": 221,
    "SLEEP": 223,
    "WAKEUP": 224,
    "SOFT_SLEEP": 276,
    "CUT": 277,
    "COPY": 278,
    "PASTE": 279,
    "ALL_APPS": 284,
    "REFRESH": 285,
}
KEYCODES = {name: code for code, name in enumerate(_NAMES.split())} | _LATER
LARGEST = 316


def keycode(word: str) -> int:
    """A number, a name, or a name after KEYCODE_; 0 (unknown) for anything else."""
    if word.isascii() and word.isdigit():
        code = int(word)
        # A single digit is a key code, never the digit's key: KEYCODE_5 names that one.
        return code if code <= LARGEST else 0
    return KEYCODES.get(word.removeprefix("KEYCODE_"), 0)

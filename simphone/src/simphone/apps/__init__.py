"""The built-in apps, by package. Order is the home screen's."""

from __future__ import annotations

from ..ui.screen import App
from .browser import Browser
from .calendar import Calendar
from .contacts import Contacts
from .files import Files
from .home import Home
from .installer import PackageInstaller
from .messages import Messages
from .notes import Notes
from .phone import Phone
from .settings import SettingsApp
from .system_ui import PermissionController, SystemUi

_ALL: tuple[App, ...] = (
    Home(),
    SystemUi(),
    PermissionController(),
    PackageInstaller(),
    Phone(),
    Messages(),
    Contacts(),
    Calendar(),
    Browser(),
    Files(),
    Notes(),
    SettingsApp(),
)

APPS: dict[str, App] = {app.package: app for app in _ALL}

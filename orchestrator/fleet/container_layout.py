"""Paths and ports inside the device and worker containers, which images and backends agree on.

images/start.py repeats what it needs of it: it runs in the device image, where no package of ours
but the supervisor is installed.
"""

from __future__ import annotations

GIVEN_FOLDER = "/run/emufarm"  # the folder with all that a container is given
CONTROL_TOKEN = "control.token"  # in it: the supervisor's secret
WORKER_TOKEN = "/run/worker/token"  # the worker's own secret; no other container has it
CONTROL_PORT = 5600  # the supervisor's
DEVICE_DISK = "/var/emu"  # a device's own volume: its copy of the AVD
STAGING = "/staging"  # a worker's volume; each slot has a folder in it

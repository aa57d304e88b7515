"""Offers folders of this machine as PersistentVolumes that every node can mount.

The hostPath provisioner makes folders that only root can write, whatever a Pod's fsGroup: so the
volumes are made beforehand, writable by the uid that the farm's Pods run as.
"""

from __future__ import annotations

import os
from typing import Any

from tests.e2e.cluster.layout import Layout

STORAGE_CLASS, COUNT = "emufarm-test", 64
SIZE = "100Gi"  # said, not taken: as much as any claim of k8s/ asks for


def storage_class() -> dict[str, Any]:
    """The default one; claims are bound at once."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": STORAGE_CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "kubernetes.io/no-provisioner",
        "reclaimPolicy": "Retain",
        "volumeBindingMode": "Immediate",
    }


def make(layout: Layout, uid: int, count: int = COUNT) -> list[dict[str, Any]]:
    """As many new ones; a volume is used once."""
    layout.volumes.mkdir(exist_ok=True)
    first = len(list(layout.volumes.iterdir()))
    made = []
    for number in range(first, first + count):
        folder = layout.volumes / f"volume-{number:03}"
        folder.mkdir(mode=0o770)
        os.chown(folder, uid, uid)
        made.append(_volume(layout, folder.name))
    return made


def _volume(layout: Layout, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
            "capacity": {"storage": SIZE},
            "storageClassName": STORAGE_CLASS,
            "persistentVolumeReclaimPolicy": "Retain",
            "hostPath": {"path": str(layout.volumes / name), "type": "Directory"},
        },
    }

"""Makes images of a few files and pushes them to a registry on loopback, without an engine."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
PUSH_S = 60.0
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Image:
    """A manifest, and the blobs that it names."""

    manifest: bytes
    blobs: tuple[bytes, ...]

    @property
    def digest(self) -> str:
        return digest_of(self.manifest)


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def image(
    programs: Mapping[str, bytes], entrypoint: Sequence[str], command: Sequence[str], machine: str
) -> Image:
    """An image of programs by name, at its root; it runs as no particular user, and not as root."""
    layer = _layer(programs)
    config = json.dumps({
        "architecture": ARCHITECTURES[machine],
        "os": "linux",
        "config": {"Entrypoint": [*entrypoint], "Cmd": [*command], "User": "10001:10001"},
        "rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]},
    }).encode()  # fmt: skip
    packed = gzip.compress(layer, compresslevel=1, mtime=0)
    manifest = json.dumps({
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _described(CONFIG, config),
        "layers": [_described(LAYER, packed)],
    }).encode()  # fmt: skip
    return Image(manifest, (config, packed))


def push(registry: str, name: str, made: Image) -> str:
    """The image's full name, by digest."""
    with httpx.Client(base_url=f"http://{registry}/v2/{name}", timeout=PUSH_S) as client:
        for blob in made.blobs:
            if client.head(f"/blobs/{digest_of(blob)}").status_code == httpx.codes.OK:
                continue
            place = client.post("/blobs/uploads/").raise_for_status().headers["Location"]
            query = httpx.URL(place).copy_merge_params({"digest": digest_of(blob)})
            client.put(query, content=blob).raise_for_status()
        headers = {"Content-Type": MANIFEST}
        client.put(
            f"/manifests/{made.digest}", content=made.manifest, headers=headers
        ).raise_for_status()
    return f"{registry}/{name}@{made.digest}"


def write_registry_settings(path: Path, storage: Path, address: str) -> None:
    """Two registries may share the storage: nothing is kept in memory."""
    settings = {
        "version": "0.1",
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(storage)}, "delete": {"enabled": True}},
        "http": {"addr": address},
    }
    path.write_text(json.dumps(settings))


def _layer(programs: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        room = tarfile.TarInfo("tmp")
        room.type, room.mode = tarfile.DIRTYPE, 0o1777
        archive.addfile(room)
        for name, content in programs.items():
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(content), 0o755
            archive.addfile(member, io.BytesIO(content))
    return packed.getvalue()


def _described(kind: str, content: bytes) -> dict[str, str | int]:
    return {"mediaType": kind, "digest": digest_of(content), "size": len(content)}


def answers(registry: str) -> bool:
    try:
        return httpx.get(f"http://{registry}/v2/", timeout=PUSH_S).status_code == httpx.codes.OK
    except httpx.TransportError:
        return False

"""How an APK gets onto the phone: staged in a session's folder, read, then moved into place."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from ..apk import BadApk, Manifest, read
from ..services.packages import Package
from ..streams import Source
from ..world import World
from .permissions import RUNTIME

SDK = 34
MAX_APK = 4 << 30


class InstallFailed(Exception):
    """`Failure [...]`: a code of the package manager, with its reason."""


@dataclass(frozen=True)
class Wishes:
    """What the options of an install ask for."""

    grant: bool = False
    downgrade: bool = False
    installer: str = ""


def create(world: World, wishes: Wishes) -> int:
    """A new session. Its wishes lie beside its files: a snapshot between create and commit
    keeps both."""
    session = world.clock.now_ms() % 2_000_000_000
    while (folder := staging(world, session)).exists():
        session += 1
    folder.mkdir()
    _wishes(world, session).write_text(json.dumps(asdict(wishes)))
    return session


def _wishes(world: World, session: int) -> Path:
    return world.disk.own(f"/data/app/vmdl{session}.json")


def staging(world: World, session: int) -> Path:
    return world.disk.own(f"/data/app/vmdl{session}.tmp")


def exists(world: World, session: int) -> bool:
    return staging(world, session).is_dir()


def abandon(world: World, session: int) -> None:
    shutil.rmtree(staging(world, session), ignore_errors=True)
    _wishes(world, session).unlink(missing_ok=True)


async def stage(world: World, session: int, name: str, source: Source, size: int | None) -> int:
    """Bytes taken: `size` of them, or all; a sender keeps its stream open, so never one more."""
    taken = 0
    with (staging(world, session) / name).open("wb") as file:
        while size is None or taken < size:
            chunk = (
                await source.read() if size is None else await source.read(min(65536, size - taken))
            )
            if not chunk:
                break
            taken += len(chunk)
            if taken > MAX_APK or world.disk.full:
                raise InstallFailed("INSTALL_FAILED_INSUFFICIENT_STORAGE")
            file.write(chunk)
            await asyncio.sleep(0)
    if size is not None and taken < size:
        raise InstallFailed("INSTALL_FAILED_INVALID_APK: Unexpected end of stream")
    return taken


async def commit(world: World, session: int) -> Package:
    """Installs what is staged; InstallFailed leaves the phone as it was."""
    folder = staging(world, session)
    try:
        files = sorted(folder.iterdir())
        manifests = await asyncio.to_thread(read_all, files, session)
        base = next((m for m in manifests.values() if not m.split), None)
        if base is None:
            raise InstallFailed("INSTALL_FAILED_INVALID_APK: Missing base package")
        if any(m.package != base.package for m in manifests.values()):
            raise InstallFailed("INSTALL_FAILED_INVALID_APK: Inconsistent package")
        wishes = Wishes(**json.loads(_wishes(world, session).read_text()))
        package = installed(world, base, session, wishes)
        place(world, package, manifests)
    finally:
        abandon(world, session)
    return package


def read_all(files: list[Path], session: int) -> dict[Path, Manifest]:
    found = {}
    for file in files:
        shown = f"/data/app/vmdl{session}.tmp/{file.name}"
        try:
            found[file] = read(file)
        except BadApk as error:
            raise InstallFailed(
                f"INSTALL_PARSE_FAILED_NOT_APK: Failed to parse {shown}: {error}"
            ) from error
    return found


def installed(world: World, base: Manifest, session: int, wishes: Wishes) -> Package:
    """The package's new record, or why it may not come to be."""
    old = world.packages.get(base.package)
    if old is not None and old.system:
        raise InstallFailed(
            f"INSTALL_FAILED_UPDATE_INCOMPATIBLE: Existing package {base.package} signatures do "
            "not match newer version; ignoring!"
        )
    if base.min_sdk > SDK:
        raise InstallFailed(
            f"INSTALL_FAILED_OLDER_SDK: Failed parse during installPackageLI: "
            f"/data/app/vmdl{session}.tmp/base.apk (at Binary XML file line #7): Requires newer "
            f"sdk version #{base.min_sdk} (current version is #{SDK})"
        )
    if old is not None and base.version_code < old.version_code and not wishes.downgrade:
        raise InstallFailed(
            f"INSTALL_FAILED_VERSION_DOWNGRADE: Downgrade detected: Update version code "
            f"{base.version_code} is older than current {old.version_code}"
        )
    kept = set(old.granted) if old else set()
    given = set(base.permissions) & RUNTIME if wishes.grant else set()
    asked = set(base.permissions)
    return Package(
        base.package,
        f"{folder_of(base, world.clock.now_ms())}/base.apk",
        old.uid if old else world.packages.next_uid(),
        base.version_code,
        base.version_name,
        base.min_sdk,
        system=False,
        permissions=base.permissions,
        granted=tuple(sorted((kept | given) & asked)),
        installed_ms=old.installed_ms if old else world.clock.now_ms(),
        installer=wishes.installer,
    )


def folder_of(base: Manifest, now_ms: int) -> str:
    """Android's two random folder names, made from what is installed and when."""
    digest = hashlib.sha256(f"{base.package} {base.version_code} {now_ms}".encode()).digest()
    first, second = (base64.urlsafe_b64encode(part).decode() for part in (digest[:16], digest[16:]))
    return f"/data/app/~~{first}/{base.package}-{second}"


def place(world: World, package: Package, manifests: dict[Path, Manifest]) -> None:
    old = world.packages.get(package.name)
    for file, found in manifests.items():
        name = f"split_{found.split}.apk" if found.split else "base.apk"
        file.replace(world.disk.own(f"{package.path.rpartition('/')[0]}/{name}"))
    world.disk.own(f"/data/data/{package.name}").mkdir(exist_ok=True)
    world.packages.put(package)
    if old is not None and old.path != package.path:
        remove_code(world, old)
    world.logcat.write("PackageManager", f"installation completed for package:{package.name}.")


def remove_code(world: World, package: Package) -> None:
    """The two folders that an install made."""
    shutil.rmtree(world.disk.own(package.path).parent.parent, ignore_errors=True)


def remove_data(world: World, name: str) -> None:
    # Open databases under there would live on without their files.
    world.databases.close()
    shutil.rmtree(world.disk.own(f"/data/data/{name}"), ignore_errors=True)

"""Networks and volumes on the Docker engine: made, found by label, removed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .engine import Engine, NotThere

# The bridge has no address on this machine, so its members reach nothing but each other. Without
# that an internal network still reaches the other networks' gateways.
_ISOLATED = {"com.docker.network.bridge.inhibit_ipv4": "true"}


@dataclass(frozen=True)
class Network:
    id: str
    name: str
    labels: Mapping[str, str]
    gateway: str  # this machine's address in it; may be empty


@dataclass(frozen=True)
class Volume:
    name: str
    labels: Mapping[str, str]


def make_network(
    engine: Engine, name: str, labels: Mapping[str, str], *, isolated: bool = False
) -> Network:
    """A bridge; `isolated`: its members reach each other and nothing else."""
    made = engine.ask(
        f"make the network {name}",
        lambda client: client.create_network(
            name, driver="bridge", labels=dict(labels), internal=isolated, check_duplicate=True,
            options=_ISOLATED if isolated else {},
        ),
    )  # fmt: skip
    found = engine.ask(f"look at the network {name}", lambda c: c.inspect_network(made["Id"]))
    return Network(made["Id"], name, labels, _gateway(found))


def join(engine: Engine, network: str, container: str) -> None:
    """Puts a container in one more network."""
    engine.ask(
        f"join the network {network}",
        lambda client: client.connect_container_to_network(container, network),
    )


def networks(engine: Engine, label: str) -> tuple[Network, ...]:
    found = engine.ask("list networks", lambda c: c.networks(filters={"label": label}))
    return tuple(
        Network(one["Id"], one["Name"], one["Labels"] or {}, _gateway(one)) for one in found
    )


def _gateway(network: Mapping[str, Any]) -> str:
    pools = network["IPAM"]["Config"] or [{}]
    return str(pools[0].get("Gateway", "")).split("/")[0]


def remove_network(engine: Engine, network: Network) -> None:
    """Also removes members that no longer exist: a killed engine may have kept them on its list."""
    what = f"remove the network {network.name}"
    try:
        members = engine.ask(what, lambda client: client.inspect_network(network.id))["Containers"]
        for member in members or {}:
            _disconnect(engine, network, member)
        engine.ask(what, lambda client: client.remove_network(network.id))
    except NotThere:
        return


def _disconnect(engine: Engine, network: Network, member: str) -> None:
    what = f"disconnect {member[:12]} from the network {network.name}"

    def disconnect(client: Any) -> None:
        client.disconnect_container_from_network(member, network.id, force=True)

    try:
        engine.ask(what, disconnect)
    except NotThere:
        return


def make_volume(engine: Engine, name: str, labels: Mapping[str, str]) -> Volume:
    engine.ask(
        f"make the volume {name}", lambda client: client.create_volume(name, labels=dict(labels))
    )
    return Volume(name, labels)


def volumes(engine: Engine, label: str) -> tuple[Volume, ...]:
    found = engine.ask("list volumes", lambda client: client.volumes({"label": label}))
    return tuple(Volume(one["Name"], one["Labels"] or {}) for one in found["Volumes"] or ())


def remove_volume(engine: Engine, volume: Volume) -> None:
    try:
        engine.ask(
            f"remove the volume {volume.name}", lambda client: client.remove_volume(volume.name)
        )
    except NotThere:
        return

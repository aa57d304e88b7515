"""Turns NetworkPolicies into packet filter rules by Pod address.

Every Pod that a policy selects has a chain for its direction: what an opening lets through returns
from it, the rest is dropped. A packet passes its sender's chain and its receiver's.
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Object = Mapping[str, Any]
TOP = "EMUFARM-POLICIES"
PREFIX = "EMUFARM-P-"
INGRESS, EGRESS = "Ingress", "Egress"
ANYWHERE = "0.0.0.0/0"


@dataclass(frozen=True)
class Pod:
    """What policies know it by."""

    namespace: str
    labels: Mapping[str, str]
    address: str
    ports: Mapping[tuple[str, str], int]  # by protocol and name

    @classmethod
    def of(cls, pod: Object) -> Pod | None:
        """None where it has no address of its own, or no longer."""
        status, spec = pod.get("status", {}), pod["spec"]
        over = status.get("phase") in ("Succeeded", "Failed")
        if over or spec.get("hostNetwork") or not status.get("podIP"):
            return None
        ports = {
            (port.get("protocol", "TCP"), port["name"]): port["containerPort"]
            for container in [*spec.get("initContainers", []), *spec["containers"]]
            for port in container.get("ports", [])
            if "name" in port
        }
        about = pod["metadata"]
        return cls(about["namespace"], about.get("labels", {}), status["podIP"], ports)


@dataclass(frozen=True)
class Peers:
    """The other ends that an opening names: addresses, and the Pod behind each where it is one."""

    network: str
    pod: Pod | None = None


def rules(
    policies: Sequence[Object], pods: Sequence[Object], namespaces: Sequence[Object]
) -> dict[str, list[str]]:
    """The rules of each chain, by its name; none where no policy is."""
    known = [found for pod in pods if (found := Pod.of(pod)) is not None]
    labels = {one["metadata"]["name"]: one["metadata"].get("labels", {}) for one in namespaces}
    chains: dict[str, list[str]] = {}
    top = ["-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN"]
    for direction, mine, theirs in ((EGRESS, "-s", "-d"), (INGRESS, "-d", "-s")):
        for pod in known:
            applied = [one for one in policies if _applies(one, pod, direction)]
            if not applied:
                continue
            openings = [
                f"{theirs} {peer.network}{port} -j RETURN"
                for policy in applied
                for opening in policy["spec"].get(direction.lower()) or []
                for peer in _peers(opening, direction, policy, known, labels)
                for port in _ports(opening, pod if direction == INGRESS else peer.pod)
            ]
            name = f"{PREFIX}{direction[0]}{_short(pod.address)}"
            chains[name] = [*dict.fromkeys(openings), "-j DROP"]
            top.append(f"{mine} {pod.address} -j {name}")
    return {**chains, TOP: top} if chains else {}


def selected(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether the labels match; an empty selector takes all."""
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _expressed(one, labels) for one in selector.get("matchExpressions") or []
    )


def _expressed(expression: Object, labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or []
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
    raise ValueError(f"a selector has the operator {expression['operator']}")


def _applies(policy: Object, pod: Pod, direction: str) -> bool:
    spec = policy["spec"]
    return (
        policy["metadata"]["namespace"] == pod.namespace
        and direction in spec["policyTypes"]
        and selected(spec.get("podSelector") or {}, pod.labels)
    )


def _peers(
    opening: Object, direction: str, policy: Object,
    pods: Sequence[Pod], namespaces: Mapping[str, Mapping[str, str]],
) -> Iterator[Peers]:  # fmt: skip
    named = opening.get("from" if direction == INGRESS else "to")
    if not named:
        yield Peers(ANYWHERE)
        # A named port is a different number on each Pod.
        yield from (Peers(pod.address, pod) for pod in pods)
    for peer in named or []:
        if block := peer.get("ipBlock"):
            yield from map(Peers, _without(block["cidr"], block.get("except") or []))
            continue
        for pod in pods:
            spaces = peer.get("namespaceSelector")
            there = (
                pod.namespace == policy["metadata"]["namespace"]
                if spaces is None
                else selected(spaces, namespaces.get(pod.namespace, {}))
            )
            if there and selected(peer.get("podSelector") or {}, pod.labels):
                yield Peers(pod.address, pod)


def _ports(opening: Object, receiver: Pod | None) -> Iterator[str]:
    """What follows an address in a rule, once for each port; a name needs a Pod that has it."""
    if not opening.get("ports"):
        yield ""
    for port in opening.get("ports") or []:
        protocol = port.get("protocol", "TCP")
        number = port.get("port")
        if isinstance(number, str):
            number = receiver.ports.get((protocol, number)) if receiver else None
            if number is None:
                continue
        last = f":{port['endPort']}" if "endPort" in port else ""
        which = "" if number is None else f" --dport {number}{last}"
        yield f" -p {protocol.lower()}{which}"


def _without(network: str, excepted: Sequence[str]) -> list[str]:
    """A network as the networks that are left when parts are taken out of it."""
    left = [ipaddress.IPv4Network(network)]
    for one in map(ipaddress.IPv4Network, excepted):
        left = [
            part
            for whole in left
            for part in (
                whole.address_exclude(one) if one.subnet_of(whole)
                else [] if whole.subnet_of(one) else [whole]
            )
        ]  # fmt: skip
    return [str(one) for one in left]


def _short(address: str) -> str:
    """A chain's name has 28 characters at most."""
    return hashlib.sha256(address.encode()).hexdigest()[:12]

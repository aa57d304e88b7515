"""A kubeconfig: what it says is honoured, and what it says wrongly is told in a sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from orchestrator.errors import UsageError
from orchestrator.fleet.kubernetes.access import kubeconfig_access


def kubeconfig(place: Path, **cluster: Any) -> Path:
    path = place / "config"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "mine",
        "clusters": [{"name": "far", "cluster": {"server": "https://far.example:6443", **cluster}}],
        "contexts": [{"name": "mine", "context": {"cluster": "far", "user": "me"}}],
        "users": [{"name": "me", "user": {"token": "a-token"}}],
    }))  # fmt: skip
    return path


@pytest.mark.parametrize(
    "content",
    ["]", "just words", "[1, 2]", "a: [", '{"contexts": {"mine": 1}, "current-context": "mine"}'],
)
def test_a_malformed_kubeconfig_is_one_sentence(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config"
    path.write_text(content)
    with pytest.raises(UsageError, match="no cluster can be reached") as found:
        kubeconfig_access(kubeconfig=path)
    assert "\n" not in str(found.value)


def test_a_server_is_asked_under_the_name_in_its_certificate(tmp_path: Path) -> None:
    access = kubeconfig_access(
        kubeconfig=kubeconfig(tmp_path, **{"tls-server-name": "kubernetes.default"})
    )
    with access.client() as http:
        request = http.build_request("GET", "/version")
        assert isinstance(http.auth, httpx.Auth)
        next(http.auth.auth_flow(request))
    assert request.extensions["sni_hostname"] == "kubernetes.default"
    assert request.headers["authorization"] == "Bearer a-token"


def test_a_proxy_is_used_where_the_kubeconfig_names_one(tmp_path: Path) -> None:
    proxy = "http://127.0.0.1:9"
    access = kubeconfig_access(kubeconfig=kubeconfig(tmp_path, **{"proxy-url": proxy}))
    assert access.proxy == proxy
    with access.client() as http, pytest.raises(httpx.ConnectError, match="refused"):
        http.get("/version")  # by the proxy: the host's name is not looked up here


def test_a_proxy_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, **{"proxy-url": "socks5://127.0.0.1:9"})
    with pytest.raises(UsageError, match=r"proxy-url socks5://127\.0\.0\.1:9 is not"):
        kubeconfig_access(kubeconfig=path)

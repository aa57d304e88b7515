"""Reaches a cluster's API server as a kubeconfig, or a Pod's service account, says.

The only module that imports the `kubernetes` package, which knows kubeconfigs, exec plugins and
service accounts. Requests are plain JSON over httpx (api.py): its models would be built for
thousands of Pods at every look. It is imported where it is used: it takes a quarter of the time in
which a command starts, and most commands need no cluster.
"""

from __future__ import annotations

import ssl
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from ...errors import UsageError

ANSWER_S = 30.0
_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True)
class ClusterAccess:
    """A server, and who asks it."""

    server: str
    namespace: str  # the context's own; "" where it names none
    configuration: Any
    proxy: str = ""  # "" where the server is reached directly

    def client(self, path: str = "") -> httpx.Client:
        """For requests below this path."""
        return httpx.Client(base_url=self.server + path, **self._options())

    def async_client(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(base_url=self.server, **self._options())

    def _options(self) -> dict[str, Any]:
        return {
            "verify": _tls(self.configuration),
            "auth": _TokenAuth(self.configuration),
            "timeout": ANSWER_S,
            "trust_env": False,
            "proxy": self.proxy or None,
            "limits": httpx.Limits(max_connections=64, max_keepalive_connections=16),
        }


class _TokenAuth(httpx.Auth):
    """The token may change while a process lives: an exec plugin or the kubelet renews it."""

    def __init__(self, configuration: Any) -> None:
        self._configuration = configuration

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        from kubernetes.config import ConfigException

        try:
            settings = self._configuration.auth_settings()
        except (ConfigException, OSError) as error:
            raise httpx.TransportError(f"no token is to be had: {error}") from error
        if name := self._configuration.tls_server_name:  # its certificate is for another name
            request.extensions["sni_hostname"] = name
        for setting in settings.values():
            request.headers[setting["key"]] = setting["value"]
        yield request


def kubeconfig_access(context: str = "", kubeconfig: Path | None = None) -> ClusterAccess:
    """As KUBECONFIG or ~/.kube/config says; UsageError where that names no cluster."""
    from kubernetes import client, config

    file, wanted = str(kubeconfig) if kubeconfig else None, context or None
    configuration = client.Configuration()
    try:
        contexts, active = config.list_kube_config_contexts(file)
        config.load_kube_config(file, wanted, client_configuration=configuration)
        chosen = next((one for one in contexts if one["name"] == context), active)["context"]
        namespace = str(chosen.get("namespace") or "")
        proxy = _proxy(file, chosen["cluster"])
    except Exception as error:
        why = " ".join(str(error).split()) or repr(error)
        if not isinstance(error, config.ConfigException | OSError):
            why = f"the kubeconfig is malformed: {why}"
        raise UsageError(
            f"no cluster can be reached: {why}; name one with KUBECONFIG and --context"
        ) from error
    if proxy and not proxy.startswith(("http://", "https://")):
        raise UsageError(
            f"the kubeconfig's proxy-url {proxy} is not supported: name one that begins with "
            "http:// or https://"
        )
    return ClusterAccess(configuration.host.rstrip("/"), namespace, configuration, proxy)


def _proxy(file: str | None, cluster: str) -> str:
    """The package does not read it."""
    from kubernetes.config.kube_config import KUBE_CONFIG_DEFAULT_LOCATION, KubeConfigMerger

    merged = KubeConfigMerger(file or KUBE_CONFIG_DEFAULT_LOCATION).config
    found = merged["clusters"].get_with_name(cluster)["cluster"]
    return str(found.safe_get("proxy-url") or "")


def pod_access() -> ClusterAccess:
    """As the service account of this Pod; UsageError outside a cluster."""
    from kubernetes import client, config

    configuration = client.Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)
        namespace = _NAMESPACE.read_text().strip()
    except (config.ConfigException, OSError) as error:
        raise UsageError(f"this is no Pod with a service account: {error}") from error
    return ClusterAccess(configuration.host.rstrip("/"), namespace, configuration)


def _tls(configuration: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    if not configuration.verify_ssl:  # as the kubeconfig says: insecure-skip-tls-verify
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context

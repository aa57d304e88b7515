"""Which address does a typed line, a link or a redirect mean?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, quote_plus, urldefrag, urljoin, urlsplit, urlunsplit

LONGEST = 8192
SEARCH = "https://www.google.com/search?q="
# What may stand in a request line as it is; everything else is percent-encoded.
PLAIN = "/?#[]@!$&'()*+,;=:%-._~"
SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
HOST_AND_PORT = re.compile(
    r"(localhost|[^\s/?#:.]*\.[^\s/?#:]+|\[[0-9a-fA-F:.]+\])(:\d+)?([/?#].*)?"
)
DEFAULT_PORTS = {"http": 80, "https": 443}


class BadAddress(ValueError):
    """No address can be made of this."""


@dataclass(frozen=True)
class Address:
    scheme: str  # http | https
    host: str  # lower case, without brackets
    port: int
    target: str  # path and query, as a request line has them
    url: str  # whole, with the fragment

    @property
    def authority(self) -> str:
        """Host and port, as the Host header has them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def parse(url: str) -> Address:
    """BadAddress for anything but a whole http or https address."""
    if len(url) > LONGEST:
        raise BadAddress("too long")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError as error:
        raise BadAddress(str(error)) from None
    scheme = parts.scheme.lower()
    if scheme not in DEFAULT_PORTS or not host or port == 0:
        raise BadAddress(f"not an http address: {url[:100]}")
    if any(character <= " " or character == "\x7f" for character in host):
        raise BadAddress("a host name has no spaces")
    path, query = encoded(parts.path) or "/", encoded(parts.query)
    plain = urlunsplit((scheme, parts.netloc.rpartition("@")[2].lower(), path, query,
                        encoded(parts.fragment)))  # fmt: skip
    target = f"{path}?{query}" if query else path
    return Address(scheme, host, port or DEFAULT_PORTS[scheme], target, plain)


def encoded(part: str) -> str:
    return quote(part, safe=PLAIN, errors="replace")


def typed(line: str) -> str:
    """What the address field makes of a line: an address, or a search for its words."""
    line = line.strip()[: LONGEST + 1]
    if SCHEME.match(line) and not HOST_AND_PORT.fullmatch(line):
        return line
    if HOST_AND_PORT.fullmatch(line):
        return f"http://{line}"
    return SEARCH + quote_plus(line[: LONGEST // 4], errors="replace")


def join(base: str, reference: str) -> str:
    """A link's address, seen from the page it stands on; BadAddress where there is none."""
    # Browsers drop these anywhere in an address.
    reference = reference.strip().translate({9: None, 10: None, 13: None})
    if len(reference) > LONGEST:
        raise BadAddress("too long")
    try:
        return urljoin(base, reference)
    except ValueError as error:
        raise BadAddress(str(error)) from None


def same_page(one: str, other: str) -> bool:
    """Whether two addresses differ in the fragment at most."""
    return urldefrag(one).url == urldefrag(other).url


def fragment(url: str) -> str:
    return urldefrag(url).fragment

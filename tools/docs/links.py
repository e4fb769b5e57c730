"""Checks a built site: every local link and anchor exists, and no page loads anything from the network."""
from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[tuple[str, bool]] = []  # the address, and whether the browser loads it by itself
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors |= {v for v in (values.get("id"), values.get("name")) if v}
        if tag == "a" and values.get("href"):
            self.links.append((values["href"] or "", False))
        loaded = values.get("src") if tag in ("img", "script", "iframe", "source") else values.get("href") if tag == "link" else None
        if loaded:
            self.links.append((loaded, True))


def broken(site: Path) -> list[str]:
    """What is wrong with the site's links, one line each."""
    pages = {path: Page(path.read_text()) for path in site.rglob("*.html")}
    problems = []
    for path, page in pages.items():
        where = path.relative_to(site)
        for address, is_loaded in page.links:
            parts = urlsplit(address)
            if parts.scheme == "data":
                continue
            if parts.scheme or parts.netloc:
                if is_loaded:
                    problems.append(f"{where}: loads {address} from the network")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                problems.append(f"{where}: {address} does not exist")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{where}: {address} has no such anchor")
    return problems

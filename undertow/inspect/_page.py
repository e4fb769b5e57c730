"""The HTML page: one self-contained file with a recording inside, or the same page connected to a live pass."""

from __future__ import annotations

import base64
import json
from functools import cache

from undertow import _data_files
from undertow.inspect import _file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PLACEHOLDER = "<!--UTRACE-->"


@cache
def template() -> str:
    """Return the page without a recording."""
    text = _data_files.read_text("inspect/page/page.html")
    if text.count(PLACEHOLDER) != 1:
        raise RuntimeError(f"the page should have {PLACEHOLDER} once")
    return text


def with_recording(data: dict[str, Any], second: dict[str, Any] | None = None) -> str:
    """Return the page with a recording in it, and with another one to compare it with. Base64 needs no escaping."""
    parts = [("utrace", data), ("utrace2", second)]
    scripts = [
        f'<script type="application/octet-stream" id="{name}">{base64.b64encode(_file.packed(given)).decode()}</script>'
        for name, given in parts
        if given is not None
    ]
    return template().replace(PLACEHOLDER, "\n".join(scripts))


def live(protocol: int = 1, **more: Any) -> str:
    """Return the page that talks to the server it came from."""
    return template().replace(PLACEHOLDER, f'<script type="application/json" id="live">{json.dumps({"protocol": protocol, **more})}</script>')

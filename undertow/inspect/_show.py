"""Showing a page: in the browser, or in a notebook."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MOST_INLINE = 20_000_000  # bytes of a page that a notebook shows below the cell, and keeps in its file


def in_notebook() -> bool:
    """Return whether this program runs in a Jupyter kernel."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def inline(page: str) -> str:
    """Return a frame that holds a page. Its scripts run apart from the notebook: a recording may come from anywhere."""
    from html import escape

    return f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts allow-downloads" width="100%" height="700" style="border:0"></iframe>'


def _show_html(html: str) -> None:
    from IPython.display import HTML, display  # type: ignore[import-not-found, unused-ignore]  # only in a notebook

    display(HTML(html))


def _has_display() -> bool:
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("BROWSER"))


def announce(url: str, open_page: bool) -> None:
    """Print the address of a page, and open it if that is wanted and there is a display."""
    if in_notebook():
        _show_html(f'<a href="{url}" target="_blank">{url}</a><iframe src="{url}" width="100%" height="700" style="border:0"></iframe>')
        return
    print(f"inspect: {url}", flush=True)
    if open_page and _has_display():
        import webbrowser

        webbrowser.open(url)


def announce_file(path: str, open_page: bool) -> None:
    """Print where a page was written, and open it if that is wanted: in the browser if there is a display, in a notebook below the cell."""
    from pathlib import Path

    print(f"inspect: wrote {path}", flush=True)
    if not open_page:
        return
    if in_notebook():
        if os.path.getsize(path) <= MOST_INLINE:
            _show_html(inline(Path(path).read_text(encoding="utf-8")))
    elif _has_display():
        import webbrowser

        webbrowser.open(Path(path).absolute().as_uri())

"""The page in a real Chromium: skipped, with one line, where Chromium or Playwright is missing."""
from __future__ import annotations

import re
from pathlib import Path

import pytest
import synthetic_recordings as synthetic
from opened_page import PAGE, Opened, launched


def pytest_collection_modifyitems(items):
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium():
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    with playwright.sync_playwright() as p:
        browser = launched(p)
        if browser is None:
            pytest.skip("needs Chromium: apt-get install chromium, or playwright install chromium")
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium, tmp_path):
    """open_page(recording, fragment): the built page with that recording inside, opened from a file without network."""
    contexts, opened = [], []

    def open_it(recording=None, fragment: str = "", wait: bool = True, second=None, **options) -> Opened:
        options = {"viewport": {"width": 1440, "height": 900}, **options}
        context = chromium.new_context(offline=True, accept_downloads=True, **options)
        contexts.append(context)
        page = Opened(context.new_page())
        opened.append(page)
        file = tmp_path / f"page{len(opened)}.html"
        file.write_text(PAGE.read_text() if recording is None else synthetic.page_with(recording, PAGE, second))
        page.page.goto(file.as_uri() + fragment)
        return page.wait_until_drawn() if wait else page

    yield open_it
    for context in contexts:
        context.close()
    for page in opened:
        assert page.complaints == []
        assert all(re.match(r"(file|data|blob):", url) for url in page.requests), "the page should work without a network"

"""The page in the package is what its sources build, byte for byte, and says whose code it contains."""
from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from opened_page import PAGE

SOURCES = PAGE.parents[3] / "tools/inspect_page"


def npm(*arguments: str, cwd) -> subprocess.CompletedProcess:
    return subprocess.run(["npm", *arguments], cwd=cwd, capture_output=True, text=True)


@pytest.fixture(scope="module")
def sources(tmp_path_factory):
    """The sources with their packages installed."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not on PATH")
    folder = tmp_path_factory.mktemp("inspect_page")
    shutil.copytree(SOURCES, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules", "build"))
    installed = npm("ci", "--prefer-offline", "--no-audit", "--no-fund", cwd=folder)
    if installed.returncode != 0 and re.search("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ENETUNREACH|ETIMEDOUT", installed.stderr):
        pytest.skip("npm cannot reach its registry, so the packages are not on PATH")
    assert installed.returncode == 0, installed.stderr
    return folder


@pytest.mark.slow
def test_building_again_gives_the_same_bytes(sources, tmp_path):
    built = subprocess.run(["node", "build.mjs", str(tmp_path)], cwd=sources, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    for name in ("page.html", "LICENSES.txt"):
        assert (tmp_path / name).read_bytes() == (PAGE.parent / name).read_bytes(), f"{name}: run `npm ci && npm run build` in tools/inspect_page"


@pytest.mark.slow
def test_the_sources_have_no_type_errors_and_pass_their_unit_tests(sources):
    for command in ("check", "test"):
        done = npm("run", command, cwd=sources)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_page_is_one_small_file_with_a_place_for_the_recording():
    text = PAGE.read_text()
    assert text.count("<!--UTRACE-->") == 1
    assert PAGE.stat().st_size < 400_000
    assert not re.search(r"""(src|href)=["']?(https?:)?//""", text)


def test_every_bundled_package_has_its_license():
    licenses = (PAGE.parent / "LICENSES.txt").read_text()
    for name in ("d3-zoom", "d3-selection", "uplot", "@fontsource-variable/inter"):
        assert re.search(rf"^{re.escape(name)} \d+\.\d+\.\d+ \(", licenses, re.M), name


def colors(theme: str) -> dict[str, str]:
    css = (SOURCES / "src/style.css").read_text()
    block = css[css.index(theme) :]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block[: block.index("}")]))


def luminance(color: str) -> float:
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [":root {", ':root[data-theme="dark"] {'])
def test_text_has_the_contrast_that_the_web_guidelines_ask_for(theme):
    found = colors(":root {") | colors(theme)
    pairs = [(text, ground) for text in ("ink", "muted", "faint") for ground in ("panel", "background", "raised", "hover", "group", "group-deep", "idle-fill", "done-fill")]
    pairs += [(f"{state}-text", f"{state}-fill") for state in ("idle", "waiting", "ready", "running", "done", "failed")]
    pairs += [(text, ground) for text in ("code-string", "code-number") for ground in ("background", "waiting-fill")]
    pairs += [(text, ground) for text in ("bad", "warn") for ground in ("panel", f"{text}-fill")]
    for text, ground in pairs:
        dark, light = sorted((luminance(found[text]), luminance(found[ground])))
        assert (light + 0.05) / (dark + 0.05) >= 4.5, f"{text} on {ground}"

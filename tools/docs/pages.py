"""The repository's Markdown pages as sources of the site: copied, with their links changed to pages of the site.

A link to a source file leads to a page that shows the file, so that the site needs neither the network nor a checkout.
"""
from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

GROUPS = {
    "Use": ["first_network", "derivatives", "transforms", "data_and_weights", "checkpoint", "modes", "graph_and_hooks", "custom_functions",
            "cpp", "cpp_nn", "cpp_extensions", "inspect", "watching", "distributed", "from_pytorch", "train"],
    "Work on it": ["architecture", "from_scratch", "engine", "adding_an_op", "operator_tables", "why"],
}
SINGLE = ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
FOLDERS = ["core", "undertow", "ops", "tools", "tests", "examples", "bench"]
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".py": "python", ".pyi": "python", ".toml": "toml", ".sh": "bash", ".txt": "text", ".yml": "yaml"}
LINK = re.compile(r"(!?\[[^\]]*\]\()([^)\s#]+)?(#[^)]*)?(\))")


def site_path(path: Path) -> Path:
    """Where a page of the repository is in the site's sources."""
    return Path("index.md") if path == Path("README.md") else path


def repository_pages(root: Path) -> list[Path]:
    found = [Path("README.md"), *(Path(name) for name in SINGLE if (root / name).exists())]
    found += sorted(p.relative_to(root) for p in (root / "docs").rglob("*.md"))
    for folder in FOLDERS:
        found += sorted(p.relative_to(root) for p in (root / folder).rglob("*.md"))
    return found


def source_page(root: Path, path: Path) -> str:
    text = (root / path).read_text()
    language = LANGUAGES.get(path.suffix, "text")
    return f"---\norphan: true\n---\n\n# {path}\n\n~~~~~~~~{{code-block}} {language}\n:linenos:\n\n{text.rstrip()}\n~~~~~~~~\n"


class Copier:
    """Copies pages and, as they are found, the images and source files they link to."""

    def __init__(self, root: Path, out: Path) -> None:
        self.root, self.out = root, out
        self.pages = repository_pages(root)

    def target(self, page: Path, link: str) -> str:
        """The link as it must be in the site."""
        path = Path(os.path.normpath(page.parent / link))
        if (self.root / path).is_dir():
            path = path / "README.md"
        if not (self.root / path).exists() or path.parts[0] == "..":
            raise FileNotFoundError(f"{page}: the link to {link} is broken")
        if path in self.pages:
            path = site_path(path)
        elif path.suffix in (".svg", ".png"):
            self.put(path, None)
        else:
            shown = Path("source") / f"{path}.md"
            self.put(shown, source_page(self.root, path))
            path = shown
        return os.path.relpath(path, site_path(page).parent)

    def put(self, path: Path, text: str | None) -> None:
        (self.out / path).parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            shutil.copyfile(self.root / path, self.out / path)
        else:
            (self.out / path).write_text(text)

    def converted(self, page: Path) -> str:
        def replace(m: re.Match[str]) -> str:
            start, link, anchor, end = m.groups()
            if not link or "://" in link or link.startswith("mailto:"):
                return m[0]
            if anchor and re.fullmatch(r"#L\d+", anchor):  # the site shows source files without anchors
                anchor = None
            return start + self.target(page, link) + (anchor or "") + end

        parts = re.split(r"(^```.*?^```$)", (self.root / page).read_text(), flags=re.S | re.M)
        return "".join(part if i % 2 else LINK.sub(replace, part) for i, part in enumerate(parts))


def toctree(caption: str, entries: list[str]) -> str:
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```", ""])


def contents(pages: list[Path]) -> str:
    """The site's table of contents, for the end of the start page."""
    guides = [p.stem for p in pages if p.parts[0] == "docs" and len(p.parts) == 2]
    listed = {name for names in GROUPS.values() for name in names}
    trees = []
    for caption, names in GROUPS.items():
        entries = [f"docs/{name}" for name in names if name in guides]
        if caption == "Work on it":
            entries += [f"docs/{name}" for name in guides if name not in listed] + ["folders"]
            entries += [str(p.with_suffix("")) for p in pages if len(p.parts) == 1 and p.name != "README.md"]
        trees.append(toctree(caption, entries))
        if caption == "Use":
            trees.append(toctree("API reference", ["api/index"]))
    trees.append(toctree("Measurements", [str(p.with_suffix("")) for p in pages if p.parts[0] == "bench"]))
    return "".join(trees)


def folders(pages: list[Path]) -> str:
    """A page that lists the folders' own pages."""
    inside = [p for p in pages if p.parts[0] in FOLDERS and p.parts[0] != "bench"]
    entries = [f"{p.parent if p.name == 'README.md' else p.with_suffix('')} <{p.with_suffix('')}>" for p in inside]
    head = ["# Folders", "", "What each folder of the repository is for, and where to start reading.", ""]
    return "\n".join([*head, "```{toctree}", ":maxdepth: 1", "", *entries, "```", ""])


def write(root: Path, out: Path) -> None:
    copier = Copier(root, out)
    copier.put(Path("folders.md"), folders(copier.pages))
    for page in copier.pages:
        text = copier.converted(page)
        if page == Path("README.md"):
            text += contents(copier.pages)
        copier.put(site_path(page), text)

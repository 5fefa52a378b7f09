"""Hook of mkdocs: the site holds the files outside of ``docs`` that its pages link to.

Links between the pages are relative to the repository, so that they lead somewhere in a clone, too. On the site the
folder ``docs`` is the root, and every other file has its path in the repository: ``benchmarks/README.md`` is a page,
and ``examples/plane.py`` is copied. So the site needs no address of the repository, and every link is one that
``mkdocs build --strict`` checks.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
DOCS = "docs/"

# Pages outside of docs that the navigation names.
_TOP = ("README", "CONTRIBUTING", "SECURITY", "CODE_OF_CONDUCT", "CHANGELOG", "benchmarks/README")
OTHER_PAGES = [f"{name}.md" for name in _TOP]

# The roles of docstrings, as they are after the conversion to HTML.
ROLE = re.compile(r":(?:attr|class|data|func|meth|mod):<code>~?\.?([\w.]+)</code>")

LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the other pages, and the files that the pages link to."""
    from mkdocs.structure.files import File

    pages = [DOCS + file.src_uri for file in files.documentation_pages()]
    found = list(OTHER_PAGES)
    while found:
        path = found.pop()
        if files.get_file_from_path(site_path(path)) is None and (ROOT / path).is_file():
            files.append(File.generated(config, site_path(path), abs_src_path=str(ROOT / path)))
            pages += [path] if path.endswith(".md") else []
        while pages:
            found += linked(pages.pop())
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between files of the site."""
    uri = page.file.src_uri
    return move_links(markdown, uri if (ROOT / uri).is_file() else DOCS + uri)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn the roles of docstrings into links, where the site has what they name."""
    return ROLE.sub(r'<autoref optional identifier="\1"><code>\1</code></autoref>', html)


def move_links(markdown: str, page: str) -> str:
    """Turn the links of a page, a path in the repository, into those of the site."""
    folder = posixpath.dirname(page)
    on_site = posixpath.dirname(site_path(page)) or "."

    def moved(link: re.Match[str]) -> str:
        if is_elsewhere(link[1]):
            return link[0]
        target = site_path(posixpath.normpath(posixpath.join(folder, link[1])))
        return posixpath.relpath(target, on_site) + (link[2] or "")

    return LINK.sub(moved, markdown)


def linked(page: str) -> list[str]:
    """Return the files of the repository that a page links to, as paths in the repository."""
    targets = [link[1] for link in LINK.finditer((ROOT / page).read_text(encoding="utf-8"))]
    folder = posixpath.dirname(page)
    return [posixpath.normpath(posixpath.join(folder, target)) for target in targets if not is_elsewhere(target)]


def site_path(path: str) -> str:
    """Return where a file of the repository is on the site."""
    return path.removeprefix(DOCS)


def is_elsewhere(target: str) -> bool:
    """Tell whether a link leaves the repository."""
    return re.match(r"/|[a-z]+:", target) is not None

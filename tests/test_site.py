"""The documentation as a site: links lead somewhere, nothing is loaded from elsewhere, and the gallery has all."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from playwright.sync_api import Browser

from conftest import ROOT
from pages import site
from pages.markdown import slug


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site; a page that is not in the navigation, and what MkDocs finds of dead links, is an error."""
    folder = tmp_path_factory.mktemp("site")
    line = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    paths = os.pathsep.join([str(ROOT / "tools"), str(ROOT / "python"), str(ROOT / "papers")])
    env = {**os.environ, "PYTHONPATH": paths, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def texts(built: Path) -> dict[Path, str]:
    """Every page but the one for addresses that there are not, which a server shows and a folder does not."""
    return {path: path.read_text(encoding="utf-8") for path in built.rglob("*.html") if path.name != "404.html"}


def test_every_page_of_the_repository_is_there(texts: dict[Path, str], built: Path) -> None:
    pages = {str(path.relative_to(built)) for path in texts}
    named = [path.replace("README.md", "index.md") for path in site.markdown()]
    assert {path.removesuffix(".md") + ".html" for path in named} <= pages
    assert {"docs/tutorial.ipynb.html", "examples/wire/many_to_one.py.html"} <= pages


def test_links_lead_somewhere(texts: dict[Path, str]) -> None:
    ids = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in texts.items()}
    count = 0
    for path, text in texts.items():
        for found in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            link = unquote(html.unescape(found))
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            aim = (path.parent / name).resolve() if name else path
            assert aim.is_file(), f"{path.name}: nothing is at {link}"
            # Headings without an id are the theme's, as the top of the page.
            if anchor and aim.suffix == ".html" and not anchor.startswith("__"):
                assert anchor in ids[aim], f"{path.name}: no heading for {link}"
                count += 1
    assert count > 2000


def test_nothing_is_loaded_from_elsewhere(texts: dict[Path, str], built: Path) -> None:
    for path, text in texts.items():
        loaded = re.findall(r'<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)="([^"]*)"', text)
        assert len(loaded) > 3, path
        assert not [address for address in loaded if re.match(r"(?:https?:)?//", address)], path
    for path in built.rglob("*.css"):
        text = path.read_text(encoding="utf-8")
        assert not re.findall(r"""(?:url\(|@import)\s*["']?(?:https?:)?//""", text), path


def test_each_picture_of_a_paper_is_in_the_gallery_with_its_title_and_its_page(built: Path) -> None:
    gallery = (built / "docs" / "papers" / "index.html").read_text(encoding="utf-8")
    cards = dict(re.findall(r'<a href="([^"]+)"><img src="([^"]+)" alt="" loading="lazy">', gallery))
    pictures = sorted(path.name for path in (ROOT / "docs" / "papers").glob("*.png"))
    assert sorted(cards.values()) == pictures
    assert len(pictures) > 70
    for name, record in site.records().items():
        assert html.escape(record["title"]) in gallery
        page = (built / "docs" / "papers" / f"{name}.html").read_text(encoding="utf-8")
        assert f'src="{name}.png"' in page
        assert page.count("<tr>") == len(record["rows"]) + 1


def test_figures_are_in_their_order() -> None:
    assert sorted(["a-fig10", "a-fig9b", "a-fig9a", "a-eq4"], key=site.natural) == [
        "a-eq4",
        "a-fig9a",
        "a-fig9b",
        "a-fig10",
    ]


def test_the_python_api_has_signatures_where_the_page_of_the_repository_has_headings(texts: dict[Path, str]) -> None:
    (text,) = (text for path, text in texts.items() if path.name == "python-api.html")
    headings = site.HEADING.findall((ROOT / site.API).read_text(encoding="utf-8"))
    assert len(headings) > 60
    for _, name in headings:
        assert f'id="{slug(name)}"' in text
    # The page of the repository has no such anchors; they are of mkdocstrings.
    assert {"fanin.compare", "fanin.Result.flows"} <= set(re.findall(r'<h\d id="([^"]+)" class="doc', text))
    assert "::: " not in text


def test_it_opens_from_its_folder_and_finds_words_without_a_server(built: Path, browser: Browser) -> None:
    page = browser.new_page()
    trouble: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else trouble.append(asked.url))
    for name in ("docs/python-api.html", "docs/papers/index.html", "docs/schemes/dctcp.html"):
        page.goto((built / name).as_uri())
    page.goto((built / "index.html").as_uri())
    page.locator("[data-md-component=search-query]").click()
    page.keyboard.type("storm watchdog")
    page.locator(".md-search-result__item a", has_text="PFC and its faults").first.wait_for(timeout=60_000)
    assert trouble == []
    page.close()

"""The documentation as a site: what MkDocs asks for while it builds (`make site`).

The Markdown of the repository stays as it is, and has the same places on the site, so links between pages mean the same
there and on GitHub. Besides it the site has the gallery of the papers' pictures, a page per experiment, and the files
that pages refer to.
"""

from __future__ import annotations

import html
import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

from fanin_papers.claims import PAPERS, measured, without_readings
from fanin_papers.claims import claims as all_claims
from pages.markdown import slug, table

ROOT = Path(__file__).resolve().parents[2]
ASSETS = (Path(__file__).with_suffix(".css"), Path(__file__).with_suffix(".js"))
RECORDS = "docs/papers"
"""The papers' experiments: a picture each."""
GALLERY = f"{RECORDS}/README.md"
API = "docs/python-api.md"
CLAIMS = "docs/claims.md"
CLAIMS_OF = {f"docs/claims/{paper}.md": paper for paper in PAPERS}
"""The table of each paper's claims."""

NAV: list[dict[str, str | list[str]]] = [
    {"Start": ["README.md", "docs/quick-start.md", "docs/tutorial.ipynb.md", "docs/which-scheme.md", "docs/faq.md"]},
    {
        "Use": [
            "docs/README.md",
            "docs/concepts.md",
            "docs/terms.md",
            "docs/own-scheme.md",
            "docs/own-scheme.ipynb.md",
            "docs/sweeps.md",
            "docs/choosing-thresholds.md",
            "docs/loss.md",
            "docs/pfc.md",
            "docs/wire.md",
            "docs/traces.md",
            "docs/certify.md",
            "docs/ns3-hpcc.md",
            "docs/htsim.md",
            "docs/collectives.md",
            "docs/graphs.md",
            "docs/astra-sim.md",
            "docs/ultra-ethernet.md",
            "docs/performance.md",
        ]
    },
    {"Reference": ["docs/spec.md", "docs/results.md", "docs/commands.md", API]},
    {"Schemes": ["docs/schemes/README.md", "docs/overview.md"]},
    {
        "Papers": [
            GALLERY,
            CLAIMS,
            *CLAIMS_OF,
            "VALIDATION.md",
            "docs/matrix.md",
            "docs/papers/matrix.md",
            "docs/papers/dart.md",
            "docs/dart-rows.md",
        ]
    },
    {"Project": ["ARCHITECTURE.md", "DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md"]},
]
"""The pages in their order. The manuals of the schemes follow in theirs; a page that is missing ends the build."""

NOTEBOOKS = ("docs/tutorial.ipynb", "docs/own-scheme.ipynb")

LANGUAGES = {".py": "py", ".toml": "toml", ".ipynb": ""}
"""Files that are shown as pages."""

LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
WIDE = re.compile(r"^(\|[^|\n]*){6,}\|$", re.MULTILINE)
"""A row of a table with six columns or more, for which a page has no table of contents beside it."""
HEADING = re.compile(r"^(#{2,3}) (fanin[\w.]*)$", re.MULTILINE)
MARKS = re.compile(r"(<!-- made by `make docs`: api -->)(.*?)(?=<!-- end: api -->)", re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Chooses the order of pages, and gives headings the anchors that they have on GitHub."""
    schemes = sorted(path for path in markdown() if path.startswith("docs/schemes/") and not path.endswith("README.md"))
    manuals = [{Path(path).stem: path} for path in schemes]
    config.nav = [
        {title: [*listed, *manuals] if title == "Schemes" else listed} for part in NAV for title, listed in part.items()
    ]
    config.mdx_configs.setdefault("toc", {})["slugify"] = lambda heading, _: slug(heading)
    # The plugin for use without a server names one that other people serve.
    config.extra["polyfills"] = ["assets/site.js"]
    # Where the logo leads: a page, since a folder without a server has no first one.
    config.extra["homepage"] = "index.html"
    config.watch.extend(str(ROOT / path) for path in markdown())
    return config


def on_files(found: Files, config: MkDocsConfig) -> Files:
    """The pages, and what they refer to, beside the files of the theme."""
    files = [one for one in found if one.src_dir != config.docs_dir]
    files += [file(config, path) for path in markdown()]
    for path in sorted(referred()):
        page = File.generated(config, f"{path}.md", content=shown(path)) if is_shown(path) else file(config, path)
        if page.src_uri not in str(NAV):
            page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    for name, record in records().items():
        page = File.generated(config, f"{RECORDS}/{name}.md", content=experiment(record))
        page.inclusion = InclusionLevel.NOT_IN_NAV
        files.append(page)
    files.append(File.generated(config, GALLERY, content=gallery()))
    files += [File.generated(config, f"assets/{path.name}", abs_src_path=str(path)) for path in ASSETS]
    return Files(files)


def on_page_markdown(text: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """The text of a page with links to what files have become, and with the Python API from its source."""
    here = page.file.src_uri
    if here == API:
        text = MARKS.sub(lambda part: part[1] + described(part[2]), text)
    if here in CLAIMS_OF:
        text = linked_claims(text)
    if WIDE.search(text):
        page.meta["hide"] = ["toc"]
    if here.startswith(f"{RECORDS}/") and page.file.inclusion is InclusionLevel.NOT_IN_NAV:
        # What explains comes before what was measured.
        page.meta["search"] = {"boost": 0.3}
    return LINK.sub(lambda link: f"]({target(here, link[1])}{link[2] or ''})", text)


def file(config: MkDocsConfig, path: str) -> File:
    """A file of the repository, at the same place."""
    return File.generated(config, path, abs_src_path=str(ROOT / path))


@cache
def markdown() -> tuple[str, ...]:
    """Every page of the repository."""
    return tuple(str(path.relative_to(ROOT)) for path in sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]))


def links(page: str) -> Iterator[str]:
    """The files and folders that a page refers to, as paths in the repository."""
    for found in LINK.finditer((ROOT / page).read_text(encoding="utf-8")):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[1]))
        if not path.startswith("..") and (ROOT / path).exists():
            yield path


@cache
def referred() -> frozenset[str]:
    """The files that are not pages and that pages refer to, pictures of experiments among them."""
    found = {path for page in (*markdown(), *NOTEBOOKS) for path in links(page) if (ROOT / path).is_file()}
    return frozenset({*found, *(f"{RECORDS}/{name}.png" for name in records())} - {*markdown()})


def is_shown(path: str) -> bool:
    """Whether a file that pages refer to becomes a page."""
    return Path(path).suffix in LANGUAGES


def target(here: str, path: str) -> str:
    """Where a link of a page leads on the site: a folder is shown by its gallery, code by its page."""
    there = posixpath.normpath(posixpath.join(posixpath.dirname(here), path))
    if there == RECORDS:
        return f"{path}/README.md"
    return f"{path}.md" if there in referred() and is_shown(there) else path


def shown(path: str) -> str:
    """A file as a page: a notebook as its cells, other files as they are."""
    text = (ROOT / path).read_text(encoding="utf-8")
    if not path.endswith(".ipynb"):
        return f"# {path}\n\n```{LANGUAGES[Path(path).suffix]}\n{text}```\n"
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```py\n{source}\n```")
    return "\n\n".join(parts) + "\n"


# The papers' pictures


@cache
def records() -> dict[str, Mapping[str, Any]]:
    """The records of the papers' experiments that have a picture, by name."""
    return {name: one for name, one in measured().items() if (ROOT / RECORDS / f"{name}.png").is_file()}


def verdicts(record: Mapping[str, Any]) -> str:
    """How many rows of an experiment hold, in words; those under other readings are not counted."""
    judged = [row["verdict"] for row in without_readings(record)["rows"] if row["judged"]]
    counted = [f"{judged.count(kind)} {kind}" for kind in ("holds", "close", "differs", "calibrated") if kind in judged]
    return ", ".join(counted) or "rows that decide nothing"


def gallery() -> str:
    """All pictures, by paper."""
    parts = [
        "# Gallery",
        "The pictures of the papers' experiments, drawn by `fanin paper ID` from our runs. Each leads to a page with "
        "our numbers beside the paper's and counts their verdicts. What becomes of each claim is in "
        f"[the table of claims](../{Path(CLAIMS).name}).",
        grid([card("matrix.html", "matrix.png", "matrix: every scheme on every paper's ground", "slowdowns, goodput")]),
    ]
    for prefix, paper in PAPERS.items():
        names = sorted((name for name in records() if name.startswith(f"{prefix}-")), key=natural)
        shown = [(name, records()[name]) for name in names]
        cards = [card(f"{name}.html", f"{name}.png", f"{name}: {one['title']}", verdicts(one)) for name, one in shown]
        parts += [f"## {paper}", grid(cards)]
    return "\n\n".join(parts) + "\n"


def grid(cards: list[str]) -> str:
    """Cards beside each other."""
    return '<div class="gallery">\n' + "\n".join(cards) + "\n</div>"


def card(page: str, picture: str, title: str, note: str) -> str:
    """A picture with its title and a note, which leads to its page."""
    lines = "".join(f"<span>{html.escape(line)}</span>" for line in (title, note))
    return f'<a href="{page}"><img src="{picture}" alt="" loading="lazy">{lines}</a>'


def natural(text: str) -> list[str | int]:
    """Numbers in their order: figure 9 is before figure 10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


def experiment(record: Mapping[str, Any]) -> str:
    """The page of an experiment."""
    name = record["experiment"]
    rows = [
        [claim_link(row["claim"]), row["what"], row["paper"], row["ours"], row["accept"], verdict(row)]
        for row in record["rows"]
    ]
    parts = [
        f"# {name}: {record['title']}",
        f"![{record['title']}]({name}.png)",
        f"`fanin paper {name}` measures it again: {record['runs']:,} runs, {record['packet_hops']:,} packet-hops. "
        f"[All pictures](README.md), [all claims](../{Path(CLAIMS).name}).",
        table(["claim", "what", "the paper", "ours", "holds if", "verdict"], rows),
    ]
    return "\n\n".join(parts) + "\n"


def claim_link(label: str) -> str:
    """A claim with its setting, as a link to its row in the table of claims."""
    name = label.split(" (")[0]
    return f"[{label}](../claims/{name.partition('-')[0]}.md#{name})" if name in claims() else label


def verdict(row: dict[str, Any]) -> str:
    """That of a row; one that is only shown decides nothing."""
    return f"**{row['verdict']}**" if row["judged"] else f"{row['verdict']} (only shown)"


@cache
def claims() -> frozenset[str]:
    """The ids of all claims, which begin the rows of their tables."""
    return frozenset(claim.id for claim in all_claims())


def linked_claims(text: str) -> str:
    """A table of claims with an anchor in each row, and a link to each experiment."""
    text = re.sub(
        r"^\| (\S+) \|",
        lambda row: f'| <span id="{row[1]}">{row[1]}</span> |' if row[1] in claims() else row[0],
        text,
        flags=re.MULTILINE,
    )
    return re.sub(
        r"`fanin paper ([^`\s]+)`",
        lambda said: f"[{said[0]}](../papers/{said[1]}.md)" if said[1] in records() else said[0],
        text,
    )


# The Python API


def described(part: str) -> str:
    """The generated part of the page of the Python API, with what mkdocstrings makes of each object."""
    pieces = HEADING.split(part)
    names = pieces[2::3]
    made = [pieces[0]]
    for marks, name, text in zip(pieces[1::3], names, pieces[3::3], strict=True):
        # A module has the headings of its members after its own.
        alone = any(other.startswith(f"{name}.") for other in names)
        options = {"heading_level": len(marks), "toc_label": name, **({"members": False} if alone else {})}
        lines = "".join(f"      {key}: {json.dumps(value)}\n" for key, value in options.items())
        made.append(f'<span id="{slug(name)}"></span>\n\n::: {name}\n    options:\n{lines}')
        # What follows is of the object, up to a heading of the page's own.
        _, heading, own = text.partition("\n## ")
        made.append(f"{heading}{own}\n")
    return "\n".join(made)

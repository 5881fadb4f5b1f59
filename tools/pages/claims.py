"""`docs/claims.md`, and a page of each paper's claims in `docs/claims`."""

from collections import Counter
from pathlib import Path
from textwrap import fill

from fanin import table
from fanin_papers import claims
from fanin_papers.claims import PAPERS, VERDICTS, Claim, Reading
from fanin_papers.open_questions import draw
from fanin_papers.pictures import write
from fanin_papers.tables import ours_of, why

ROOT = Path(__file__).parents[2]
MADE = "<!-- made by `make docs` from papers/fanin_papers/claims; change that -->"


def totals() -> str:
    """Claims by paper and verdict."""
    head = ["paper", *VERDICTS, "all"]
    lines = [line(head), line(["---", *["---:"] * (len(head) - 1)])]
    for paper, found in claims.totals(claims.claims()).items():
        name = f"[{PAPERS[paper]}](claims/{paper}.md)" if paper in PAPERS else paper
        lines.append(line([name, *map(str, found.values()), str(sum(found.values()))]))
    return "\n".join(lines)


def pages() -> dict[str, str]:
    """The page of each paper's claims, by its path."""
    return {f"docs/claims/{paper}.md": page(paper) for paper in PAPERS}


def page(paper: str) -> str:
    """The table of a paper's claims."""
    text = (claims.FOLDER / f"{paper}.toml").read_text(encoding="utf-8")
    source = " ".join(part.removeprefix("#").strip() for part in text.partition("\n#\n")[0].splitlines())
    head = ["claim", "where", "what the paper says", "holds if", "ours", "verdict", "shown by"]
    rows = [row(claim) for claim in claims.claims() if claim.paper == paper]
    return "\n".join(
        [
            MADE,
            f"# Claims of {PAPERS[paper]}",
            "",
            fill(source.partition(": ")[2], 120),
            "",
            "What the verdicts mean, what the paper leaves open, and the other papers: [claims](../claims.md).",
            "",
            line(head),
            line(["---"] * len(head)),
            *rows,
            "",
        ]
    )


def row(claim: Claim) -> str:
    """A claim as a line of its table."""
    verdict = f"**{claim.verdict}**"
    if claim.depends is not None:
        verdict += f" on [{claim.depends.name}](../claims.md#what-the-papers-leave-open)"
    if claim.cause and claim.verdict != "holds":
        verdict += f": {why(claim)}"
    shown = "<br>".join(f"`{command}`" for command in claim.commands)
    return line([claim.id, claim.where, claim.says, claim.accept, ours_of(claim), verdict, shown or table.NONE])


def open_questions() -> str:
    """What the papers leave open, and what each reading does to their claims."""
    parts = []
    for paper, name in PAPERS.items():
        its = [reading for reading in claims.readings().values() if reading.paper == paper]
        if not its:
            continue
        parts.append(f"### {name}")
        for question in dict.fromkeys(reading.question for reading in its):
            readings = [reading for reading in its if reading.question == question]
            first = readings[0]
            parts.append(f"**{question}** {first.where}: {first.words}. Used elsewhere: {first.used}.")
            head = ["reading", "what it is", "changes", "claims measured", "verdicts that it changes"]
            lines = [line(head), line(["---"] * len(head)), *map(reading_row, readings)]
            parts.append("\n".join(lines))
        if picture(paper).is_file():
            parts.append(f"![Claims of {name} under each reading](claims/{paper}.png)")
    return "\n\n".join(parts)


def reading_row(reading: Reading) -> str:
    """A reading with what it does to the claims."""
    found = claims.under_reading(reading)
    counts = Counter((before, after) for before, after in found.values())
    changed = [f"`{id_}`: {before}, {after}" for id_, (before, after) in found.items() if before != after]
    whole = f"{len(found)}, {sum(n for (before, after), n in counts.items() if before == after)} alike"
    keys = "<br>".join(f"`{key}`" for key in reading.keys)
    return line([reading.name, reading.says.strip(), keys, whole, "<br>".join(changed) or table.NONE])


def line(cells: list[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def picture(paper: str) -> Path:
    """Where the picture of a paper's claims under each reading lies."""
    return ROOT / "docs" / "claims" / f"{paper}.png"


def main() -> None:
    """Draws the pictures of papers that leave something open."""
    for paper in PAPERS:
        if any(reading.paper == paper for reading in claims.readings().values()):
            write(draw(paper), picture(paper), dpi=110)
            print(f"written: {picture(paper)}")


if __name__ == "__main__":
    main()

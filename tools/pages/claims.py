"""`docs/claims.md`."""

from fanin import table
from fanin_papers import claims
from fanin_papers.claims import PAPERS, VERDICTS, Claim
from fanin_papers.tables import ours_of


def totals() -> str:
    """Claims by paper and verdict."""
    head = ["paper", *VERDICTS, "all"]
    lines = [line(head), line(["---", *["---:"] * (len(head) - 1)])]
    for paper, found in claims.totals(claims.claims()).items():
        lines.append(line([PAPERS.get(paper, paper), *map(str, found.values()), str(sum(found.values()))]))
    return "\n".join(lines)


def tables() -> str:
    """A table for each paper."""
    parts = []
    for paper, name in PAPERS.items():
        text = (claims.FOLDER / f"{paper}.toml").read_text(encoding="utf-8")
        source = " ".join(part.removeprefix("#").strip() for part in text.partition("\n#\n")[0].splitlines())
        head = ["claim", "where", "what the paper says", "holds if", "ours", "verdict", "shown by"]
        lines = [f"## {name}", "", source.partition(": ")[2], "", line(head), line(["---"] * len(head))]
        lines += [row(claim) for claim in claims.claims() if claim.paper == paper]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def row(claim: Claim) -> str:
    """A claim as a line of its table."""
    verdict = f"**{claim.verdict}**"
    if claim.cause and claim.verdict != "holds":
        verdict += f": {claim.cause} ({'proven' if claim.proven else 'asserted'})"
    shown = "<br>".join(f"`{command}`" for command in claim.commands)
    return line([claim.id, claim.where, claim.says, claim.accept, ours_of(claim), verdict, shown or table.NONE])


def line(cells: list[str]) -> str:
    """A line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

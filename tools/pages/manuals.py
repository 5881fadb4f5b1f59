"""A page per scheme: its manual, which is a comment of its source, and its parameters as keys of a spec."""

from fanin import _core
from fanin.table import manual_title
from pages import pictures, spec
from pages.markdown import table

INDEX = """# Schemes

A scheme is chosen by its id, for each traffic (`traffic.scheme` of a [spec](../spec.md#traffic)), or for all by
`fanin run SPEC --scheme ID` and `fanin compare SPEC --schemes A,B`. Each page is the manual that `fanin explain ID`
shows: idea, signals, control law, parameters with their sources, and differences from the paper. How to add one:
[CONTRIBUTING.md](../../CONTRIBUTING.md#add-a-scheme).
"""


def pages() -> dict[str, str]:
    """Every page by its path, the index among them."""
    files = {row["file"]: row for row in _core.schemes()}
    made = {}
    rows = []
    for file, row in files.items():
        name = file.replace("_", "-")
        made[f"docs/schemes/{name}.md"] = f"{MADE}\n{row['manual'].strip()}\n{shown(name)}\n{keys(row['presets'])}\n"
        ids = ", ".join(f"`{preset}`" for preset in row["presets"])
        rows.append([f"[{name}]({name}.md)", ids, manual_title(row["manual"])])
    made["docs/schemes/README.md"] = f"{MADE}\n{INDEX}\n{table(['manual', 'ids', 'what it is'], rows)}\n"
    return made


MADE = "<!-- made by `make docs` from the comments in crates/cc/src/schemes; change those -->"


def shown(page: str) -> str:
    """The section with the picture of a page, if it has one."""
    if not pictures.picture(page).is_file():
        return ""
    changes = [pictures.CHANGES[preset] for preset in pictures.SCHEMES[page] if preset in pictures.CHANGES]
    changed = f" With `scheme = {', '.join(changes)}`.".replace("'", '"') if changes else ""
    if page.startswith("timely"):
        changed += (
            " The buffer has 2 MB per port here and loses nothing: round trips below the higher threshold need it."
        )
    if page in pictures.CUT:
        changed += "\nHere switches cut packets that have no room down to their headers instead of dropping them."
    if page.startswith("infiniband"):
        changed += " Here flow control is by credits, each port's buffer is what these compute, and nothing is lost."
    return f"""
## Picture

![Three flows under {", ".join(pictures.SCHEMES[page])}]({page}.png)

Three flows into one host at 10 Gb/s, with a round trip of 23 us without queues and a buffer of 100 packets; marks above
20 packets. The second joins after 20 ms, the third after 40 ms, and the first leaves when its 44 MB have arrived.
Goodput counts bytes that arrived in order. A window is the smaller of the sender's and its receiver's. `make pictures`
draws it from `examples/join-leave.toml`.{changed}
"""


def keys(presets: list[str]) -> str:
    """The parameters as a spec names them, and the values of each preset."""
    writer = spec.Reference()
    first, *others = presets
    parameters = spec.parameters(first)
    if not parameters:
        return f'## In a spec\n\n`scheme = "{first}"`. It has no parameters.'
    rows = []
    for name, node in parameters.items():
        meaning, otherwise = spec.text_of(node)
        if spec.has_tables(node):  # another scheme's parameters
            owner = (spec.name_of(node) or name).lower()
            rows.append([f"`{name}`", f"[parameters of {owner}]({owner}.md#in-a-spec)", "theirs", meaning])
            continue
        sort, options = writer.sort(name, node)
        default = f"`{spec.toml(node['default'])}`" if "default" in node else otherwise or "none"
        rows.append([f"`{name}`", in_place(sort), default, f"{meaning} {in_place(options)}"])
    name = next(iter(parameters))
    example = spec.toml({"id": first, name: writer.example(name, parameters[name])})
    parts = [
        "## In a spec",
        f'`scheme = "{first}"`, or a table with the parameters that are to differ: `scheme = {example}`',
        table(["key", "type", f"default of `{first}`", "meaning"], rows),
        *(differs(preset, first) for preset in others),
    ]
    return "\n\n".join(parts)


def differs(preset: str, first: str) -> str:
    """The defaults that a preset has for itself."""
    own = spec.parameters(preset)
    base = spec.parameters(first)
    changed = [
        f"`{key} = {spec.toml(node['default'])}`"
        for key, node in own.items()
        if "default" in node and node["default"] != base.get(key, {}).get("default")
    ]
    return f"`{preset}` is `{first}` with {', '.join(changed) or 'the same defaults'}."


def in_place(text: str) -> str:
    """Links of the spec reference, as seen from a manual."""
    return text.replace("](#", "](../spec.md#").replace("](schemes/README.md", "](README.md")

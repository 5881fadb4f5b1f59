"""The command line: the `--help` of each command."""

from __future__ import annotations

import re

import typer
from typer.core import TyperCommand, TyperGroup
from typer.testing import CliRunner

from fanin import cli
from pages.markdown import link, table

WIDTH = 110
"""Columns of the help."""


def reference() -> str:
    """The part of `docs/commands.md` that is made."""
    listed = commands(typer.main.get_command(cli.app), ())
    index = table(["command", "what it does"], [[link("fanin " + " ".join(path)), about] for path, about in listed])
    pages = [f"## fanin {' '.join(path)}\n\n```text\n{help_of(path)}\n```" for path, _ in listed]
    return "\n\n".join([index, *pages])


def commands(command: object, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
    """Every command below this one, by its words, with its first sentence."""
    found: list[tuple[tuple[str, ...], str]] = []
    if isinstance(command, TyperGroup):
        for name, one in command.commands.items():
            if isinstance(one, TyperCommand | TyperGroup) and not one.hidden:
                about = re.split(r"(?<=[.])\s|\n\n", one.help or "")[0]
                found += [((*path, name), about), *commands(one, (*path, name))]
    return found


def help_of(path: tuple[str, ...]) -> str:
    """The output of `--help`, without colours and at a fixed width."""
    env = {"COLUMNS": str(WIDTH), "TERMINAL_WIDTH": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    shown = CliRunner().invoke(cli.app, [*path, "--help"], prog_name="fanin", env=env)
    if shown.exit_code != 0:
        raise ValueError(f"fanin {' '.join(path)} --help: {shown.output}")
    return "\n".join(line.rstrip() for line in shown.output.strip().splitlines())

"""Draws a scheme of one's own anew whenever its file is saved."""

from __future__ import annotations

import base64
import html
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fanin import own_schemes, stopping
from fanin._core import SpecError
from fanin.run_folder import RunError

if TYPE_CHECKING:
    from fanin.result import Result

JOIN_LEAVE = Path(__file__).parent / "templates" / "join-leave.toml"
"""The spec that is drawn unless another one is named: one join and one leave."""

POLL_S = 0.2
"""How often the files are looked at."""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>
body {{ font-family: sans-serif; margin: 1em auto; max-width: 1200px; padding: 0 1em; }}
img {{ max-width: 100%; }}
pre {{ white-space: pre-wrap; background: #fbeeee; border-left: 4px solid #a50f15; padding: 0.8em; }}
</style>
<script>setTimeout(() => location.reload(), 1000)</script>
</head><body>
<h1>{title}</h1>
{problem}{picture}
</body></html>
"""
"""Reloads itself every second. The browser keeps the place to which it was scrolled."""


@dataclass
class Watch:
    """What is drawn, and where."""

    scheme: str
    """`FILE.py:CLASS`, the path of a library, or the id of a scheme."""
    spec: Path = JOIN_LEAVE
    beside: Sequence[str] = ()
    """The ids of schemes in columns of their own."""
    changes: Sequence[str] = ()
    """Changes of the spec, as `key=value`."""
    out: Path = Path("watch.png")
    page: Path | None = None
    """An HTML page that reloads itself."""
    balancing: str | None = None
    """Instead of the spec's, as `scheme`."""
    discipline: str | None = None
    """Likewise."""
    warnings: list[str] = field(default_factory=list)
    """Of the runs that were drawn last, as `fanin run` prints them."""
    _others: list[Result] = field(default_factory=list)
    _others_seen: object = None

    @property
    def files(self) -> list[Path]:
        """What is drawn anew when it changes."""
        return [*self._shared, *_files(self.scheme)]

    @property
    def _shared(self) -> list[Path]:
        """Of these, what matters to the other schemes too."""
        return [self.spec, *_files(self.balancing, self.discipline)]

    def seen(self) -> list[tuple[int, int] | None]:
        """The state of the files: time and size; None for one that is not there, as while an editor replaces it."""
        return [_state(path) for path in self.files]

    def draw(self) -> str | None:
        """Runs and draws once; returns what is wrong, if anything. The picture is then the earlier one, or of what was
        measured until the scheme failed."""
        problem = None
        self.warnings = []
        try:
            problem = self._draw()
        except (SpecError, RunError) as error:
            problem = str(error)
        except OSError as error:
            problem = f"{error.filename}: {error.strerror}"
        if self.page is not None:
            self._write_page(problem)
        return problem

    def _draw(self) -> str | None:
        from fanin.comparison import Comparison
        from fanin.plot.join_leave import join_leave

        own = self._run(self.scheme)
        if own.cancelled and own.failure is None:
            return None  # Ctrl-C
        seen = [_state(path) for path in self._shared]
        if seen != self._others_seen:
            self._others = [self._run(one) for one in self.beside]
            self._others_seen = seen
        if stopping.received():
            return None
        runs = [own, *self._others]
        if own.failure is None:  # else they would be about what it never came to
            self.warnings = Comparison(runs, cancelled=False).warnings
        figure = join_leave(runs)
        drawn = io.BytesIO()
        figure.savefig(drawn, format=self.out.suffix.removeprefix("."), dpi=160)
        _write(self.out, drawn.getvalue())
        return own.failure

    def _run(self, scheme: str) -> Result:
        from fanin.runs import run

        return run(
            self.spec,
            scheme=scheme,
            set=self.changes,
            progress=False,
            balancing=self.balancing,
            discipline=self.discipline,
        )

    def _write_page(self, problem: str | None) -> None:
        kind = {".png": "png", ".svg": "svg+xml"}[self.out.suffix]
        picture = ""
        if self.out.is_file():
            content = base64.b64encode(self.out.read_bytes()).decode()
            picture = f'<img src="data:image/{kind};base64,{content}" alt="the curves of the scheme">'
        said = f"<pre>{html.escape(problem)}</pre>" if problem else ""
        title = html.escape(self.scheme)
        assert self.page is not None
        _write(self.page, PAGE.format(title=title, problem=said, picture=picture).encode())


def watch(what: Watch, tell: Callable[[str | None], None], *, go_on: Callable[[], bool] = lambda: True) -> None:
    """Draws at once, and whenever a file has changed, until `go_on` is false. `tell` is called after each time, with
    what was wrong."""
    while go_on():
        seen = what.seen()
        problem = what.draw()
        if stopping.received():
            raise KeyboardInterrupt
        tell(problem)
        while (now := what.seen()) == seen or None in now:
            if not go_on():
                return
            time.sleep(POLL_S)


def _files(*names: str | None) -> list[Path]:
    """The files of those that are one's own."""
    own = [name for name in names if name is not None and own_schemes.is_reference(name)]
    matches = [own_schemes.REFERENCE.fullmatch(name) for name in own]
    return [Path(match["file"] if match else name) for name, match in zip(own, matches, strict=True)]


def _state(path: Path) -> tuple[int, int] | None:
    try:
        state = path.stat()
    except OSError:
        return None
    return state.st_mtime_ns, state.st_size


def _write(path: Path, content: bytes) -> None:
    """A reader sees the old content or the new one."""
    scratch = path.with_name(f".{path.name}.part")
    try:
        scratch.write_bytes(content)
        scratch.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None

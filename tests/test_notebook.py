"""Notebooks: the tutorial runs in a real kernel, progress stays readable, and an interrupt leaves kernel and result."""

import json
import queue
import re
import time
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient

from conftest import ROOT

TUTORIAL = ROOT / "docs" / "tutorial.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> nbformat.NotebookNode:
    """The tutorial with its outputs."""
    folder = tmp_path_factory.mktemp("tutorial")
    notebook: nbformat.NotebookNode = nbformat.read(TUTORIAL, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    nbformat.write(notebook, folder / "executed.ipynb")
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> Iterator[tuple[str, dict[str, str]]]:
    """What each output of each code cell has, by kind of content, with the cell's source."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            for output in cell.outputs:
                yield cell.source, {"text/plain": output.text} if output.output_type == "stream" else output.data


def test_the_tutorial_is_committed_without_outputs() -> None:
    for cell in json.loads(TUTORIAL.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


def test_the_tutorial_draws_and_shows_tables(executed: nbformat.NotebookNode) -> None:
    shown = list(outputs(executed))
    assert sum("image/png" in data for _, data in shown) == 4
    assert sum("dataframe" in data.get("text/html", "") for _, data in shown) >= 4
    text = {source.partition("\n")[0]: data["text/plain"] for source, data in shown}
    assert text["began = time.monotonic()"].startswith("cancelled: True")
    assert text['run.save("runs/tutorial", force=True)'] == "True"


def test_progress_is_one_line_that_is_renewed(executed: nbformat.NotebookNode) -> None:
    first = [data for source, data in outputs(executed) if source.startswith("spec = {")]
    assert len(first) == 2, "the line of the run, and the value of the cell"
    assert list(first[0]) == ["text/plain"]
    assert re.fullmatch(r"as-written █{16} .* of .* ms.*", first[0]["text/plain"])
    several = next(data for source, data in outputs(executed) if source.startswith("compared ="))
    assert [line.split()[0] for line in several["text/plain"].splitlines()] == ["dcqcn", "hpcc", "dart", "none"]
    for source, data in outputs(executed):
        assert "\x1b" not in data.get("text/plain", ""), source


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[tuple[KernelManager, BlockingKernelClient]]:
    """A kernel in a folder of its own."""
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(tmp_path))
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def messages(client: BlockingKernelClient, request: str, seconds: float) -> Iterator[tuple[str, dict[str, str]]]:
    """What the cell sends until it is done, by kind."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            message = client.get_iopub_msg(timeout=1)
        except queue.Empty:
            continue
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return
        yield message["msg_type"], message["content"]
    raise AssertionError(f"not done after {seconds} s")


def printed(client: BlockingKernelClient, code: str) -> str:
    """What a cell prints."""
    request = client.execute(code)
    return "".join(content["text"] for kind, content in messages(client, request, 60) if kind == "stream")


def test_an_interrupt_stops_the_run_and_keeps_the_kernel(
    kernel: tuple[KernelManager, BlockingKernelClient], tiny: Path
) -> None:
    manager, client = kernel
    assert printed(client, f"import fanin; print(fanin.run({str(tiny)!r}, progress=False).cancelled)") == "False\n"
    request = client.execute(f"run = fanin.run({str(tiny)!r}, set=['measure.window=100 s'])\nprint('went on')")
    shown = []
    interrupted_s = None
    for kind, content in messages(client, request, 120):
        shown.append((kind, content))
        # After the second call of the watcher: the first may be before the main thread waits.
        if interrupted_s is None and [kind for kind, _ in shown].count("update_display_data") > 1:
            manager.interrupt_kernel()
            interrupted_s = time.monotonic()
    assert interrupted_s is not None
    assert time.monotonic() - interrupted_s < 20
    assert not ["".join(content["traceback"]) for kind, content in shown if kind == "error"]
    assert [content["text"] for kind, content in shown if kind == "stream"] == ["went on\n"]
    assert printed(client, "print(run.cancelled, 0 < run.simulated_ms < 1e5, run.flows().height > 0)") == (
        "True True True\n"
    )

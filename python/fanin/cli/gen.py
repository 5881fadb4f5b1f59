"""`fanin gen`: topologies, flows and configurations in the format of the ns-3 HPCC simulator."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from fanin import _core
from fanin.cli.common import AsJson, emit, warn

app = typer.Typer(
    help="""Make topologies, flows and configurations in the format of the ns-3 HPCC simulator.

    \b
    Examples:
      fanin gen topology fat-tree --k 8 -o topology.txt
      fanin gen flows --topology topology.txt --cdf websearch --load 0.3 --time 2ms -o flow.txt
      fanin gen config --cc hpcc --topology topology.txt --flows flow.txt -o config.txt
      fanin run --hpcc config.txt
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
topology = typer.Typer(help="Make a topology file.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(topology, name="topology")

Out = Annotated[
    Path, typer.Option("-o", "--out", metavar="FILE", help="The file; - is standard output.", show_default=False)
]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
LinkRate = Annotated[str, typer.Option("--rate", metavar="RATE", help="Rate of each link.")]
Delay = Annotated[str, typer.Option("--delay", metavar="TIME", help="Propagation delay of each link.")]
HostCount = Annotated[
    int | None, typer.Option("--hosts", min=1, metavar="N", help="Hosts 0 to N-1.", show_default=False)
]
OfTopology = Annotated[
    Path | None,
    typer.Option("--topology", metavar="FILE", help="The hosts of a topology, instead.", show_default=False),
]
Size = Annotated[str, typer.Option("--size", metavar="BYTES", help="Of each flow.")]
Start = Annotated[str, typer.Option("--start", metavar="TIME", help="Start of the first flow.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random draws.")]


@topology.command("fat-tree")
def fat_tree(
    out: Out,
    k: Annotated[int, typer.Option("--k", min=1, metavar="K", help="Ports per switch, even: k^3/4 hosts.")] = 8,
    rate: LinkRate = "100Gbps",
    delay: Delay = "1us",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """A fat tree of switches with k ports. Hosts come first, then ToR, aggregation and core switches."""
    write(out, _core.hpcc_topology("fat-tree", k, rate, delay), force=force, as_json=as_json)


@topology.command("hpcc-320")
def hpcc_320(out: Out, force: Force = False, as_json: AsJson = False) -> None:
    """The network of HPCC section 5.1: 320 hosts at 100 Gb/s, a fabric of 400 Gb/s, 1 us a link."""
    write(out, _core.hpcc_topology("hpcc-320", 0, "", ""), force=force, as_json=as_json)


@topology.command()
def star(
    out: Out,
    hosts: Annotated[
        int, typer.Option("--hosts", min=1, metavar="N", help="Hosts, at least 2; the switch follows them.")
    ] = 17,
    rate: LinkRate = "100Gbps",
    delay: Delay = "1us",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Hosts around one switch."""
    write(out, _core.hpcc_topology("star", hosts, rate, delay), force=force, as_json=as_json)


@app.command("flows")
def poisson(
    out: Out,
    cdf: Annotated[
        str,
        typer.Option(
            "--cdf",
            metavar="FILE|NAME",
            help='Sizes: a file with "bytes percent" in each line, or WebSearch, FB_Hadoop, AliStorage, in any case.',
            show_default=False,
        ),
    ],
    load: Annotated[
        float,
        typer.Option(
            "--load", metavar="SHARE", help="Payload as a share of the hosts' links; 0.3 is 30 %.", show_default=False
        ),
    ],
    time: Annotated[str, typer.Option("--time", metavar="TIME", help="How long flows start.")] = "10ms",
    hosts: HostCount = None,
    topology: OfTopology = None,
    bandwidth: Annotated[
        str | None,
        typer.Option("--bandwidth", metavar="RATE", help="Of a host's link. Default: that of the topology's."),
    ] = None,
    start: Start = "2s",
    seed: Seed = 1,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Background traffic as that simulator's traffic_gen.py makes it: Poisson arrivals at each host, to any other host.

    Gaps of a host are exponential, with a mean such that payload alone (without headers) takes the load. Three faults
    of the script are mended: a count that keeps digits of a longer estimate, the loss of the last flow of each host,
    and draws without a seed. Port 100, priority group 3.
    """
    text = _core.hpcc_poisson(hosts, path(topology), cdf, load, bandwidth, time, start, seed)
    write(out, text, force=force, as_json=as_json)
    if load > 1:
        warn(f"--load {load:g} is {load * 100:.0f} % of the hosts' links: queues grow without end; 0.3 is 30 %")


@app.command()
def permutation(
    out: Out,
    size: Size = "1MB",
    hosts: HostCount = None,
    topology: OfTopology = None,
    start: Start = "2s",
    seed: Seed = 1,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Flows of a permutation: each host sends one and receives one, in one random cycle, all at once."""
    write(out, _core.hpcc_permutation(hosts, path(topology), size, start, seed), force=force, as_json=as_json)


@app.command()
def incast(
    out: Out,
    senders: Annotated[int, typer.Option("--senders", min=1, metavar="N", help="Hosts that send.", show_default=False)],
    receiver: Annotated[int, typer.Option("--receiver", min=0, metavar="HOST", help="The host that receives.")] = 0,
    size: Size = "500KB",
    hosts: HostCount = None,
    topology: OfTopology = None,
    start: Start = "2s",
    seed: Seed = 1,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Flows of an incast: random hosts send one flow each to one host, all at once. Port 200."""
    write(
        out,
        _core.hpcc_incast(hosts, path(topology), receiver, senders, size, start, seed),
        force=force,
        as_json=as_json,
    )


@app.command()
def config(
    out: Out,
    cc: Annotated[
        str,
        typer.Option(
            "--cc",
            metavar="LAW",
            help="hpcc, dcqcn, dcqcn-win, dcqcn-paper, dcqcn-paper-win, timely, timely-win or dctcp.",
            show_default=False,
        ),
    ],
    topology: Annotated[str, typer.Option("--topology", metavar="FILE", help="The topology file.", show_default=False)],
    flows: Annotated[str, typer.Option("--flows", metavar="FILE", help="The flow file.", show_default=False)],
    stop: Annotated[float, typer.Option("--stop", metavar="SECONDS", help="When it ends at the latest.")] = 4.0,
    rate_ai: Annotated[
        str | None, typer.Option("--rate-ai", metavar="RATE", help="RATE_AI. Default: that of run.py.")
    ] = None,
    trace: Annotated[
        str | None, typer.Option("--trace", metavar="FILE", help="A list of nodes to trace. Default: none.")
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """A configuration as that simulator's run.py writes it for the rate of the hosts' links.

    It has only keys that have an effect. Both files are read, so that mistakes in them are found here; their paths are
    written as they are given, and are relative to the folder in which the configuration runs.
    """
    write(out, _core.hpcc_config(cc, topology, flows, stop, rate_ai, trace), force=force, as_json=as_json)


def path(file: Path | None) -> str | None:
    """A path as the native module takes it."""
    return None if file is None else str(file)


def write(out: Path, text: str, *, force: bool, as_json: bool) -> None:
    """Writes a file atomically; raises `FileExistsError` for an existing one without `force`."""
    if str(out) == "-":
        if as_json:
            emit({"ok": True, "file": None, "text": text})
        else:
            sys.stdout.write(text)
        return
    if out.is_dir():
        raise FileExistsError(f"{out}: is a folder; name a file in it")
    if not force and out.exists():
        raise FileExistsError(f"{out}: exists; choose another file or allow replacing it with --force")
    beside = out.with_name(f".{out.name}.part")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(out)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(out)) from None
    finally:
        with suppress(OSError):
            beside.unlink()
    if as_json:
        emit({"ok": True, "file": str(out), "bytes": out.stat().st_size, "lines": text.count("\n")})

"""`fanin gen`: topologies, flows and configurations in the format of the ns-3 HPCC simulator, and jobs in the formats
of LogGOPSim and Chakra."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from fanin import _core
from fanin.cli.common import emit, need, warn
from fanin.cli.options import AsJson, Groups, Set, grouped
from fanin.run_folder import put_text

app = typer.Typer(
    help="""Make topologies, flows and configurations in the format of the ns-3 HPCC simulator, and jobs as GOAL or
    Chakra.

    \b
    Examples:
      fanin gen topology fat-tree --k 8 -o topology.txt
      fanin gen flows --topology topology.txt --cdf websearch --load 0.3 --time 2ms -o flow.txt
      fanin gen config --cc hpcc --topology topology.txt --flows flow.txt -o config.txt
      fanin run --hpcc config.txt
      fanin gen job examples/collectives/all-reduce.toml -o step.goal
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


@dataclass(frozen=True)
class Made:
    """The file to be made."""

    out: Out
    force: Force = False
    as_json: AsJson = False


@dataclass(frozen=True)
class Hosts:
    """The hosts of the flows."""

    hosts: HostCount = None
    topology: OfTopology = None


Size = Annotated[str, typer.Option("--size", metavar="BYTES", help="Of each flow.")]
Start = Annotated[str, typer.Option("--start", metavar="TIME", help="Start of the first flow.")]
Seed = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of the random draws.")]


@topology.command("fat-tree")
@grouped
def fat_tree(
    made: Made,
    k: Annotated[int, typer.Option("--k", min=1, metavar="K", help="Ports per switch, even: k^3/4 hosts.")] = 8,
    rate: LinkRate = "100Gbps",
    delay: Delay = "1us",
) -> None:
    """A fat tree of switches with k ports. Hosts come first, then ToR, aggregation and core switches."""
    write(made, _core.hpcc_topology("fat-tree", k, rate, delay))


@topology.command("hpcc-320")
@grouped
def hpcc_320(made: Made) -> None:
    """The network of HPCC section 5.1: 320 hosts at 100 Gb/s, a fabric of 400 Gb/s, 1 us a link."""
    write(made, _core.hpcc_topology("hpcc-320", 0, "", ""))


@topology.command()
@grouped
def star(
    made: Made,
    hosts: Annotated[
        int, typer.Option("--hosts", min=1, metavar="N", help="Hosts, at least 2; the switch follows them.")
    ] = 17,
    rate: LinkRate = "100Gbps",
    delay: Delay = "1us",
) -> None:
    """Hosts around one switch."""
    write(made, _core.hpcc_topology("star", hosts, rate, delay))


@app.command("flows")
@grouped
def poisson(
    made: Made,
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
    of: Hosts,
    time: Annotated[str, typer.Option("--time", metavar="TIME", help="How long flows start.")] = "10ms",
    bandwidth: Annotated[
        str | None,
        typer.Option("--bandwidth", metavar="RATE", help="Of a host's link. Default: that of the topology's."),
    ] = None,
    start: Start = "2s",
    seed: Seed = 1,
) -> None:
    """Background traffic as that simulator's traffic_gen.py makes it: Poisson arrivals at each host, to any other host.

    Gaps of a host are exponential, with a mean such that payload alone (without headers) takes the load. Three faults
    of the script are mended: a count that keeps digits of a longer estimate, the loss of the last flow of each host,
    and draws without a seed. Port 100, priority group 3.
    """
    text = _core.hpcc_poisson(of.hosts, path(of.topology), cdf, load, bandwidth, time, start, seed)
    write(made, text)
    if load > 1:
        warn(f"--load {load:g} is {load * 100:.0f} % of the hosts' links: queues grow without end; 0.3 is 30 %")


@app.command()
@grouped
def permutation(
    made: Made,
    of: Hosts,
    size: Size = "1MB",
    start: Start = "2s",
    seed: Seed = 1,
) -> None:
    """Flows of a permutation: each host sends one and receives one, in one random cycle, all at once."""
    write(made, _core.hpcc_permutation(of.hosts, path(of.topology), size, start, seed))


@app.command()
@grouped
def incast(
    made: Made,
    of: Hosts,
    senders: Annotated[int, typer.Option("--senders", min=1, metavar="N", help="Hosts that send.", show_default=False)],
    receiver: Annotated[int, typer.Option("--receiver", min=0, metavar="HOST", help="The host that receives.")] = 0,
    size: Size = "500KB",
    start: Start = "2s",
    seed: Seed = 1,
) -> None:
    """Flows of an incast: random hosts send one flow each to one host, all at once. Port 200."""
    write(
        made,
        _core.hpcc_incast(of.hosts, path(of.topology), receiver, senders, size, start, seed),
    )


@app.command()
@grouped
def config(
    made: Made,
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
) -> None:
    """A configuration as that simulator's run.py writes it for the rate of the hosts' links.

    It has only keys that have an effect. Both files are read, so that mistakes in them are found here; their paths are
    written as they are given, and are relative to the folder in which the configuration runs.
    """
    write(made, _core.hpcc_config(cc, topology, flows, stop, rate_ai, trace))


def path(file: Path | None) -> str | None:
    """A path as the native module takes it."""
    return None if file is None else str(file)


@app.command("job")
@grouped
def job(
    made: Made,
    given: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A spec with a collective, .toml or .json; a GOAL schedule; the Chakra trace of any rank; a workload "
            "of SimAI; an algorithm of MSCCL; or a flow table of SimCCL.",
            show_default=False,
        ),
    ],
    traffic: Annotated[
        str | None, typer.Option("--traffic", metavar="NAME", help="Of a spec, the traffic; by default the first job.")
    ] = None,
    set_: Set = None,
    groups: Groups = None,
) -> None:
    """A job as a GOAL schedule, or as Chakra traces, with collectives as their messages.

    The file's name says the format: .goal is text, .bin the binary form, and anything else the beginning of the names
    of traces, FILE.0.et and so on.
    """
    from fanin import graphs

    need(str(made.out) != "-", "--out: a job is written to files; name one")
    chakra = made.out.suffix not in (".goal", ".bin")
    first = made.out.with_name(f"{made.out.name}.0.et") if chakra else made.out
    if first.exists() and not made.force:
        raise FileExistsError(f"{first}: exists; choose another file or allow replacing it with --force")
    need(not graphs.is_one(given) or not (set_ or traffic), f"{given}: --set and --traffic go with a spec")
    need(graphs.is_one(given) or groups is None, f"--groups: it goes with Chakra traces, and {given} is none")
    files = graphs.write(given, made.out, traffic=traffic, set=set_ or (), groups=groups)
    if made.as_json:
        emit({"ok": True, "files": [str(file) for file in files]})
    else:
        print(f"written: {files[0]}" + (f" and {len(files) - 1} more" if files[1:] else ""))


def write(made: Made, text: str) -> None:
    """Writes a file atomically; raises `FileExistsError` for an existing one without `force`."""
    out = made.out
    if str(out) == "-":
        if made.as_json:
            emit({"ok": True, "file": None, "text": text})
        else:
            sys.stdout.write(text)
        return
    if out.is_dir():
        raise FileExistsError(f"{out}: is a folder; name a file in it")
    if not made.force and out.exists():
        raise FileExistsError(f"{out}: exists; choose another file or allow replacing it with --force")
    beside = out.with_name(f".{out.name}.part")
    try:
        put_text(beside, text)
        beside.replace(out)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(out)) from None
    finally:
        with suppress(OSError):
            beside.unlink()
    if made.as_json:
        emit({"ok": True, "file": str(out), "bytes": out.stat().st_size, "lines": text.count("\n")})

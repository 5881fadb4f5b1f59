"""The command `fanin`, also as `python -m fanin`."""

from fanin import stopping


def main() -> None:
    """Runs the command line. While modules load, Ctrl-C ends it without a traceback."""
    stopping.leave_at_once()
    from fanin import cli

    cli.main()


if __name__ == "__main__":
    main()

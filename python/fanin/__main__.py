"""`python -m fanin` is the command `fanin`."""

from fanin.cli import main

main()

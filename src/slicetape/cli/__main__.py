"""`python -m slicetape.cli`: the program, where no script of it is installed."""

from slicetape.cli import main

main()

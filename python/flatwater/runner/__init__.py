"""Running experiments.

several.py    many modelled experiments as one run
sweep.py      all cells of an experiment, into one result folder
executors/    where cells run: in this process, in processes of this machine, on other machines
cell.py       one cell: its phases, from preconditioning to read-back
summary.py    what is kept of a cell
stack/        what a cell runs on: four layers, each real or modelled
journal.py    what is written down while a cell runs; resuming.py reads what a killed run left of it
schedule.py   when the phases of a cell begin and end
progress.py   what the user sees meanwhile

A file imports only what is below it: the contracts in pyproject.toml have the order.
"""

"""`make bench`: compares flatwater with fio and sysbench, in one run on one file, and writes README.md.

__main__.py   the plan of a run
rows.py       the comparisons and their targets
job.py        the job of a program, and its outcome
programs/     one file for each program, and their registry
pairs.py      rounds in alternating order; ratios with their intervals
recording.py  the cost of recording; opening.py: how fast a long result opens
noise.py      the load of other programs during the run
page.py       the generated page; tables.py: its tables
options.py    the command line
database/     the same for databases: `python -m benchmarks.database`
model/        the speed of the models, compared with MQSim: `python -m benchmarks.model`
sweep.py      the cost of sweeps of modelled cells: a part of model/, or `python -m benchmarks.sweep`
"""

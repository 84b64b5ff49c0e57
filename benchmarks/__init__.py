"""`make bench`: flatwater beside fio and sysbench, in one run on one file; the page it writes is README.md.

__main__.py   what runs, in order
rows.py       the comparisons and their targets
job.py        what a program is asked to do, and what it answers
programs/     one file a program, met in its registry
pairs.py      rounds in alternating order; ratios with their intervals
recording.py  what recording costs; opening.py: how fast a long result opens
noise.py      what else ran meanwhile
page.py       the generated page; tables.py: what pages are made of
options.py    the command line
database/     the same for databases: `python -m benchmarks.database`
model/        how fast the models are, beside MQSim: `python -m benchmarks.model`
sweep.py      what sweeps of modelled cells cost: a part of that, or `python -m benchmarks.sweep`
"""

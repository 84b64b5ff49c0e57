"""What transactions cost on each measured server: `python -m benchmarks.workloads`.

measure.py   measures every server of the matrix that a model takes figures of, on one processor
page.py      docs/models/generations.md, from the files of `workloads/`
"""

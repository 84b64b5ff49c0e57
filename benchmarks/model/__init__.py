"""`python -m benchmarks.model`: how fast the models are, beside MQSim and in real time; the page is ../model.md.

__main__.py   what runs, in order
child.py      one modelled run in a process of its own, which tells its CPU time and memory
mqsim.py      the peer, on its own example
emulated.py   emulation in real time, beside the same in virtual time
page.py       the generated page
"""

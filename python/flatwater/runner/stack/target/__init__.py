"""The files of a workload: found, guarded, prepared. No other file of the user's is written.

opening.py   finds the files of a cell on its ground, and refuses to overwrite data of others
target.py    the files and their state
manifest.py  the files that flatwater made, and their content
locks.py     locks against other runs
prepare.py   makes and writes the missing files
plans.py     the engine's plans for them
shared.py    the same files on several hosts: a mark that each must find before it writes
"""

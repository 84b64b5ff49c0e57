"""The files that a workload uses: found, guarded, prepared. Nothing else of the user's is written.

opening.py   finds the files of a cell on its ground, and refuses what would be lost
target.py    the files, and what is known of them
manifest.py  which files flatwater made, and what is in them
locks.py     what keeps other runs away
prepare.py   makes what is missing, and writes it
plans.py     what the engine is told of them
"""

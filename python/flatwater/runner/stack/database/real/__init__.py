"""Real servers: started.py starts them on copies of a snapshot, attached.py uses one that is already running."""

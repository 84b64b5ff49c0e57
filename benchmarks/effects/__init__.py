"""The table of effects: what a change does to a real server, and what the model says that it does.

Both have the same storage: an emulated device in real time below the server, the same device file in virtual time below
the model. Nothing of the model is fitted to this table.
"""

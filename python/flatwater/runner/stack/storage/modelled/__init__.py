"""Modelled storage: a device of `devices/`, in virtual time or served as a file in real time."""

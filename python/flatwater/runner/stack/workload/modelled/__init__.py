"""Modelled workloads: the same generators and seeds in virtual time, on a device or on a modelled server."""

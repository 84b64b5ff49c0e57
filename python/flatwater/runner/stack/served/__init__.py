"""Layers that are served as a file: the serving process, its mount point, and the file system on the file."""

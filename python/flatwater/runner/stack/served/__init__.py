"""What a layer serves as a file: the process that serves it, its mount point, the file system on it."""

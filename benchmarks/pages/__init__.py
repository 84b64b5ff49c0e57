"""How fast runs are listed, asked, opened and watched: `python -m benchmarks.pages`."""

"""Connectors: modules of tools, and the blessed ways in for foreign bytes. Importing this package loads nothing else."""

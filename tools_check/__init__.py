"""Reads source code and says whether a tool that calls its answer its own returns somebody else's bytes.

Never imports or runs what it reads, and imports neither `registry` nor `connectors`.
"""

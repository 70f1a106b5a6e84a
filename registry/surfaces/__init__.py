"""Where calls come in from: each module translates an `Outcome` for one kind of client, and decides nothing.

`chat` needs nothing more than the core; `http` needs the extra `http`, and `mcp` the extra `mcp`.
"""

"""Call a tool with what Python brings: `client.py http://127.0.0.1:8000` with the token in MY_AGENT_TOKEN."""

import json
import os
import sys
from collections.abc import Mapping
from urllib.error import HTTPError
from urllib.request import Request, urlopen

BASE = sys.argv[1]


def call(instance: str, tool: str, arguments: Mapping[str, object]) -> tuple[int, dict[str, object]]:
    """The status and the body; a problem is a body too."""
    request = Request(
        f"{BASE}/v1/instances/{instance}/tools/{tool}",
        data=json.dumps(arguments).encode(),
        headers={"Authorization": f"Bearer {os.environ['MY_AGENT_TOKEN']}", "Content-Type": "application/json"},
    )
    try:
        with urlopen(request) as response:
            return response.status, json.load(response)
    except HTTPError as problem:
        with problem:
            return problem.code, json.load(problem)


if __name__ == "__main__":
    for instance, tool, arguments in (
        ("main", "read_note", {"number": 1}),
        ("main", "read_note", {"number": 2}),
        ("main", "read_note", {"number": "one"}),
        ("counting", "count_notes", {}),
        ("counting", "read_note", {"number": 1}),
        ("nowhere", "read_note", {"number": 1}),
    ):
        status, body = call(instance, tool, arguments)
        print(status, body.get("outcome"))
        print(body.get("text", body.get("title")))

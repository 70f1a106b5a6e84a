"""The list of ways in: tools of any framework, with what the checker sees of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.tools_check._running import HONEST, LYING, findings, tools_check, write

STYLES = {
    "langchain": (
        (
            "from langchain_core.tools import BaseTool\nimport requests\n\nclass Read(BaseTool):\n    def _run(self, url: str) -> str:\n"  # noqa: E501
            "        return requests.get(url).text\n    def _arun(self, url: str) -> str:\n        return 'later'\n"
        ),
        {"Read._run": True, "Read._arun": False},
    ),
    "fastmcp": (
        (
            "from fastmcp import FastMCP\nimport httpx\n\ndef make():\n    server = FastMCP('x')\n    @server.tool()\n    async def read(url: str) -> str:\n"  # noqa: E501
            "        async with httpx.AsyncClient() as client:\n            return (await client.get(url)).text\n    @server.tool\n    def add(a: int, b: int) -> int:\n"  # noqa: E501
            "        return a + b\n    return server\n"
        ),
        {"make.<locals>.read": True, "make.<locals>.add": False},
    ),
    "mcp-lowlevel": (
        (
            "from mcp.server import Server\nimport subprocess\n\napp = Server('x')\n\nclass Git:\n    def run(self, arguments):\n"  # noqa: E501
            "        return subprocess.check_output(['git', 'log'])\n\n@app.call_tool()\nasync def call_tool(name, arguments):\n    return Git().run(arguments)\n"  # noqa: E501
        ),
        {"call_tool": True, "Git.run": True},
    ),
    "agno": (
        (
            "from agno.tools import Toolkit\n\nclass Files(Toolkit):\n    def __init__(self, read: bool = True):\n        tools = [self.save]\n        if read:\n"  # noqa: E501
            "            tools.append(self.load)\n        super().__init__(name='files', tools=tools)\n    def load(self, path: str) -> str:\n        return open(path).read()\n"  # noqa: E501
            "    def save(self, path: str, text: str) -> str:\n        open(path, 'w').write(text)\n        return f'saved {path}'\n"  # noqa: E501
        ),
        {"Files.load": True, "Files.save": False},
    ),
    "openai-agents": (
        "from agents import function_tool\nimport os\n\n@function_tool\ndef names(folder: str) -> list[str]:\n    return os.listdir(folder)\n",  # noqa: E501
        {"names": True},
    ),
    "pydantic-ai": (
        "from pydantic_ai import Agent, RunContext\n\nagent = Agent('m')\n\n@agent.tool_plain\ndef dice() -> str:\n    import random\n    return str(random.randint(1, 6))\n",  # noqa: E501
        {"dice": False},
    ),
    "smolagents": (
        "from smolagents import Tool\nimport requests\n\nclass Visit(Tool):\n    def forward(self, url: str) -> str:\n        return requests.get(url).text\n",  # noqa: E501
        {"Visit.forward": True},
    ),
    "llama-index": (
        (
            "from llama_index.core.tools.tool_spec.base import BaseToolSpec\nimport requests\n\nclass Search(BaseToolSpec):\n    spec_functions = ['find', ('now', 'anow')]\n"  # noqa: E501
            "    def find(self, q: str) -> str:\n        return requests.get(q).text\n    def now(self) -> str:\n        return 'today'\n    async def anow(self) -> str:\n        return 'today'\n"  # noqa: E501
        ),
        {"Search.find": True, "Search.now": False, "Search.anow": False},
    ),
    "strands": (
        "import requests\n\nTOOL_SPEC = {'name': 'fetch', 'description': 'd'}\n\ndef fetch(tool, **kwargs):\n    return {'content': [{'text': requests.get(tool['input']['url']).text}]}\n",  # noqa: E501
        {"fetch": True},
    ),
    "autogen": (
        "from autogen_core.tools import FunctionTool\nimport requests\n\ndef stock(name: str) -> str:\n    return requests.get(name).text\n\ntool = FunctionTool(stock, description='d')\n",  # noqa: E501
        {"stock": True},
    ),
    "camel": (
        (
            "from camel.toolkits import FunctionTool\nfrom camel.toolkits.base import BaseToolkit\nimport requests\n\nclass Kit(BaseToolkit):\n    def look(self, q: str) -> str:\n"  # noqa: E501
            "        return requests.get(q).text\n    def get_tools(self):\n        return [FunctionTool(self.look)]\n"
        ),
        {"Kit.look": True},
    ),
    "crewai": (
        "from crewai.tools import tool\n\n@tool('echo')\ndef echo(text: str) -> str:\n    return text\n",
        {"echo": False},
    ),
    "semantic-kernel": (
        "from semantic_kernel.functions import kernel_function\nimport httpx\n\nclass Web:\n    @kernel_function(description='d')\n    async def read(self, url: str) -> str:\n        return httpx.get(url).text\n    @kernel_function\n    def add(self, a: int) -> int:\n        return a + 1\n",  # noqa: E501
        {"Web.read": True, "Web.add": False},
    ),
    "haystack": (
        "from haystack.tools import create_tool_from_function, tool\nimport httpx\n\n@tool\ndef read(url: str) -> str:\n    return httpx.get(url).text\n\ndef look(url: str) -> str:\n    return httpx.get(url).text\n\nLOOK = create_tool_from_function(look)\n",  # noqa: E501
        {"read": True, "look": True},
    ),
    "google-adk": (
        "from google.adk.tools import BaseTool, FunctionTool\nimport httpx\n\ndef read(url: str) -> str:\n    return httpx.get(url).text\n\nREAD = FunctionTool(func=read)\n\nclass Now(BaseTool):\n    async def run_async(self, *, args, tool_context):\n        return 'now'\n",  # noqa: E501
        {"read": True, "Now.run_async": False},
    ),
    "dspy": (
        "import dspy\nimport httpx\n\ndef read(url: str) -> str:\n    return httpx.get(url).text\n\nagent = dspy.ReAct('question -> answer', tools=[read])\n",  # noqa: E501
        {"read": True},
    ),
    "griptape": (
        "from griptape.tools import BaseTool\nfrom griptape.utils.decorators import activity\nimport httpx\n\nclass Web(BaseTool):\n    @activity(config={'description': 'd'})\n    def read(self, url: str):\n        return httpx.get(url).text\n",  # noqa: E501
        {"Web.read": True},
    ),
    "langroid": (
        "from langroid.agent.tool_message import ToolMessage\nimport httpx\n\nclass Read(ToolMessage):\n    request: str = 'read'\n    url: str\n    def handle(self) -> str:\n        return httpx.get(self.url).text\n",  # noqa: E501
        {"Read.handle": True},
    ),
    "atomic-agents": (
        "from atomic_agents import BaseTool\nimport httpx\n\nclass Read(BaseTool[str, str]):\n    def run(self, params):\n        return httpx.get(params.url).text\n",  # noqa: E501
        {"Read.run": True},
    ),
    "claude-agent-sdk": (
        "from claude_agent_sdk import tool\nimport httpx\n\n@tool('read', 'reads', {'url': str})\nasync def read(args):\n    return {'content': [{'type': 'text', 'text': httpx.get(args['url']).text}]}\n",  # noqa: E501
        {"read": True},
    ),
    "agent-framework": (
        "from agent_framework import ai_function\nimport httpx\n\n@ai_function\ndef read(url: str) -> str:\n    return httpx.get(url).text\n",  # noqa: E501
        {"read": True},
    ),
    "livekit": (
        "from livekit.agents import function_tool\nimport httpx\n\n@function_tool\nasync def read(url: str) -> str:\n    return httpx.get(url).text\n",  # noqa: E501
        {"read": True},
    ),
    "qwen-agent": (
        "from qwen_agent.tools.base import BaseTool\nimport httpx\n\nclass Read(BaseTool):\n    def call(self, params, **kwargs):\n        return httpx.get(params).text\n",  # noqa: E501
        {"Read.call": True},
    ),
    "agentscope": (
        "from agentscope.tool import Toolkit\nimport httpx\n\ndef read(url: str) -> str:\n    return httpx.get(url).text\n\nkit = Toolkit()\nkit.register_tool_function(read)\n",  # noqa: E501
        {"read": True},
    ),
    "browser-use": (
        "from browser_use import Tools\nimport httpx\n\ntools = Tools()\n\n@tools.action('reads')\ndef read(url: str) -> str:\n    return httpx.get(url).text\n",  # noqa: E501
        {"read": True},
    ),
}


def inventory(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    done = tools_check(folder, "inventory", "--format", "jsonl", *arguments)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("style", STYLES)
def test_tools_of_a_framework_are_listed_with_their_verdict(style: str, tmp_path: Path) -> None:
    source, wanted = STYLES[style]
    write(tmp_path, {"app.py": source})
    listed = inventory(tmp_path)
    assert {row["qualname"]: row["untrusted"] for row in listed} == wanted
    assert {row["style"] for row in listed} == {style}


def test_a_registry_tool_is_listed_with_its_declaration_and_the_way_of_its_bytes(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    (row,) = inventory(tmp_path)
    assert (row["file"], row["line"], row["qualname"], row["name"]) == ("app.py", 13, "page", "page")
    assert (row["declaration"], row["verdict"], row["untrusted"]) == ("False", "foreign", True)
    assert row["origins"] == ["http"]
    assert row["trace"][0]["line"] == 10


def test_a_committed_list_shows_a_new_way_in(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    assert tools_check(tmp_path, "inventory", "--write", "ingresses.md").returncode == 0
    assert tools_check(tmp_path, "inventory", "--check", "ingresses.md").returncode == 0
    write(tmp_path, {"app.py": "# a line more\n" + LYING})
    assert tools_check(tmp_path, "inventory", "--check", "ingresses.md").returncode == 0
    write(tmp_path, {"more.py": STYLES["openai-agents"][0]})
    done = tools_check(tmp_path, "inventory", "--check", "ingresses.md")
    assert done.returncode == 1
    assert "+| more.py | names | names | openai-agents | - | foreign | os.listdir |" in done.stdout


def test_every_list_shows_the_name_that_a_model_calls_a_tool_by(tmp_path: Path) -> None:
    named = LYING.replace('name="page"', 'name="read_page"')
    made = LYING.replace("TOOL = ", "def make(name: str) -> object:\n    return ").replace('name="page"', "name=name")
    torn = LYING.replace('name="page"', 'name="a|b\\nc"')
    write(tmp_path, {"app.py": named, "made.py": made, "torn.py": torn})
    assert [row["name"] for row in inventory(tmp_path)] == ["read_page", None, "a|b\nc"]

    table = tools_check(tmp_path, "inventory").stdout.splitlines()
    assert [line.split()[:3] for line in table[:4]] == [
        ["where", "tool", "handler"],
        ["app.py:13", "read_page", "page"],
        ["made.py:13", "(computed)", "page"],
        ["torn.py:13", "'a|b\\nc'", "page"],
    ]
    page = tools_check(tmp_path, "inventory", "--format", "markdown").stdout.splitlines()
    assert page[4] == "| file | tool | handler | style | declared | verdict | from |"
    assert page[6] == "| app.py | read_page | page | registry | False | foreign | httpx.get |"
    assert page[8].startswith("| torn.py | 'a\\|b\\nc' | page |")


def test_a_list_that_a_version_before_wrote_still_names_its_ways_in(tmp_path: Path) -> None:
    """It had no column for the tool; what is compared is file, handler and style, by the heads of the columns."""
    old = (
        "| file | handler | style | declared |\n| --- | --- | --- | --- |\n| app.py | page | registry | 'web page' |\n"
    )
    settings = '[tool.tools_check]\ningresses = "old.md"\n'
    write(tmp_path, {"app.py": HONEST, "old.md": old, "pyproject.toml": settings})
    assert findings(tmp_path) == []
    write(tmp_path, {"old.md": old.replace("| page |", "| other |")})
    assert [row["rule"] for row in findings(tmp_path)] == ["unlisted-ingress"]


def test_a_framework_of_the_users_own_is_described_in_the_configuration(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "app.py": "from zz_agents import ability\n\n@ability\ndef now() -> str:\n    return 'now'\n",
            "pyproject.toml": '[tool.tools_check.frameworks.zz]\ndecorators = ["zz_agents.ability"]\n',
        },
    )
    assert [(r["qualname"], r["style"]) for r in inventory(tmp_path)] == [("now", "zz")]


def test_a_framework_that_is_described_later_is_seen_in_files_that_did_not_change(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": "from zz_things import gadget\n\n@gadget\ndef now() -> str:\n    return 'now'\n"})
    assert inventory(tmp_path) == []
    write(tmp_path, {"pyproject.toml": '[tool.tools_check.frameworks.zz]\ndecorators = ["zz_things.gadget"]\n'})
    assert [row["qualname"] for row in inventory(tmp_path)] == ["now"]


def test_a_hundred_tools_under_a_costly_method_of_the_project_are_all_listed(tmp_path: Path) -> None:
    """Each of them is an entry of its own: those at the end of a module do not vanish because the first ones were costly."""
    steps = "\n".join(f"        if kind == {number}:\n            names = [str(kind), *names]" for number in range(150))
    server = (
        "from mcp.server.fastmcp import FastMCP\n\nclass Server(FastMCP):\n    def tool(self, kind=0):\n        names = []\n"
        f"{steps}\n        return super().tool()\n\nserver = Server('x')\n"
    )
    tools = "\n".join(
        f"@server.tool()\ndef tool_{number}(q: str) -> str:\n    return httpx.get(q).text\n" for number in range(100)
    )
    write(tmp_path, {"server.py": server, "tools.py": f"import httpx\nfrom server import server\n\n{tools}"})
    done = tools_check(tmp_path, "inventory", "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row["qualname"] for row in rows if row["untrusted"]} == {f"tool_{number}" for number in range(100)}


def test_a_list_that_is_kept_is_the_list_and_a_change_of_any_file_makes_it_anew(tmp_path: Path) -> None:
    tool = "from langchain_core.tools import tool\nfrom helper import text\n\n@tool\ndef read() -> str:\n    return text()\n"
    write(tmp_path, {"helper.py": "def text() -> str:\n    return 'ours'\n", "mine.py": tool})
    first = inventory(tmp_path)
    assert [row["verdict"] for row in first] == ["own"]
    assert list((tmp_path / ".tools_check_cache").rglob("answers/*")), "nothing was kept"
    assert inventory(tmp_path) == first
    fetching = "import httpx\n\ndef text() -> str:\n    return httpx.get('https://x.example').text\n"
    write(tmp_path, {"helper.py": fetching})
    changed = inventory(tmp_path)
    assert [row["verdict"] for row in changed] == ["foreign"]
    assert inventory(tmp_path) == changed
    assert changed[0]["trace"][0]["file"].endswith("helper.py")


def test_a_package_that_imports_its_own_modules_from_itself_has_their_tools(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "app/__init__.py": "from fastmcp import FastMCP\n\nfrom app import pages\n\nMODULES = (pages,)\n\n\n"
            "def build():\n    server = FastMCP('x')\n    for module in MODULES:\n        module.register(server)\n"
            "    return server\n",
            "app/pages.py": "import httpx\n\n\ndef register(tools):\n    @tools.tool()\n    def page(url: str) -> str:\n"
            "        return httpx.get(url).text\n",
        },
    )
    assert [(r["qualname"], r["style"], r["untrusted"]) for r in inventory(tmp_path)] == [
        ("register.<locals>.page", "fastmcp", True)
    ]


def test_what_was_not_followed_whole_is_said_beside_the_list(tmp_path: Path) -> None:
    table = "1, " * 26_000
    write(
        tmp_path,
        {
            "app.py": f"from fastmcp import FastMCP\n\nX = [{table}]\n"
            "server = FastMCP('x')\n\n@server.tool\ndef one() -> int:\n    return 1\n"
        },
    )
    done = tools_check(tmp_path, "inventory", "--format", "jsonl")
    assert [json.loads(line)["qualname"] for line in done.stdout.splitlines()] == ["one"]
    assert done.stderr == (
        "tools-check: app.py has code outside its functions that is too large to follow whole; "
        "tools that it makes may be missing\n"
    )

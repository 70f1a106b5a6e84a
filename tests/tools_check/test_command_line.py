"""What a user of the script sees."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.tools_check._running import DATA, HONEST, LYING, findings, tools_check, write


def test_a_finding_says_what_is_wrong_how_the_bytes_came_and_what_to_write(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    done = tools_check(tmp_path, "app.py")
    assert done.returncode == 1
    assert done.stdout == (
        "app.py:17:8: error false-declaration\n"
        "  Tool 'page' says that it returns only this program's own words (untrusted_output=False), but page returns "
        "bytes that somebody else chose: they come in through httpx.get.\n"
        "\n"
        "  The way of the bytes:\n"
        "  1. app.py:10: httpx.get brings in bytes of somebody else\n"
        "         return httpx.get(url).text\n"
        "  2. app.py:14: returned by load()\n"
        '         return f"got {load(request.url)}"\n'
        "  3. app.py:17: returned by page()\n"
        "         TOOL = ToolDef(\n"
        "  4. app.py:22: declared as its own words here\n"
        "         untrusted_output=False,\n"
        "\n"
        '  Write instead:  untrusted_output="http",\n'
        "  More:           tools-check explain false-declaration\n"
        "\n"
        "1 error in 1 file\n"
    )


def test_a_jsonl_finding_has_the_fields_that_programs_rest_on(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    (row,) = findings(tmp_path)
    assert {"rule", "file", "line", "column", "message", "tool", "trace"} <= set(row)
    assert (row["rule"], row["file"], row["line"], row["tool"]) == ("false-declaration", "app.py", 17, "page")
    assert [(s["file"], s["line"]) for s in row["trace"]] == [
        ("app.py", 10),
        ("app.py", 14),
        ("app.py", 17),
        ("app.py", 22),
    ]


def test_an_honest_project_is_clean(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": HONEST})
    assert tools_check(tmp_path).returncode == 0


def test_a_file_that_is_no_python_is_named_and_the_rest_is_checked(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING, "broken.py": "def page(:\n"})
    done = tools_check(tmp_path, "check", "--format", "concise", ".")
    assert done.returncode == 2
    assert "broken.py could not be read" in done.stderr
    assert "app.py:17:8: error false-declaration" in done.stdout


def test_a_path_that_does_not_exist_is_a_mistake_of_use(tmp_path: Path) -> None:
    done = tools_check(tmp_path, "check", "nowhere")
    assert done.returncode == 2
    assert "there is no file or folder nowhere" in done.stderr


def test_sarif_follows_the_published_schema_and_shows_the_way_of_the_bytes(tmp_path: Path) -> None:
    """The schema is the published one of SARIF 2.1.0 (rtm.5), as it is shipped under MIT in @microsoft/jest-sarif."""
    write(tmp_path, {"app.py": LYING, "broken.py": "def page(:\n"})
    log = json.loads(tools_check(tmp_path, "check", "--format", "sarif", ".").stdout)
    schema = json.loads((DATA / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
    jsonschema.validate(log, schema)
    (result,) = log["runs"][0]["results"]
    lines = [
        step["location"]["physicalLocation"]["region"]["startLine"]
        for step in result["codeFlows"][0]["threadFlows"][0]["locations"]
    ]
    assert lines == [10, 14, 17, 22]
    assert log["runs"][0]["invocations"][0]["executionSuccessful"] is False


def test_github_is_told_where_the_tool_is_declared_and_where_the_bytes_come_in(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    out = tools_check(tmp_path, "check", "--format", "github", ".").stdout.splitlines()
    assert [line.partition(" ")[0] for line in out] == ["::error", "::notice"]
    assert "file=app.py,line=17," in out[0]
    assert "file=app.py,line=10," in out[1]


def test_json_is_one_document(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    document = json.loads(tools_check(tmp_path, "check", "--format", "json", ".").stdout)
    assert [f["rule"] for f in document["findings"]] == ["false-declaration"]
    assert document["files"] == 1


def test_standard_input_stands_for_a_file_of_the_project(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": HONEST})
    done = tools_check(tmp_path, "check", "--format", "concise", "--stdin-filename", "app.py", stdin=LYING)
    assert done.returncode == 1
    assert "false-declaration" in done.stdout


def test_what_is_given_for_a_file_is_checked_and_not_what_a_run_before_kept_of_it(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    tools_check(tmp_path)
    given = ("check", "--format", "concise", "--stdin-filename", "app.py")
    assert tools_check(tmp_path, *given, stdin=HONEST).returncode == 0
    broken = tools_check(tmp_path, *given, stdin="def page(:\n")
    assert (broken.returncode, broken.stdout) == (2, "")
    assert broken.stderr == "tools-check: app.py could not be read: line 1: invalid syntax\n"
    assert "app.py:17" in tools_check(tmp_path, "check", "--format", "concise").stdout


def test_a_file_that_is_not_saved_yet_can_be_given(tmp_path: Path) -> None:
    done = tools_check(tmp_path, "check", "--format", "concise", "--stdin-filename", "new.py", stdin=LYING)
    assert "new.py:17" in done.stdout
    beside = tools_check(tmp_path, "check", "--format", "concise", "--stdin-filename", "new.py", ".", stdin=LYING)
    assert "new.py:17" in beside.stdout
    lost = tools_check(tmp_path, "check", "--stdin-filename", "none/new.py", stdin=LYING)
    assert lost.returncode == 2
    assert "there is no folder none" in lost.stderr


MISTAKES = {
    "a command misspelt": (("chek", "app.py"), "did you mean the command check?"),
    "a dash for standard input": (("-",), "for standard input write --stdin-filename FILE"),
    "a rule misspelt": (("explain", "false-decl"), "did you mean 'false-declaration'?"),
    "to write and to compare": (("inventory", "--write", "a", "--check", "a"), "give one of them"),
    "to write where nothing can be": (("inventory", "--write", "none/a.md"), "none/a.md cannot be written"),
    "to compare with nothing": (
        ("inventory", "--check", "a.md", "app.py"),
        "there is no file a.md; make it with tools-check inventory --write a.md app.py",
    ),
}


@pytest.mark.parametrize(("arguments", "words"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_of_use_says_what_to_write(arguments: tuple[str, ...], words: str, tmp_path: Path) -> None:
    write(tmp_path, {"app.py": HONEST})
    done = tools_check(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [("check",), ("inventory", "--write", "a.md"), ("check", "--show-files")])
def test_a_folder_without_python_is_a_mistake_even_beside_one_with(command: tuple[str, ...], tmp_path: Path) -> None:
    """A run in CI over a folder that was renamed would else pass for ever, and a committed list be emptied."""
    write(tmp_path, {"src/app.py": HONEST, "pages/notes.txt": "", "venv/x.py": ""})
    for given in (("pages",), ("src", "pages")):
        done = tools_check(tmp_path, *command, *given)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[-1] == (
            "Error: there is no Python file in pages, so nothing was checked; give the folders that hold your code"
        )
    assert not (tmp_path / "a.md").exists()
    assert tools_check(tmp_path, *command, "src").returncode == 0


@pytest.mark.parametrize("command", ["check", "inventory"])
def test_a_folder_that_cannot_be_looked_into_is_not_passed_over(command: str, tmp_path: Path) -> None:
    write(tmp_path, {"src/app.py": HONEST, "src/inner/lie.py": LYING})
    program = (
        "import os\n"
        "scandir = os.scandir\n"
        "def refuse(path='.'):\n"  # whoever runs the tests may be allowed to look into any folder
        "    if str(path).endswith('inner'):\n"
        "        raise PermissionError(13, 'Permission denied', str(path))\n"
        "    return scandir(path)\n"
        "os.scandir = refuse\n"
        "from tools_check.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, command, "src"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "Error: src/inner cannot be looked into: Permission denied"


def test_a_folder_that_the_settings_leave_out_is_a_mistake_and_a_file_is_not(tmp_path: Path) -> None:
    settings = '[tool.tools_check]\nexclude = ["^app"]\n'
    write(tmp_path, {"app/a.py": LYING, "pyproject.toml": settings})
    folder, file = tools_check(tmp_path, "app"), tools_check(tmp_path, "app/a.py")
    assert folder.returncode == 2
    assert folder.stderr.splitlines()[-1] == (
        f"Error: in {tmp_path}/pyproject.toml `exclude` leaves out every Python file of app, so nothing was checked; "
        "give the folders that hold your code"
    )
    assert (file.returncode, file.stderr) == (
        0,
        "tools-check: `exclude` in the settings leaves out all that was given, so nothing was checked\n",
    )


def test_a_file_that_cannot_be_read_is_not_counted_among_those_in_which_nothing_was_found(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": HONEST, "broken.py": "def page(:\n"})
    done = tools_check(tmp_path)
    assert (done.returncode, done.stdout) == (2, "nothing found in 2 files (1 could not be read)\n")
    assert done.stderr == "tools-check: broken.py could not be read: line 1: invalid syntax\n"


def test_bytes_that_are_no_text_are_named_by_their_line(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_bytes(LYING.encode() + b"CAFE = 'caf\xe9'\n")
    done = tools_check(tmp_path)
    assert done.returncode == 2
    assert "app.py could not be read: line 24: byte 0xe9 is not UTF-8; save the file as UTF-8" in done.stderr


def test_without_its_extra_the_script_says_the_install_line_and_does_not_look_like_findings(tmp_path: Path) -> None:
    program = "import sys; sys.modules['libcst'] = None; from tools_check.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "tools-check needs libcst. Write: pip install 'hedgerow[check]'\n")


@pytest.mark.parametrize("command", ["check", "inventory"])
def test_a_run_that_is_interrupted_ends_by_that_signal_and_says_one_line(command: str, tmp_path: Path) -> None:
    """A loop of a shell ends only if its program says that it was interrupted, which is to die of it."""
    program = (
        "import os, signal, threading\n"
        "from tools_check import _cli\n"
        "from tools_check.__main__ import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a background job of a shell ignores it
        "def interrupted(*_):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    threading.Event().wait(60)\n"
        "_cli.make_options = interrupted\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "tools-check: stopped\n")


def test_statistics_count_by_rule(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    assert tools_check(tmp_path, "check", "--statistics").stdout == "     1  false-declaration\n"


def test_the_files_that_would_be_read_can_be_listed(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"app.py": LYING, "pkg/__init__.py": "", "notes.txt": "", ".venv/pyvenv.cfg": "", ".venv/x.py": ""},
    )
    assert tools_check(tmp_path, "check", "--show-files").stdout.splitlines() == ["app.py", "pkg/__init__.py"]


def test_every_rule_is_explained(tmp_path: Path) -> None:
    listed = [line.split()[0] for line in tools_check(tmp_path, "explain").stdout.splitlines()]
    assert "false-declaration" in listed
    assert "untrusted_output" in tools_check(tmp_path, "explain", "false-declaration").stdout
    assert tools_check(tmp_path, "explain", "no-such-rule").returncode == 2


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("typo = 1", "no key 'typo'"),
        ("exclud = []", "no key 'exclud'; did you mean 'exclude'? known keys are"),
        ('environment = "maybe"', "environment is 'maybe'"),
        ("[tool.tools_check.sources.lib]\ndefalt = 'own'", "unknown key 'defalt'"),
        (
            '[tool.tools_check.per-path-ignores]\n"x" = {rules = ["no-rule"], reason = "because"}',
            "there is no rule 'no-rule'",
        ),
        ('[tool.tools_check.per-path-ignores]\n"(" = {rules = [], reason = "r"}', "'(' is no regular expression"),
        ('exclude = ["("]', "'(' is no regular expression"),
        ("baseline = 3", "baseline is 3; write the path of a file"),
        ("sources = 3", "sources is 3; write tables as in"),
        (
            "[[tool.tools_check.frameworks]]\nlisted = 'tools'",
            "frameworks is [{'listed': 'tools'}]; write tables as in",
        ),
        ("[tool.tools_check.sources]\nlib = 'own'", "sources table 'lib' is 'own'; write a table"),
        (
            "[tool.tools_check.sources.lib]\nsources = 'get'",
            "sources table 'lib': sources is 'get'; write a list of names",
        ),
        ("[tool.tools_check.sources.lib]\ndefault = 'sourc'", "default is 'sourc'; write one of source, own, pass"),
        ("[tool.tools_check.frameworks.lib]\nmakers = ['x']", "makers is ['x']; write a table"),
    ],
)
def test_a_setting_that_is_not_understood_is_refused(table: str, words: str, tmp_path: Path) -> None:
    write(tmp_path, {"pyproject.toml": f"[tool.tools_check]\n{table}\n", "app.py": LYING})
    done = tools_check(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "pyproject.toml: " in done.stderr
    assert words in done.stderr


def test_a_library_of_the_users_own_is_described_in_the_configuration(tmp_path: Path) -> None:
    app = LYING.replace("import httpx", "import zz_wire").replace("httpx.get(url).text", "zz_wire.pull(url)")
    write(tmp_path, {"app.py": app})
    assert [f["rule"] for f in findings(tmp_path)] == ["undecided-declaration"]
    write(
        tmp_path,
        {"pyproject.toml": '[tool.tools_check.sources.zz_wire]\norigin = "wire"\nsources = ["pull"]\n'},
    )
    assert [f["rule"] for f in findings(tmp_path)] == ["false-declaration"]
    write(tmp_path, {"pyproject.toml": '[tool.tools_check.sources.zz_wire]\nown = ["pull"]\n'})
    assert findings(tmp_path) == []


def test_the_owners_environment_is_own_until_the_configuration_says_otherwise(tmp_path: Path) -> None:
    app = LYING.replace("import httpx", "import os").replace("httpx.get(url).text", "os.environ.get(url, 'none')")
    write(tmp_path, {"app.py": app})
    assert findings(tmp_path) == []
    write(tmp_path, {"pyproject.toml": '[tool.tools_check]\nenvironment = "foreign"\n'})
    assert [f["rule"] for f in findings(tmp_path)] == ["false-declaration"]


def test_a_comment_with_rule_and_reason_silences_a_finding(tmp_path: Path) -> None:
    comment = "# tools-check: ignore[false-declaration] -- the page is our own status page"
    write(tmp_path, {"app.py": LYING.replace("untrusted_output=False,", f"untrusted_output=False,  {comment}")})
    done = tools_check(tmp_path)
    assert done.returncode == 0
    assert "1 silenced" in done.stdout


def test_a_users_own_module_named_registry_is_told(tmp_path: Path) -> None:
    write(tmp_path, {"registry.py": "X = 1\n", "app.py": LYING})
    assert "hides hedgerow's own" in tools_check(tmp_path).stderr


def test_a_stub_inside_a_package_of_stubs_hides_nothing(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"stubs/client/__init__.pyi": "", "stubs/client/registry.pyi": "def find() -> str: ...\n", "app.py": LYING},
    )
    done = tools_check(tmp_path, "check")
    assert "hides" not in done.stderr
    assert "false-declaration" in done.stdout


@pytest.mark.parametrize("arguments", [("--jobs", "1"), ("--jobs", "2"), ("--no-cache",), ()])
def test_the_answer_is_the_same_bytes_however_it_is_computed(arguments: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, {f"pkg/m{i}.py": LYING for i in range(4)} | {"pkg/__init__.py": ""})
    plain = tools_check(tmp_path, "check", "--no-cache", "--format", "jsonl", ".").stdout
    for _ in range(2):
        assert tools_check(tmp_path, "check", "--format", "jsonl", *arguments, ".").stdout == plain


def test_an_edited_file_is_seen_through_the_cache(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    assert findings(tmp_path) != []
    write(tmp_path, {"app.py": HONEST})
    assert findings(tmp_path) == []


@pytest.mark.parametrize("command", ["check", "inventory"])
def test_a_run_that_finds_its_answer_kept_imports_nothing_of_the_analysis(command: str, tmp_path: Path) -> None:
    """It is what a commit hook does most often, and the analysis is most of what there is to import."""
    write(tmp_path, {"app.py": LYING})
    first = tools_check(tmp_path, command, ".")
    program = (
        "import sys\n"
        "from tools_check.__main__ import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    heavy = ('libcst', 'tools_check._run', 'tools_check.rules')\n"
        "    print(*sorted(set(heavy) & sys.modules.keys()), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, command, "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (first.returncode, first.stdout, "\n")


def test_a_broken_cache_is_worked_around(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    before = findings(tmp_path)
    for path in (tmp_path / ".tools_check_cache").rglob("*"):
        if path.is_file():
            path.write_bytes(os.urandom(64))
    assert findings(tmp_path) == before


# -- a baseline


def test_a_known_finding_is_held_back_and_a_new_one_is_not(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    made = tools_check(tmp_path, "--baseline", "known.json", "--update-baseline", "app.py")
    assert (made.returncode, made.stdout) == (0, "nothing found in 1 file\n")
    assert "known.json holds 1 finding (1 new, 0 gone)" in made.stderr

    write(tmp_path, {"app.py": "# a line above\n" + LYING, "other.py": LYING})
    done = tools_check(tmp_path, "--baseline", "known.json", "--format", "concise")
    assert done.returncode == 1
    assert [line.partition(":")[0] for line in done.stdout.splitlines()] == ["other.py"]
    assert "known.json holds back 1 known finding\n" in done.stderr


def test_a_baseline_counts_its_findings(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING})
    tools_check(tmp_path, "--baseline", "known.json", "--update-baseline")
    again = LYING.partition("TOOL = ")
    write(tmp_path, {"app.py": LYING + "\n" + "AGAIN = " + again[2]})
    done = tools_check(tmp_path, "--baseline", "known.json", "--format", "concise")
    assert (done.returncode, len(done.stdout.splitlines())) == (1, 1)


def test_a_baseline_shrinks_without_a_word_and_says_what_it_grows_by(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": LYING, "pyproject.toml": '[tool.tools_check]\nbaseline = "known.json"\n'})
    tools_check(tmp_path, "--update-baseline")
    write(tmp_path, {"app.py": HONEST, "other.py": LYING})
    done = tools_check(tmp_path, "--update-baseline")
    assert done.returncode == 0
    assert "new in the baseline: other.py:17 false-declaration" in done.stderr
    assert "holds 1 finding (1 new, 1 gone)" in done.stderr
    write(tmp_path, {"other.py": HONEST})
    assert "new in" not in tools_check(tmp_path, "--update-baseline").stderr
    assert json.loads((tmp_path / "known.json").read_text())["findings"] == []


@pytest.mark.parametrize(
    "text", ["", "[]", '{"version": 2, "findings": []}', '{"version": 1}', '{"version": 1, "findings": [{}]}']
)
def test_a_file_that_is_no_baseline_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"app.py": LYING, "known.json": text})
    done = tools_check(tmp_path, "--baseline", "known.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert "known.json" in done.stderr
    assert "--update-baseline" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_baseline_that_is_not_there_is_refused_and_one_that_cannot_be_seen_whole_is_not_written(
    tmp_path: Path,
) -> None:
    write(tmp_path, {"app.py": LYING})
    assert "there is no file none.json" in tools_check(tmp_path, "--baseline", "none.json").stderr
    assert "needs --baseline FILE" in tools_check(tmp_path, "--update-baseline").stderr
    write(tmp_path, {"broken.py": "def page(:\n"})
    done = tools_check(tmp_path, "--baseline", "known.json", "--update-baseline")
    assert done.returncode == 2
    assert not (tmp_path / "known.json").exists()


# -- the committed list of ways in


def test_a_way_in_that_the_committed_list_does_not_hold_is_reported_where_it_stands(tmp_path: Path) -> None:
    settings = '[tool.tools_check]\ningresses = "docs/ingresses.md"\n'
    write(tmp_path, {"app.py": HONEST, "pyproject.toml": settings, "docs/ingresses.md": ""})
    (row,) = findings(tmp_path)
    assert (row["rule"], row["file"]) == ("unlisted-ingress", "app.py")

    assert tools_check(tmp_path, "inventory", "--write", "docs/ingresses.md").returncode == 0
    assert findings(tmp_path) == []


def test_a_list_that_cannot_be_read_ends_the_run_with_one_sentence(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": HONEST, "pyproject.toml": '[tool.tools_check]\ningresses = "none.md"\n'})
    done = tools_check(tmp_path)
    assert done.returncode == 2
    assert "there is no none.md; make it with tools-check inventory --write none.md" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_inventory_lists_what_reaches_a_prompt(tmp_path: Path) -> None:
    code = (
        "import httpx\nimport openai\nfrom registry.prompt import own, prompt, stranger\n\nCLIENT = openai.OpenAI()\n\n"
        "def fenced(url: str) -> object:\n"
        "    return prompt(own('Sum up.'), stranger(httpx.get(url).text, origin='page'))\n\n"
        "def bare(url: str) -> object:\n"
        "    return CLIENT.responses.create(model='m', input=httpx.get(url).text)\n"
    )
    write(tmp_path, {"app.py": code})
    done = tools_check(tmp_path, "inventory", "--format", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(r["qualname"], r["style"], r["declaration"], r["sources"]) for r in rows] == [
        ("fenced: stranger()", "prompt", "a stranger's part", ["httpx.get"]),
        ("bare: create()", "prompt", "no fence", ["httpx.get"]),
    ]

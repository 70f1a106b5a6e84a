"""`hedgerow.toml`: everything is decided in it, nothing in it is misunderstood, and no message shows a value."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from registry import Permitted
from registry._settings import Composition, Settings, compose, posture_of, read_settings
from registry.errors import DeclarationError
from registry.surfaces._tokens import digest_of
from registry.surfaces.http import HttpSurface

SECRET = "hedgerow_a-token-that-is-long-enough"

WHOLE = f"""
tools = ["tests.support.served_tools:TOOLS"]
permitted = ["echo", "page"]
reply_timeout_s = 10
catalog_prose = "quoted"
fence_key = "random"
max_result_chars = 1000
max_media_bytes = 2000

[admission]
max_concurrent = 3
window_s = 1.5

[instances.main]

[instances.narrow]
permitted = ["page", "wait"]
reply_timeout_s = 5

[tokens.ci]
sha256 = "{digest_of(SECRET)}"
instances = ["main"]
grants = ["echo"]

[tokens.owner]
env = "THE_TOKEN"
instances = ["main", "narrow"]
grants = "every"

[http]
port = 8123
"""


def read(tmp_path: Path, text: str) -> Settings:
    """Read settings from a text."""
    path = tmp_path / "hedgerow.toml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path)


def made(tmp_path: Path, text: str = WHOLE) -> Composition:
    """Compose what a text says."""
    return compose(read(tmp_path, text), {"THE_TOKEN": SECRET + "2"})


def test_the_file_decides_every_deployment(tmp_path: Path) -> None:
    composition = made(tmp_path)

    assert {
        name: (d.permitted, d.reply_timeout_s, d.max_result_chars) for name, d in composition.deployments.items()
    } == {
        "main": (Permitted.of("echo", "page"), 10, 1000),
        "narrow": (Permitted.of("page"), 5, 1000),
    }, "an instance narrows what the file permits and never widens it"


def test_everything_of_one_process_shares_one_admission_and_one_fence_key(tmp_path: Path) -> None:
    composition = made(tmp_path)
    assert composition.tokens is not None
    surface = HttpSurface(composition.deployments, tokens=composition.tokens, max_body_bytes=10, body_timeout_s=1)

    admissions = {id(deployment.admission) for deployment in composition.deployments.values()}
    assert admissions == {id(composition.admission)} == {id(surface.admission)}
    assert len({id(deployment.fence_key) for deployment in composition.deployments.values()}) == 1


def test_the_posture_says_who_may_call_what_and_no_secret(tmp_path: Path) -> None:
    said = posture_of(made(tmp_path), "HTTP on a port")

    assert (
        said
        == """\
hedgerow
  serving: HTTP on a port
  token ci: instances main; grants echo
  token owner: instances main, narrow; grants every
  admission: 3 at once in this process, a wait of 1.5 s, then shed
  instance main
    permitted: the grants echo, page
    tools: 3
    answers with text from outside: page
    answers in its own words: echo, wait
    reply_timeout_s: 10
    max_result_chars: 1000
    max_media_bytes: 2000
    catalog_prose: quoted
  instance narrow
    permitted: the grants page
    tools: 3
    answers with text from outside: page
    answers in its own words: echo, wait
    reply_timeout_s: 5
    max_result_chars: 1000
    max_media_bytes: 2000
    catalog_prose: quoted
  fence_key: random
  host: 127.0.0.1
  port: 8123
  max_body_bytes: 1000000
  head_timeout_s: 10
  body_timeout_s: 30
  max_connections: 1000
  lame_duck_s: 0
  drain_s: 30"""
    )


REQUIRED = [name for name in tomllib.loads(WHOLE) if name not in ("instances", "tokens", "http")]


@pytest.mark.parametrize("name", REQUIRED)
def test_nothing_is_decided_by_being_left_out(tmp_path: Path, name: str) -> None:
    kept = [line for line in WHOLE.splitlines() if not line.startswith(f"{name} =")]
    text = (
        "\n".join(kept).replace("[admission]\nmax_concurrent = 3\nwindow_s = 1.5\n", "")
        if name == "admission"
        else "\n".join(kept)
    )

    with pytest.raises(DeclarationError, match=rf"^hedgerow.toml: {name} is missing\. Decide it"):
        read(tmp_path, text)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("permited = 1\n", "permited is not a setting. Did you mean permitted?"),
        ("zzz = 1\n", "zzz is not a setting. There are: tools, permitted, "),
        ("[admission]\nmax_concurent = 1\n", "admission.max_concurent is not a setting. Did you mean max_concurrent?"),
        ("[http]\nprot = 1\n", "http.prot is not a setting. Did you mean port?"),
        ("[instances.a]\ntool = []\n", "instances.a.tool is not a setting. Did you mean tools?"),
        ("[tokens.a]\nsecret = 'x'\n", "tokens.a.secret is not a setting. There are: sha256, env, instances, grants."),
        ("permitted = 'all'\n", 'permitted is not of the form it must have. Write "every" or a list of grants.'),
        ("catalog_prose = 'shown'\n", 'catalog_prose is not of the form it must have. Write "quoted" or "omitted".'),
        ("fence_key = 'SECRET'\n", 'fence_key is not of the form it must have. Write "random" or "env:VARIABLE".'),
        ("reply_timeout_s = '10'\n", "reply_timeout_s is not of the form it must have."),
        ("[tokens.a]\nsha256 = 'SECRET'\n", "tokens.a.sha256 is not of the form it must have. Write the 64 hexadecimal"),
        ("[tokens.'a b']\ninstances = []\ngrants = []\n", "tokens.a b is not of the form it must have."),
        ("[http]\nport = 70000\n", "http.port is not of the form it must have. Write a number from 0 to 65535."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_sentence_without_the_value(tmp_path: Path, wrong: str, sentence: str) -> None:
    with pytest.raises(DeclarationError) as error:
        read(tmp_path, wrong)

    lines = str(error.value).splitlines()
    assert [line for line in lines if line.startswith(f"hedgerow.toml: {sentence}")]
    assert "SECRET" not in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('["echo", "page"]', '["ecko"]', "permitted: there is no grant 'ecko'. There are: echo, page, wait."),
        ('["page", "wait"]', '["wat"]', "instances.narrow.permitted: there is no grant 'wat'."),
        ('["main"]', '["mian"]', "tokens.ci.instances: there is no instance 'mian'. There are: main, narrow."),
        ('["echo"]', '["eco"]', "tokens.ci.grants: there is no grant 'eco'."),
        ('"THE_TOKEN"', '"OTHER"', "tokens.owner: OTHER holds no token of 24 characters or more."),
        ('env = "THE_TOKEN"\n', "", "tokens.owner: write either sha256 or env, and not both."),
        ('"random"', '"env:NO_SUCH_KEY"', "fence_key: NO_SUCH_KEY is not set."),
        ("served_tools:TOOLS", "served_tools:NONE", "tools 'tests.support.served_tools:NONE'"),
        ("window_s = 1.5", "window_s = 20", "Deployment: the admission window"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    """Whoever wrote it believes that it opens or closes something."""
    assert old in WHOLE
    with pytest.raises(DeclarationError) as error:
        made(tmp_path, WHOLE.replace(old, new))

    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (None, "hedgerow.toml cannot be read: No such file or directory."),
        (b"a = ", "hedgerow.toml is not TOML: "),
        (b"\xff", "hedgerow.toml is not in UTF-8."),
    ],
)
def test_a_file_that_cannot_be_read_is_said_in_one_sentence(tmp_path: Path, content: Any, sentence: str) -> None:
    path = tmp_path / "hedgerow.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DeclarationError) as error:
        read_settings(path)

    assert str(error.value).startswith(sentence)

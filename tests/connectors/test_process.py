"""What a program may do when it is run for its output: no shell, little environment, an end, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from connectors.ingress import IngressRefused, Ran, run_process, run_process_sync
from registry import ToolFailed
from registry._foreign import open_foreign, origins_of
from tests.support.deployments import until
from tests.support.loops import in_loop


def out(ran: Ran) -> bytes:
    return open_foreign(ran.stdout)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def is_gone(pid: int) -> bool:
    """Whether a process has ended; one that waits to be reaped by somebody else has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return True


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@in_loop
async def test_what_a_program_prints_is_foreign_and_how_it_ends_is_ours() -> None:
    ran = await run_process(["sh", "-c", "echo out; echo err >&2; exit 3"], origin="a shell")

    assert (ran.exit_code, out(ran), open_foreign(ran.stderr)) == (3, b"out\n", b"err\n")
    assert (origins_of(ran.stdout), origins_of(ran.stderr)) == (("a shell",), ("a shell",))


@in_loop
async def test_a_signal_is_a_negative_exit_code() -> None:
    assert (await run_process(["sh", "-c", "kill -TERM $$"])).exit_code == -15


@pytest.mark.parametrize("argument", ["$(id)", "`id`", "; id", "a b", "*", "$HOME", "", "-n", "a\nb", "ü\udcff"])
@in_loop
async def test_an_argument_reaches_the_program_as_it_is(argument: str) -> None:
    ran = await run_process([*python("import os,sys; sys.stdout.buffer.write(os.fsencode(sys.argv[1]))"), argument])

    assert out(ran) == os.fsencode(argument)


@in_loop
async def test_the_environment_is_a_path_and_a_locale() -> None:
    ran = await run_process(["env"], env={"MINE": "1"})

    names = sorted(line.partition(b"=")[0] for line in out(ran).splitlines())
    assert [name for name in names if name not in (b"_", b"PWD", b"SHLVL")] == [b"LC_ALL", b"MINE", b"PATH"]


@in_loop
async def test_a_program_finds_its_input_closed() -> None:
    assert out(await run_process(["cat"])) == b""


@in_loop
async def test_a_program_is_not_taken_from_the_folder_that_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planted = tmp_path / "planted-program"
    planted.write_text("#!/bin/sh\necho planted\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f".:{os.pathsep}relative{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(ToolFailed, match="The program 'planted-program' is not installed on this machine"):
        await run_process(["planted-program"], cwd=tmp_path)


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["echo", "a\0b"], "Argument 1 of the command is not text without a NUL character. Write plain text."),
        (["echo", "\ud800"], "Argument 1 of the command is not text without a NUL character. Write plain text."),
        (["echo", "a", b"b"], "Argument 2 of the command is not text without a NUL character. Write plain text."),
        ([], "The command is not a list of arguments. Write one, the program first."),
        ("echo hello", "The command is not a list of arguments. Write one, the program first."),
    ],
)
@in_loop
async def test_what_is_no_argument_is_refused(argv: Sequence[str], sentence: str) -> None:
    with pytest.raises(IngressRefused) as refused:
        await run_process(argv)

    assert (refused.value.code, refused.value.sentence) == ("argument_refused", sentence)


@in_loop
async def test_a_program_that_cannot_start_is_a_failure_without_its_arguments(tmp_path: Path) -> None:
    with pytest.raises(ToolFailed) as failed:
        await run_process(["echo", "secret"], cwd=tmp_path / "nowhere")

    assert failed.value.words == "The program did not start: No such file or directory."


@in_loop
async def test_too_many_arguments_are_a_failure() -> None:
    with pytest.raises(ToolFailed, match="The program did not start: Argument list too long"):
        await run_process(["echo", *["a" * 100_000] * 100])


@pytest.mark.parametrize("stream", ["", ">&2"])
@in_loop
async def test_output_without_end_is_stopped_at_the_bound(stream: str) -> None:
    with pytest.raises(IngressRefused) as refused:
        await run_process(["sh", "-c", f"yes {stream}"], max_bytes=100_000)

    assert refused.value.sentence == (
        "The program printed more than 100000 bytes, which is the most that is read. Ask for a smaller part."
    )


@in_loop
async def test_output_of_exactly_the_bound_is_whole() -> None:
    ran = await run_process(python("print('a' * 200_000, end='')"), max_bytes=200_000)

    assert len(out(ran)) == 200_000


@pytest.mark.parametrize("trick", ["", "trap '' TERM INT HUP; ", "exec >&- 2>&-; "])
@in_loop
async def test_a_program_that_does_not_end_is_stopped_with_all_that_it_started(trick: str, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"{trick} sleep 1000 & echo $! $$ > {pids}; wait; sleep 1000"

    with pytest.raises(ToolFailed, match=r"The program did not end within 0\.5 seconds and was stopped"):
        await run_process(["sh", "-c", script], timeout_s=0.5)

    for pid in pids.read_text().split():
        await until(lambda pid=int(pid): is_gone(pid))  # type: ignore[misc]  # the default binds the loop's value


@in_loop
async def test_a_program_that_ends_does_not_wait_for_what_it_left_running(tmp_path: Path) -> None:
    """The one left behind holds the output open; it is in the group, so it is stopped."""
    pids = tmp_path / "pids"

    ran = await run_process(["sh", "-c", f"sleep 1000 & echo $! > {pids}; echo done"])

    assert (ran.exit_code, out(ran)) == (0, b"done\n")
    await until(lambda: is_gone(int(pids.read_text())))


@in_loop
async def test_a_call_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    running = asyncio.create_task(run_process(["sh", "-c", f"echo $$ > {pids}; sleep 1000"]))
    await until(lambda: pids.exists() and pids.read_text().endswith("\n"))

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert is_gone(int(pids.read_text()))


@in_loop
async def test_many_programs_run_at_once() -> None:
    ran = await asyncio.gather(*(run_process(["echo", str(n)]) for n in range(30)))

    assert [out(each) for each in ran] == [f"{n}\n".encode() for n in range(30)]


@in_loop
async def test_no_descriptor_is_left_open() -> None:
    await run_process(["true"])
    before = open_descriptors()

    for _ in range(10):
        await run_process(["echo", "x"])
        with pytest.raises(IngressRefused):
            await run_process(["yes"], max_bytes=10)

    assert open_descriptors() == before


def test_a_thread_runs_a_program_without_a_loop() -> None:
    assert out(run_process_sync(["echo", "hello"])) == b"hello\n"


def test_a_system_without_process_descriptors_looks_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pidfd_open")

    assert out(run_process_sync(["sh", "-c", "sleep 0.1; echo hello"])) == b"hello\n"

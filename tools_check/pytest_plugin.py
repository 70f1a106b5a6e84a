"""The pytest plugin of hedgerow's test kit. It is inert, and imports nothing of hedgerow, until it is asked.

It stands outside of the package `registry` on purpose: pytest imports the plugins of every installed package, and a project
with a module of its own named `registry` must still be able to run its tests. It is no part of the checker.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from types import ModuleType

    from registry import Caller
    from registry.testing import Observed

__all__ = [
    "hedgerow_caller",
    "hedgerow_corpus",
    "hedgerow_ingress",
    "pytest_addoption",
    "pytest_collection_modifyitems",
]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; both name something in a module."""
    group = parser.getgroup("hedgerow", "hedgerow: tools that say who chose the bytes they return")
    group.addoption(
        "--hedgerow-registry",
        action="append",
        default=[],
        metavar="MODULE:ATTRIBUTE",
        help="Run the test kit over these tools: a ToolDef, a Registry, a tuple of ToolDefs or a function that returns one. "
        "May be given more than once.",
    )
    group.addoption(
        "--hedgerow-arguments",
        metavar="MODULE:ATTRIBUTE",
        help="Arguments by tool, a dict of dicts, for inputs of which none can be made from the schema.",
    )


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the kit's checks, each for each tool, after the tests that there are."""
    references: Any = config.getoption("hedgerow_registry")
    if references:
        items.extend(checks(session, references, config.getoption("hedgerow_arguments")))


def checks(session: pytest.Session, references: Iterable[str], arguments: str | None) -> Iterable[pytest.Item]:
    from registry._load import load_attribute, load_registry
    from registry.errors import HedgerowError
    from registry.testing import assert_own_words, assert_registry_declares, assert_withstands_corpus

    try:
        registry = load_registry(references, option="--hedgerow-registry")
        given: Any = {} if arguments is None else load_attribute(arguments, option="--hedgerow-arguments")
    except HedgerowError as error:
        raise pytest.UsageError(str(error)) from error
    kit: tuple[Callable[..., tuple[str, ...] | None], ...] = (
        assert_registry_declares,
        assert_withstands_corpus,
        assert_own_words,
    )
    for tool in registry.values():
        for check in kit:
            yield made(session, f"{check.__name__}[{tool.name}]", partial(check, [tool], arguments=given))


def made(session: pytest.Session, name: str, run: Callable[[], tuple[str, ...] | None]) -> Check:
    check: Check = Check.from_parent(session, name=name)  # pyright: ignore[reportUnknownMemberType]  # pytest's own
    check.run = run
    return check


class Check(pytest.Item):
    """One check of the kit over one tool. What could not be run is skipped with its reason."""

    run: Callable[[], tuple[str, ...] | None]

    def runtest(self) -> None:
        """Run the check."""
        unrun = self.run()
        if unrun:
            pytest.skip(unrun[0])

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Show the kit's sentence, without the kit's own frames."""
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[str, None, str]:
        """Say in a report what this is."""
        return "hedgerow", None, self.name


@pytest.fixture(scope="session")
def hedgerow_corpus() -> ModuleType:
    """The hostile corpus: `BODIES`, `CELLS`, `PROSE` and `FAILURES`."""
    from registry.testing import corpus

    return corpus


@pytest.fixture
def hedgerow_caller() -> Callable[..., Caller]:
    """A function from grants to a caller that has them and no others."""
    from registry.testing import fake_caller

    return fake_caller


@pytest.fixture
def hedgerow_ingress() -> Generator[Observed]:
    """What tools open while the test runs."""
    from registry.testing import observe_ingress

    with observe_ingress() as observed:
        yield observed

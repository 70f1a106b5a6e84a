"""The test kit: for authors of tools, and for this project's own tests. It needs no pytest.

`pytest --hedgerow-registry module:attribute` runs all of it over a registry without a test being written.
"""

from registry.testing import corpus
from registry.testing._kit import (
    assert_inputs_not_named,
    assert_own_words,
    assert_registry_declares,
    assert_withstands_corpus,
    fake_caller,
)
from registry.testing._observer import Ingress, Observed, observe_ingress

__all__ = [
    "Ingress",
    "Observed",
    "assert_inputs_not_named",
    "assert_own_words",
    "assert_registry_declares",
    "assert_withstands_corpus",
    "corpus",
    "fake_caller",
    "observe_ingress",
]

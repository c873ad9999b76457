"""Small profiles with times that can be checked in the head."""

from collections.abc import Callable

import pytest

from evener.artifacts.profile import Profile
from evener.testing.profiles import make_profile


@pytest.fixture(scope="session")
def profile_of() -> Callable[..., Profile]:
    return make_profile

"""Tables hold what they were given and nothing else."""

import json
from collections.abc import Callable

import pytest

Evener = Callable[..., tuple[int, str, str]]


@pytest.mark.usefixtures("workflow_calls")
def test_tables_hold_no_colour_codes_in_a_file(evener: Evener) -> None:
    assert "\x1b" not in evener("plan", "tiny")[1]


@pytest.mark.usefixtures("workflow_calls")
def test_markup_in_names_is_shown_as_it_is(evener: Evener) -> None:
    assert "Fast [rev 2]" in evener("processors")[1]
    assert (
        "not used: openvino: it needs the extra 'openvino': pip install 'evener[openvino]'"
        in (evener("processors")[1])
    )
    assert "openvino" in json.loads(evener("processors", "--json")[1])["absent"]
    assert json.loads(evener("processors", "--json")[1])["processors"][0]["model"] == "Fast [rev 2]"

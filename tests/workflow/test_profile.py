"""A profile is measured once, kept, and never taken for another network's."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from evener.artifacts.files import load, save
from evener.artifacts.profile import Profile
from evener.errors import InputError
from evener.profile.measure import profile_network as measure
from evener.testing import tiny
from evener.workflow import profile as under_test
from evener.workflow.cache import cache_folder
from evener.workflow.opening import open_network
from evener.workflow.plan import plan_network
from evener.workflow.profile import load_profile, profile_network, refine_profile
from evener.workflow.wish import interpolated


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note each time a network is really measured."""
    names: list[str] = []

    def noted(network: object, *given: object, **options: object) -> Profile:
        names.append(str(network))
        return measure(network, *given, **options)  # type: ignore[arg-type] # handed on as given

    monkeypatch.setattr(under_test, "measure_network", noted)
    return names


def test_a_profile_is_measured_once(net: str, measured: list[str]) -> None:
    first = profile_network(net)
    second = profile_network(net)

    assert len(measured) == 1
    assert first == second
    assert first.made_from == {"network": first.value.network_sha256}


def test_it_is_measured_again_when_asked_for(net: str, measured: list[str]) -> None:
    profile_network(net)
    profile_network(net, fresh=True)

    assert len(measured) == 2


def test_another_rule_or_level_is_another_profile(net: str, measured: list[str]) -> None:
    profile_network(net)
    profile_network(net, granularity="strict")
    profile_network(net, optimisation="extended")

    assert len(measured) == 3


def test_a_damaged_profile_is_measured_again(net: str, measured: list[str]) -> None:
    profile_network(net)
    (kept,) = (cache_folder() / "profile").iterdir()
    kept.write_text(kept.read_text()[:-100])

    profile_network(net)

    assert len(measured) == 2


def test_a_refined_profile_rests_on_measurements_and_is_kept(net: str) -> None:
    opened = open_network(net)
    profile = profile_network(net).value
    estimates = [one for one in profile.segments if one.interpolated][:2]

    better = refine_profile(opened, profile, estimates)

    keys = {(one.first_block, one.last_block, one.processor, one.cores) for one in estimates}
    for one in better.value.segments:
        if (one.first_block, one.last_block, one.processor, one.cores) in keys:
            assert not one.interpolated or one.runtime != estimates[0].runtime
    assert profile_network(net) == better


def test_a_plan_rests_on_no_estimate(net: str) -> None:
    plan = plan_network(net)

    assert interpolated(profile_network(net).value, [plan]) == ()


def test_a_profile_travels_as_a_file(net: str, tmp_path: Path) -> None:
    kept = profile_network(net)
    save(tmp_path / "p.json", kept.value, made_from=kept.made_from)

    assert load_profile(tmp_path / "p.json", open_network(net)).value == kept.value


def test_a_profile_of_another_network_is_refused(
    net: str, write: Callable[[str, bytes], str], tmp_path: Path
) -> None:
    other = write("other.onnx", tiny.dense(layers=4, seed=1))
    save(tmp_path / "p.json", profile_network(net).value)

    with pytest.raises(InputError, match="is a profile of dense .*, not of other"):
        load_profile(tmp_path / "p.json", open_network(other))


def test_a_profile_cut_by_another_rule_is_refused(net: str, tmp_path: Path) -> None:
    save(tmp_path / "p.json", profile_network(net, granularity="strict").value)

    with pytest.raises(InputError, match="add --granularity strict"):
        load_profile(tmp_path / "p.json", open_network(net))


def test_a_profile_file_is_what_was_saved(net: str, tmp_path: Path) -> None:
    kept = profile_network(net)
    sha256 = save(tmp_path / "p.json", kept.value, made_from=kept.made_from)

    assert sha256 == kept.sha256 == load(tmp_path / "p.json", Profile).sha256


def test_a_profile_of_another_machine_is_restricted_by_its_own_names(
    net: str, tmp_path: Path
) -> None:
    profile = profile_network(net, runtimes=["onnxruntime"]).value
    renamed = tuple(
        msgspec.structs.replace(one, name="npu7") for one in profile.machine.processors[:1]
    )
    other = msgspec.structs.replace(
        profile,
        machine=msgspec.structs.replace(profile.machine, host="board", processors=renamed),
        segments=tuple(
            msgspec.structs.replace(one, processor="npu7", runtime="rknn")
            for one in profile.segments
        ),
    )
    save(tmp_path / "p.json", other)

    plan = plan_network(net, profile=tmp_path / "p.json", processors=["npu7"], runtimes=["rknn"])

    assert {lane.processor for stage in plan.stages for lane in stage.lanes} == {"npu7"}
    with pytest.raises(InputError, match="has no time of onnxruntime; it has rknn"):
        plan_network(net, profile=tmp_path / "p.json", runtimes=["onnxruntime"])
    with pytest.raises(InputError, match="knows no processor 'cpu0'; it knows npu7"):
        plan_network(net, profile=tmp_path / "p.json", processors=["cpu0"])


def test_a_profile_for_another_number_of_crossing_tensors_is_refused_and_kept_apart(
    write: Callable[[str, bytes], str], tmp_path: Path
) -> None:
    net = write("unet.onnx", tiny.unet(depth=1))
    one = profile_network(net, granularity="node", max_live=1, runtimes=["onnxruntime"])
    save(tmp_path / "p.json", one.value)

    two = profile_network(net, granularity="node", runtimes=["onnxruntime"])

    assert (one.value.max_live, two.value.max_live) == (1, 2)
    assert len(one.value.blocks) < len(two.value.blocks)
    with pytest.raises(InputError, match="up to 1 tensors cross, not 2; add --max-live 1"):
        load_profile(tmp_path / "p.json", open_network(net, granularity="node"))

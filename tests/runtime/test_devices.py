"""Which devices of several runtimes are the same."""

from evener.runtime.devices import Device, merge


def names(seen: dict[str, list[Device]]) -> list[tuple[str, str, dict[str, int]]]:
    return [(one.name, one.device.model, dict(one.numbers)) for one in merge(seen)]


def test_a_device_that_two_runtimes_see_counts_once() -> None:
    found = names(
        {
            "ncnn": [Device("gpu", "Intel(R) Arc(TM) Graphics (MTL)"), Device("gpu", "NVIDIA A2")],
            "onnxruntime": [Device("gpu", "NVIDIA A2")],
            "openvino": [Device("gpu", "Intel(R) Arc(TM) Graphics (iGPU)")],
        }
    )

    assert found == [
        ("gpu0", "Intel(R) Arc(TM) Graphics (MTL)", {"ncnn": 0, "openvino": 0}),
        ("gpu1", "NVIDIA A2", {"ncnn": 1, "onnxruntime": 0}),
    ]


def test_two_devices_alike_are_matched_in_order() -> None:
    a2 = Device("gpu", "NVIDIA A2")

    assert names({"ncnn": [a2, a2], "onnxruntime": [a2, a2]}) == [
        ("gpu0", "NVIDIA A2", {"ncnn": 0, "onnxruntime": 0}),
        ("gpu1", "NVIDIA A2", {"ncnn": 1, "onnxruntime": 1}),
    ]


def test_software_comes_last_so_that_it_changes_no_name() -> None:
    software, real = Device("gpu", "llvmpipe", software=True), Device("gpu", "Mali-G52")

    assert names({"ncnn": [software, real]}) == [
        ("gpu0", "Mali-G52", {"ncnn": 1}),
        ("gpu1", "llvmpipe", {"ncnn": 0}),
    ]


def test_each_kind_is_counted_for_itself() -> None:
    found = names({"a": [Device("npu", "K1"), Device("gpu", "G")], "b": [Device("npu", "K2")]})

    assert [name for name, _, _ in found] == ["gpu0", "npu0", "npu1"]


def test_no_runtime_means_no_device() -> None:
    assert merge({}) == ()

"""Finding the processors of a machine from what Linux tells of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from evener.artifacts.processors import Processor
from evener.artifacts.profile import Execution
from evener.errors import InputError
from evener.profile.find import SOFTWARE, core_sets, find_processors, with_little
from evener.runtime.devices import Device, merge
from evener.runtime.session import Optimisation, Session


class CpuRuntime:
    """A runtime that need not run anything here."""

    def __init__(self, name: str, *, least_cores: int = 1) -> None:
        self.name = name
        self.version = "1.0"
        self._least_cores = least_cores

    def supports(self, processor: Processor) -> bool:
        return processor.kind == "cpu" and len(processor.cores) >= self._least_cores

    def open(
        self,
        model: bytes,
        *,
        cores: tuple[int, ...],
        precision: str = "f32",
        optimisation: Optimisation = "all",
        execution: Execution = "sequential",
        processor: str = "",
    ) -> Session:
        raise NotImplementedError


RUNTIMES = {"fake": CpuRuntime("fake")}


class Tree:
    """A folder that looks like /sys."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str) -> None:
        file = self.root / "devices/system/cpu" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")

    def cpu(
        self,
        number: int,
        *,
        capacity: int | None = None,
        max_khz: int | None = None,
        siblings: str | None = None,
        package: int = 0,
    ) -> None:
        self.write(f"cpu{number}/topology/physical_package_id", str(package))
        if capacity is not None:
            self.write(f"cpu{number}/cpu_capacity", str(capacity))
        if max_khz is not None:
            self.write(f"cpu{number}/cpufreq/cpuinfo_max_freq", str(max_khz))
        if siblings is not None:
            self.write(f"cpu{number}/topology/thread_siblings_list", siblings)

    def caches(self, number: int, caches: Sequence[tuple[int, str, str]]) -> None:
        for index, (level, kind, size) in enumerate(caches):
            for name, text in (("level", str(level)), ("type", kind), ("size", size)):
                self.write(f"cpu{number}/cache/index{index}/{name}", text)

    def find(self, affinity: set[int], **changes: Mapping[str, CpuRuntime]) -> list[Processor]:
        runtimes = changes.get("runtimes", RUNTIMES)
        machine = find_processors(
            sysfs=self.root, cpuinfo=self.root / "cpuinfo", affinity=affinity, runtimes=runtimes
        )
        return list(machine.processors)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_big_and_little_cores_are_two_processors_the_big_first(tree: Tree) -> None:
    tree.write("online", "0-5")
    for cpu in (0, 1):
        tree.cpu(cpu, capacity=400, max_khz=1_800_000)
    for cpu in (2, 3, 4, 5):
        tree.cpu(cpu, capacity=1024, max_khz=2_200_000)

    big, little = tree.find({0, 1, 2, 3, 4, 5})

    assert (big.name, big.cores, big.core_sets) == ("cpu0", (2, 3, 4, 5), (1, 2, 4))
    assert (little.name, little.cores, little.core_sets) == ("cpu1", (0, 1), (1, 2))
    assert (big.capacity, little.capacity) == (1.0, 400 / 1024)
    assert (big.max_hz, little.max_hz) == (2.2e9, 1.8e9)


def test_a_hybrid_is_told_apart_by_its_clocks_and_a_favoured_core_is_not(tree: Tree) -> None:
    tree.write("online", "0-7")
    for cpu, siblings, max_khz in (
        (0, "0-1", 5_100_000),
        (1, "0-1", 5_100_000),
        (2, "2-3", 5_200_000),
        (3, "2-3", 5_200_000),
    ):
        tree.cpu(cpu, capacity=1024, siblings=siblings, max_khz=max_khz)
    for cpu in (4, 5, 6, 7):
        tree.cpu(cpu, capacity=1024, siblings=str(cpu), max_khz=3_900_000)

    fast, efficient = tree.find(set(range(8)))

    assert fast.cores == (0, 2)
    assert efficient.cores == (4, 5, 6, 7)
    assert efficient.capacity == pytest.approx(3.9 / 5.2)


def test_of_two_threads_on_a_core_the_first_usable_one_counts(tree: Tree) -> None:
    tree.write("online", "0-7")
    for cpu in range(8):
        tree.cpu(cpu, siblings=f"{cpu % 4},{cpu % 4 + 4}", max_khz=3_000_000)

    (processor,) = tree.find({1, 2, 5, 6, 7})

    assert processor.cores == (1, 2, 7)
    assert processor.core_sets == (1, 2, 3)


def test_equal_cores_of_two_packages_are_two_processors(tree: Tree) -> None:
    for cpu in range(4):
        tree.cpu(cpu, package=cpu // 2, max_khz=3_000_000)

    first, second = tree.find(set(range(4)))

    assert (first.cores, second.cores) == ((0, 1), (2, 3))
    assert (first.capacity, second.capacity) == (1.0, 1.0)


def test_a_bare_machine_that_says_nothing_has_equal_cores(tree: Tree) -> None:
    (processor,) = tree.find({0, 1})

    assert processor == Processor(
        name="cpu0", kind="cpu", cores=(0, 1), core_sets=(1, 2), runtimes=("fake",)
    )


def test_speeds_known_of_some_cores_only_count_for_none(tree: Tree) -> None:
    tree.cpu(0, capacity=1024)
    tree.cpu(1)

    (processor,) = tree.find({0, 1})

    assert (processor.cores, processor.capacity) == ((0, 1), 1.0)


def test_cores_outside_the_mask_or_offline_do_not_exist(tree: Tree) -> None:
    tree.write("online", "0-2")
    for cpu in range(4):
        tree.cpu(cpu)

    (processor,) = tree.find({1, 2, 3})

    assert processor.cores == (1, 2)


def test_no_usable_core_is_refused(tree: Tree) -> None:
    tree.write("online", "0-1")

    with pytest.raises(InputError, match=r"may use, 4, 5, none is online \(0, 1 are\)"):
        tree.find({4, 5})


def test_the_last_level_cache_is_the_highest_that_holds_data(tree: Tree) -> None:
    tree.cpu(0)
    tree.caches(
        0,
        [(1, "Data", "32K"), (1, "Instruction", "64K"), (2, "Unified", "512K")],
    )

    (processor,) = tree.find({0})

    assert processor.cache_bytes == 512 * 1024


def test_a_processor_is_named_as_its_maker_names_it(tree: Tree) -> None:
    tree.cpu(0)
    (tree.root / "cpuinfo").write_text("processor\t: 0\nmodel name\t: Quick 9000\n\nflags : x\n")

    (processor,) = tree.find({0})

    assert processor.model == "Quick 9000"


def test_a_processor_lists_the_runtimes_that_support_it_in_order(tree: Tree) -> None:
    runtimes = {
        name: CpuRuntime(name, least_cores=least) for name, least in (("b", 1), ("a", 1), ("c", 3))
    }

    (processor,) = tree.find({0, 1}, runtimes=runtimes)

    assert processor.runtimes == ("b", "a")


def test_this_machine_has_processors_that_its_process_may_use() -> None:
    machine = find_processors(runtimes=RUNTIMES)

    assert machine.runtimes == {"fake": "1.0"}
    assert machine.host
    assert max(processor.capacity for processor in machine.processors) == 1.0
    cores = [core for processor in machine.processors for core in processor.cores]
    assert len(set(cores)) == len(cores) >= 1


@pytest.mark.parametrize(
    ("cores", "expected"),
    [(1, (1,)), (2, (1, 2)), (3, (1, 2, 3)), (4, (1, 2, 4)), (8, (1, 2, 4, 8))],
)
def test_core_sets_are_powers_of_two_and_all(cores: int, expected: tuple[int, ...]) -> None:
    assert core_sets(cores) == expected


def test_devices_follow_the_cores_with_the_runtimes_that_see_them(tree: Tree) -> None:
    tree.cpu(0)
    real = Device("gpu", "NVIDIA A2", memory_bytes=2**34)
    seen = {"fake": [real], "elsewhere": [real, Device("npu", "K1")]}

    machine = find_processors(runtimes=RUNTIMES, sysfs=tree.root, affinity={0}, devices=merge(seen))

    assert machine.processors[1:] == (
        Processor(
            name="gpu0", kind="gpu", model="NVIDIA A2", runtimes=("fake",), memory_bytes=2**34
        ),
    )
    assert machine["gpu0"].core_sets == (1,)


@pytest.mark.parametrize(
    ("setting", "asked", "names"),
    [
        ("", None, ["cpu0"]),
        ("1", None, ["cpu0", "gpu0"]),
        ("0", None, ["cpu0"]),
        ("", True, ["cpu0", "gpu0"]),
        ("1", False, ["cpu0"]),
    ],
)
def test_a_gpu_of_software_counts_only_if_asked_for(
    tree: Tree,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    asked: bool | None,
    names: list[str],
) -> None:
    tree.cpu(0)
    monkeypatch.setenv(SOFTWARE, setting)

    machine = find_processors(
        runtimes=RUNTIMES,
        sysfs=tree.root,
        affinity={0},
        devices=merge({"fake": [Device("gpu", "llvmpipe (LLVM 15)", software=True)]}),
        software=asked,
    )

    assert [one.name for one in machine.processors] == names


def test_the_fastest_cluster_is_parted_into_a_full_half_and_a_throttled_one(tree: Tree) -> None:
    tree.write("online", "0-4")
    for cpu, capacity in enumerate((1024, 1024, 1024, 400, 400)):
        tree.cpu(cpu, capacity=capacity)
    machine = find_processors(
        sysfs=tree.root, cpuinfo=tree.root / "cpuinfo", affinity={0, 1, 2, 3, 4}, runtimes=RUNTIMES
    )

    big, little, slow = with_little(machine, 0.4).processors

    assert (big.name, big.cores, big.core_sets, big.share) == ("big", (0, 1), (1, 2), 1.0)
    assert (little.name, little.cores, little.core_sets) == ("little", (2,), (1,))
    assert (little.share, little.capacity) == (0.4, 0.4)
    assert slow == machine.processors[1]


def test_a_single_core_has_no_half_to_throttle(tree: Tree) -> None:
    tree.write("online", "0")
    tree.cpu(0)
    machine = find_processors(
        sysfs=tree.root, cpuinfo=tree.root / "cpuinfo", affinity={0}, runtimes=RUNTIMES
    )

    with pytest.raises(InputError, match=r"cpu0 of .* has one core .* \(0\).* takes two"):
        with_little(machine, 0.4)

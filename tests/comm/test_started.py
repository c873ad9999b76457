"""What launchers leave in the environment."""

import pytest

from evener.comm.started import (
    check_alone,
    check_asked,
    check_together,
    is_launched,
    is_torchrun,
    own_rank,
    ranks_started,
)
from evener.errors import InputError


@pytest.mark.parametrize(
    ("environment", "size", "rank", "launched"),
    [
        ({}, 1, 0, False),
        ({"OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_RANK": "3"}, 4, 3, True),
        ({"PMI_SIZE": "2", "PMI_RANK": "1"}, 2, 1, True),
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_PROCID": "5"}, 8, 5, True),
        ({"SLURM_NTASKS": "8", "SLURM_PROCID": "0"}, 1, 0, False),
        ({"PMIX_RANK": "0"}, 1, 0, True),
    ],
)
def test_a_launcher_is_known_by_what_it_leaves_in_the_environment(
    environment: dict[str, str], size: int, rank: int, launched: bool
) -> None:
    assert (ranks_started(environment), own_rank(environment)) == (size, rank)
    assert is_launched(environment) == launched
    assert not is_torchrun(environment)


def test_another_number_than_was_asked_for_is_refused() -> None:
    check_asked(None, 3)
    check_asked(3, 3)

    with pytest.raises(InputError, match="--ranks 2 was given to a command that is one of 3 ranks"):
        check_asked(2, 3)


@pytest.mark.parametrize(
    "environment", [{"OMPI_COMM_WORLD_SIZE": "4"}, {"SLURM_STEP_NUM_TASKS": "4"}]
)
def test_ranks_that_do_not_find_one_another_are_refused(environment: dict[str, str]) -> None:
    check_together(4, "MPICH 5.0.2", environment)
    check_together(4, "MPICH 5.0.2", {})

    with pytest.raises(
        InputError, match=r"4 ranks were started, and MPICH 5\.0\.2 sees 1 of them: .* --mpi=pmix"
    ):
        check_together(1, "MPICH 5.0.2", environment)


def test_a_single_process_where_slurm_gave_room_for_several_is_refused() -> None:
    check_alone({})
    check_alone({"SLURM_NTASKS": "1"})

    with pytest.raises(InputError, match=r"room for 4 tasks \(SLURM_NTASKS\).* put srun before"):
        check_alone({"SLURM_NTASKS": "4"})

"""Say that processors are simulated, and whether answers are computed meanwhile."""


def simulated_on(board: str, how: str = "", *, computed: bool) -> str:
    """Return one sentence on what runs in place of a board.

    Args:
        board: its name.
        how: what else there is to say of its times, after a comma.
        computed: whether answers are computed.

    Example:
        >>> simulated_on("khadas-vim3", ", 2 times slowed down", computed=False)
        "simulated processors of khadas-vim3, 2 times slowed down: run on this machine by the \
board's times, answers not computed (zeros)"
    """
    answers = "answers computed" if computed else "answers not computed (zeros)"
    return (
        f"simulated processors of {board}{how}: run on this machine by the board's times, {answers}"
    )

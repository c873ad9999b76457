"""A project's one file, `evener.toml`: read, checked key by key, with its defaults."""

import tomllib
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from evener.artifacts.data_section import DataSection as DataSection
from evener.artifacts.data_section import check_data
from evener.artifacts.misfit import choices
from evener.artifacts.plan import Objective
from evener.artifacts.requirements import Requirement, parse_requirement
from evener.artifacts.search_checks import check_search
from evener.artifacts.search_section import SearchSection as SearchSection
from evener.artifacts.search_section import with_preset
from evener.artifacts.train_section import TrainSection as TrainSection
from evener.artifacts.train_section import check_search_of_shards, check_train
from evener.errors import InvalidFileError, InvalidProjectError
from evener.hints import did_you_mean

FILE_NAME: Final = "evener.toml"


class PlanSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the plan is to be best at, and where it may run.

    Attributes:
        objective: "throughput", "latency", "energy" or "pareto", whose plan is the quickest.
        processors: "all", or the names of some.
        board: plan for this board, by name or file, and simulate it; None for this machine.
    """

    objective: Objective = "throughput"
    processors: str | tuple[str, ...] = "all"
    board: str | None = None

    @property
    def named(self) -> tuple[str, ...] | None:
        """Names of the processors that may be used; None for all."""
        return None if isinstance(self.processors, str) else self.processors


class ServeSection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where and how the network is served.

    Attributes:
        host: name or address to listen at; "0.0.0.0" for every one of the machine's.
        port: number of the port; 0 for any that is free.
        queue: most requests that may wait.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    queue: int = 64


class Project(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A checked project file.

    Attributes:
        data: where the rows come from.
        requirements: what must hold.
        search: which architectures are tried.
        train: how the chosen one is trained.
        plan: what the plan is to be best at.
        serve: where and how it is served.
    """

    data: DataSection
    requirements: tuple[Requirement, ...] = ()
    search: SearchSection = SearchSection()
    train: TrainSection = TrainSection()
    plan: PlanSection = PlanSection()
    serve: ServeSection = ServeSection()

    def hard_limit(self, name: str) -> float | None:
        """Return the limit that a metric must keep, in SI units; None if there is none."""
        return next((one.limit for one in self.requirements if one.name == name and one.hard), None)


_SECTIONS: Final[dict[str, type[msgspec.Struct]]] = {
    "data": DataSection,
    "search": SearchSection,
    "train": TrainSection,
    "plan": PlanSection,
    "serve": ServeSection,
}
_LEAST: Final[dict[str, float]] = {
    "data.text_features": 1,
    "data.text_run": 1,
    "train.epochs": 1,
    "train.batch": 1,
    "train.ranks": 1,
    "train.replicas": 1,
    "train.shards": 1,
    "train.halo": 0,
    "train.shift": 0,
    "serve.port": 0,
    "serve.queue": 0,
}
_LAST_PORT: Final = 65_535
_SEEDS: Final = ("data", "search", "train")  # sections that draw
_SEED_LIMIT: Final = 2**32  # what every library that draws accepts
SectionT = TypeVar("SectionT", bound=msgspec.Struct)


def load_project(folder: Path) -> Project:
    """Read and check the project file of a folder.

    Args:
        folder: the project; a path to its `evener.toml` is accepted too.

    Raises:
        InvalidFileError: there is no such file, or it is not TOML.
        InvalidProjectError: an unknown section or key, a wrong type, value or unit.
    """
    path = folder if folder.name == FILE_NAME else folder / FILE_NAME
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidFileError(
            f"cannot read {path}: {error.strerror or error}; give a folder that holds an "
            f"{FILE_NAME}",
            path=str(path),
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidFileError(f"{path} is not TOML: {error}", path=str(path)) from error
    try:
        return parse_project(raw)
    except InvalidProjectError as error:
        raise InvalidProjectError(f"{path}: {error}", key=error.key) from error


def parse_project(raw: dict[str, Any]) -> Project:
    """Check a decoded project file.

    Raises:
        InvalidProjectError: an unknown section or key, a wrong type, value or unit.

    Example:
        >>> parse_project({"data": {"source": "digits"}}).train.batch
        32
    """
    for section, value in raw.items():
        if section not in (*_SECTIONS, "requirements"):
            raise _unknown(section, (*_SECTIONS, "requirements"), "section")
        if not isinstance(value, dict):
            raise InvalidProjectError(
                f"'{section}' must be a section: write [{section}] on a line of its own",
                key=section,
            )
    if "data" not in raw:
        raise InvalidProjectError(
            'the section [data] is missing: write [data] and source = "digits" below it',
            key="data",
        )
    requirements = tuple(
        parse_requirement(name, _text(f"requirements.{name}", value))
        for name, value in raw.get("requirements", {}).items()
    )
    project = Project(
        data=_section(raw, "data", DataSection),
        requirements=requirements,
        search=_section(raw, "search", SearchSection),
        train=_section(raw, "train", TrainSection),
        plan=_section(raw, "plan", PlanSection),
        serve=_section(raw, "serve", ServeSection),
    )
    _check_values(project)
    return project


def _section(raw: dict[str, Any], name: str, of: type[SectionT]) -> SectionT:
    values = raw.get(name, {})
    if of is SearchSection:
        values = with_preset(values, raw.get("train", {}))
    known = of.__struct_fields__
    for key in values:
        if key not in known:
            raise _unknown(f"{name}.{key}", tuple(f"{name}.{field}" for field in known), "key")
    try:
        return msgspec.convert(values, of)
    except msgspec.ValidationError as error:
        raise InvalidProjectError(
            f"[{name}]: {error}".replace("at `$.", f"at `{name}.") + choices(values, of, error),
            key=name,
        ) from error


def _check_values(project: Project) -> None:
    check_data(project.data)
    for dotted, least in _LEAST.items():
        section, key = dotted.split(".")
        value = getattr(getattr(project, section), key)
        if isinstance(value, int) and value < least:
            raise InvalidProjectError(f"{dotted} = {value} must be at least {least:g}", key=dotted)
    if not project.train.learning_rate > 0:
        raise InvalidProjectError(
            f"train.learning_rate = {project.train.learning_rate} must be above 0",
            key="train.learning_rate",
        )
    for section in _SEEDS:
        seed = getattr(project, section).seed
        if not 0 <= seed < _SEED_LIMIT:
            raise InvalidProjectError(
                f"{section}.seed = {seed} must be at least 0 and below {_SEED_LIMIT}",
                key=f"{section}.seed",
            )
    check_train(project.train)
    _check_place(project.plan)
    check_search(project.search)
    check_search_of_shards(project.train, project.search.shards)
    _check_delivery(project)
    _check_address(project.serve)


def _check_delivery(project: Project) -> None:
    if project.train.deliver == "recommended" and project.plan.board is not None:
        raise InvalidProjectError(
            'train.deliver = "recommended" may deliver a simple model, and plan.board = '
            f'"{project.plan.board}" has times of networks alone: leave one of them out',
            key="train.deliver",
        )


def _check_address(serve: ServeSection) -> None:
    if serve.port > _LAST_PORT:
        raise InvalidProjectError(
            f"serve.port = {serve.port} must be at most {_LAST_PORT}", key="serve.port"
        )
    if not serve.host:
        raise InvalidProjectError(
            'serve.host is empty: write "127.0.0.1" for this machine only, or "0.0.0.0" for every '
            "network it is in",
            key="serve.host",
        )


def _check_place(plan: PlanSection) -> None:
    named = plan.processors
    if not named or (isinstance(named, str) and named != "all"):
        raise InvalidProjectError(
            f'plan.processors = {named or "[]"} is neither "all" nor a list of names: write '
            f'["{named or "cpu0"}"], with names from: evener processors',
            key="plan.processors",
        )
    if plan.board == "":
        raise InvalidProjectError(
            'plan.board is empty: write the name of a board, such as "khadas-vim3", or of its file',
            key="plan.board",
        )


def _text(key: str, value: object) -> str:
    if isinstance(value, str):
        return value
    raise InvalidProjectError(
        f"{key} = {value!r} must be text with a relation, such as '>= 0.97' or '<= 20 ms'", key=key
    )


def _unknown(key: str, known: tuple[str, ...], what: str) -> InvalidProjectError:
    hint = did_you_mean(key, known, cutoff=0.5)
    return InvalidProjectError(f"unknown {what} '{key}'; {hint}known: {', '.join(known)}", key=key)

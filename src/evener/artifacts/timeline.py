"""When each lane ran each frame of a run, as a file that Perfetto and Chrome draw.

The file is in the Trace Event Format (JSON object form) of Chrome's tracing, which ui.perfetto.dev
opens: a process is a stage, a thread a lane, a complete event a frame in its sessions. The frames
themselves, from credit to emission with their waits between stages, are asynchronous events.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from evener.artifacts.files import peek, whole_file
from evener.errors import InvalidFileError

_US: Final = 1e6
_DIGITS: Final = 3  # of a microsecond: a nanosecond
_FORM: Final = "evener timeline 1"
HEAD: Final = b'{"otherData":{"form":"evener timeline'
"""How every such file begins."""


class LaneSpans(msgspec.Struct, frozen=True, kw_only=True):
    """The frames of one lane, in the order in which it ran them.

    Attributes:
        stage: index of its stage, from 0.
        processor: where it ran.
        cores: the logical CPUs it was pinned to.
        frames: numbers of the frames.
        begun_s: when each entered its sessions, in seconds from the first credit.
        ended_s: when each left them.
    """

    stage: int
    processor: str
    cores: tuple[int, ...]
    frames: Sequence[int]
    begun_s: Sequence[float]
    ended_s: Sequence[float]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """When everything happened in a run, in seconds from the first credit.

    Attributes:
        network: name of the network.
        lanes: what each lane ran, in the order of the stages.
        frames: numbers of the frames that were answered, in order; of batches, if there were any.
        granted_s: when each was admitted, or arrived where the source does not wait.
        emitted_s: when its answer was emitted.
    """

    network: str
    lanes: tuple[LaneSpans, ...]
    frames: Sequence[int]
    granted_s: Sequence[float]
    emitted_s: Sequence[float]


def save_timeline(path: Path, timeline: Timeline) -> None:
    """Write a timeline for Perfetto, Chrome and `load_timeline`.

    Raises:
        InvalidFileError: the file cannot be written; nothing is left behind.
    """
    encode = msgspec.json.Encoder().encode
    with whole_file(path) as file:
        other = encode({"form": _FORM, "network": timeline.network})
        file.write(b'{"otherData":' + other + b',"displayTimeUnit":"ms","traceEvents":[\n')
        for number, event in enumerate(_events(timeline)):
            file.write((b",\n" if number else b"") + encode(event))
        file.write(b"\n]}\n")


def is_timeline(raw: dict[str, Any]) -> bool:
    """Say whether the JSON object of a file is a trace of events."""
    return isinstance(raw.get("traceEvents"), list)


def load_timeline(path: Path) -> Timeline:
    """Read a timeline that `save_timeline` wrote.

    Raises:
        InvalidFileError: missing, or not written by Evener.
    """
    raw = peek(path)
    other = raw.get("otherData")
    if not isinstance(other, dict) or other.get("form") != _FORM:
        raise InvalidFileError(
            f"{path} holds no timeline of this version of Evener; make one with evener run --trace",
            path=str(path),
        )
    try:
        return _timeline(str(other["network"]), raw["traceEvents"])
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidFileError(
            f"{path} is a damaged timeline ({error!r}); make it again with evener run --trace",
            path=str(path),
        ) from error


def _events(timeline: Timeline) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "frames"}}
    spans: dict[int, list[tuple[float, float, int]]] = {frame: [] for frame in timeline.frames}
    for tid, lane in enumerate(timeline.lanes):
        pid = lane.stage + 1
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": f"stage {pid - 1}"}}
        named = {
            "name": f"{lane.processor} {list(lane.cores)}",
            "processor": lane.processor,
            "cores": lane.cores,
        }
        yield {"ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": named}
        for frame, begun_s, ended_s in zip(lane.frames, lane.begun_s, lane.ended_s, strict=True):
            if frame in spans:
                spans[frame].append((begun_s, ended_s, lane.stage))
            begun_us = _micro(begun_s)
            yield {
                "ph": "X",
                "cat": "stage",
                "name": f"frame {frame}",
                "pid": pid,
                "tid": tid,
                "ts": begun_us,
                # The difference of what is written, so that no span reaches into the next.
                "dur": round(_micro(ended_s) - begun_us, _DIGITS),
                "args": {"frame": frame},
            }
    for frame, granted_s, emitted_s in zip(
        timeline.frames, timeline.granted_s, timeline.emitted_s, strict=True
    ):
        yield from _asynchronous(frame, f"frame {frame}", granted_s, emitted_s)
        since_s = granted_s
        for begun_s, ended_s, stage in sorted(spans[frame], key=lambda span: span[2]):
            yield from _asynchronous(frame, f"waits for stage {stage}", since_s, begun_s)
            since_s = ended_s
        yield from _asynchronous(frame, "waits for its turn", since_s, emitted_s)


def _asynchronous(
    frame: int, name: str, begun_s: float, ended_s: float
) -> Iterable[dict[str, Any]]:
    event = {"cat": "frame", "id": frame, "pid": 0, "tid": 0, "name": name}
    return (
        event | {"ph": "b", "ts": _micro(begun_s)},
        event | {"ph": "e", "ts": _micro(ended_s)},
    )


def _micro(seconds: float) -> float:
    return round(seconds * _US, _DIGITS)


def _timeline(network: str, events: Sequence[dict[str, Any]]) -> Timeline:
    lanes: dict[tuple[int, int], dict[str, Any]] = {}
    spans: dict[tuple[int, int], list[tuple[int, float, float]]] = {}
    ends: dict[str, dict[int, float]] = {"b": {}, "e": {}}
    for event in events:
        kind, name = event["ph"], str(event["name"])
        if kind == "M" and name == "thread_name":
            place = event["pid"], event["tid"]
            lanes[place], spans[place] = event["args"], []
        elif kind == "X":
            begun_us, took_us = float(event["ts"]), float(event["dur"])
            span = int(event["args"]["frame"]), begun_us / _US, (begun_us + took_us) / _US
            spans[event["pid"], event["tid"]].append(span)
        elif kind in ends and name.startswith("frame "):
            ends[kind][int(event["id"])] = float(event["ts"]) / _US
    frames = sorted(ends["b"])
    return Timeline(
        network=network,
        lanes=tuple(
            LaneSpans(
                stage=place[0] - 1,
                processor=str(named["processor"]),
                cores=tuple(map(int, named["cores"])),
                frames=[frame for frame, _, _ in spans[place]],
                begun_s=[begun_s for _, begun_s, _ in spans[place]],
                ended_s=[ended_s for _, _, ended_s in spans[place]],
            )
            for place, named in lanes.items()
        ),
        frames=frames,
        granted_s=[ends["b"][frame] for frame in frames],
        emitted_s=[ends["e"][frame] for frame in frames],
    )

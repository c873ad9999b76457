"""Write what a build found as one HTML page that needs nothing but a browser."""

from pathlib import Path
from xml.etree.ElementTree import Element

from evener.artifacts.files import write_whole
from evener.report import sections
from evener.report.content import ReportContent as ReportContent
from evener.report.document import document
from evener.report.markup import page
from evener.report.search import search


def write_report(path: Path, content: ReportContent) -> None:
    """Write the report; equal content gives equal bytes.

    Args:
        path: the HTML file; its folder is made if need be.
        content: what it shows.

    Raises:
        InvalidFileError: the file cannot be written; nothing is left behind.
    """
    write_whole(path, page(_document(content)).encode(errors="backslashreplace"))


def _document(content: ReportContent) -> Element:
    return document(
        f"{content.project}: what the build found",
        *sections.verdict(content),
        *sections.candidates(content),
        *search(content.front),
        *sections.plan(content),
        *sections.measured(content),
        *sections.made(content),
        *sections.next_steps(content),
    )

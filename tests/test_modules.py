"""Rules that every module of the package keeps."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import evener

ROOT = Path(evener.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
LONGEST = 400


def name_of(module: Path) -> str:
    return str(module.relative_to(ROOT))


def public_definitions(
    body: list[ast.stmt], inside: str = ""
) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield f"{inside}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from public_definitions(node.body, f"{node.name}.")


def fields(node: ast.ClassDef) -> list[str]:
    return [
        entry.target.id
        for entry in node.body
        if isinstance(entry, ast.AnnAssign)
        and isinstance(entry.target, ast.Name)
        and not entry.target.id.startswith("_")
        and "ClassVar" not in ast.unparse(entry.annotation)
    ]


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_no_module_is_long(module: Path) -> None:
    assert len(module.read_text().splitlines()) <= LONGEST


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_every_module_and_public_name_is_documented(module: Path) -> None:
    tree = ast.parse(module.read_text())

    assert ast.get_docstring(tree), "the module itself"
    undocumented = [
        name for name, node in public_definitions(tree.body) if not ast.get_docstring(node)
    ]
    assert not undocumented


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_every_field_of_a_record_is_explained(module: Path) -> None:
    tree = ast.parse(module.read_text())

    unexplained = [
        f"{name}.{field}"
        for name, node in public_definitions(tree.body)
        if isinstance(node, ast.ClassDef) and not name.endswith("Choices")  # explained in another
        for field in fields(node)
        if f"{field}: " not in (ast.get_docstring(node) or "")
    ]
    assert not unexplained


# The contract suites of `testing` are tests themselves.
@pytest.mark.parametrize(
    "module", [one for one in MODULES if one.parent.name != "testing"], ids=name_of
)
def test_nothing_is_asserted_on_what_users_give(module: Path) -> None:
    # `python -O` drops assert statements.
    tree = ast.parse(module.read_text())

    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)]


def test_the_command_line_speaks_to_no_engine() -> None:
    engines = {"torch", "onnxruntime", "openvino", "mpi4py", "sklearn", "starlette", "uvicorn"}
    imported = {
        alias.name.split(".")[0] if isinstance(node, ast.Import) else str(node.module).split(".")[0]
        for module in (ROOT / "cli").glob("*.py")
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }

    assert not imported & engines

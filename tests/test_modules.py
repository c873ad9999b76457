"""Rules that every module of the package keeps."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import evener

ROOT = Path(evener.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))
LONGEST = 400


def name_of(module: Path) -> str:
    return str(module.relative_to(ROOT))


@functools.cache
def trees() -> dict[str, ast.Module]:
    """Return every module, read once, by its name."""
    return {name_of(module): ast.parse(module.read_text()) for module in MODULES}


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


def test_no_module_is_long() -> None:
    lines = {name_of(module): len(module.read_text().splitlines()) for module in MODULES}

    assert not {name: count for name, count in lines.items() if count > LONGEST}


def test_every_module_and_public_name_is_documented() -> None:
    assert not [module for module, tree in trees().items() if not ast.get_docstring(tree)]
    undocumented = [
        f"{module}: {name}"
        for module, tree in trees().items()
        for name, node in public_definitions(tree.body)
        if not ast.get_docstring(node)
    ]
    assert not undocumented


def test_every_field_of_a_record_is_explained() -> None:
    unexplained = [
        f"{module}: {name}.{field}"
        for module, tree in trees().items()
        for name, node in public_definitions(tree.body)
        if isinstance(node, ast.ClassDef) and not name.endswith("Choices")  # explained in another
        for field in fields(node)
        if f"{field}: " not in (ast.get_docstring(node) or "")
    ]
    assert not unexplained


def test_nothing_is_asserted_on_what_users_give() -> None:
    # `python -O` drops assert statements. The contract suites of `testing` are tests themselves.
    asserted = [
        f"{module}:{node.lineno}"
        for module, tree in trees().items()
        if not module.startswith("testing/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Assert)
    ]
    assert not asserted


def test_the_command_line_speaks_to_no_engine() -> None:
    engines = {"torch", "onnxruntime", "openvino", "mpi4py", "sklearn", "starlette", "uvicorn"}
    imported = {
        alias.name.split(".")[0] if isinstance(node, ast.Import) else str(node.module).split(".")[0]
        for module, tree in trees().items()
        if module.startswith("cli/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }

    assert not imported & engines

"""Every documented name of a surface is there, with its documented parameters, order and defaults.

The inventory lists what the originals' documents list: natural_bm's backend, its Theano backend, the backends of Keras
2.0 and 1.0, and the methods of neon's Backend. What a function takes beyond that must be keyword-only, so that no
documented call can mean something else.
"""

import ast
import inspect
import json
import pathlib
from typing import Any

import pytest

from nbm_xp import keras1, keras2, natural_bm
from nbm_xp.neon import Backend
from tests.helpers.known import told

PACKAGE = pathlib.Path(__file__).parents[2] / "nbm_xp"
INVENTORY = json.loads((pathlib.Path(__file__).parents[1] / "golden" / "inventory.json").read_text(encoding="utf-8"))
SURFACES: dict[str, Any] = {
    "natural_bm": natural_bm, "natural_bm_theano": natural_bm, "keras2": keras2, "keras1": keras1, "neon": Backend,
}  # fmt: skip
ENTRIES = [(SURFACES[system], e["name"], e["signature"]) for system, entries in INVENTORY.items() for e in entries]


def documented(signature: str) -> tuple[list[tuple[str, Any]], bool, bool]:
    """The parameters of a written signature with their defaults, and whether *args and **kwargs follow."""
    (definition,) = ast.parse(f"def {signature}: pass").body
    assert isinstance(definition, ast.FunctionDef)
    names = [argument.arg for argument in definition.args.args]
    defaults = [ast.literal_eval(default) for default in definition.args.defaults]
    missing = [inspect.Parameter.empty] * (len(names) - len(defaults))
    parameters = [pair for pair in zip(names, missing + defaults, strict=True) if pair[0] != "self"]
    return parameters, definition.args.vararg is not None, definition.args.kwarg is not None


def same_default(written: Any, actual: Any) -> bool:
    # A written [] stands for "none": an immutable empty value says the same and cannot be changed by a caller.
    return actual in (None, (), []) if written == [] else type(written) is type(actual) and written == actual


def test_signatures_are_those_that_are_documented() -> None:
    for surface, name, signature in ENTRIES:
        with told(f"{surface.__name__}.{signature}"):
            check_signature(surface, name, signature)


def check_signature(surface: Any, name: str, signature: str) -> None:
    target: Any = surface
    for part in name.split("."):
        target = getattr(target, part)
    wanted, anything, keywords = documented(signature)
    actual = [parameter for parameter in inspect.signature(target).parameters.values() if parameter.name != "self"]
    if anything:  # documented as (*args, **kwargs): it says nothing of the names
        assert actual
        return
    positional = [parameter for parameter in actual if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    assert [parameter.name for parameter in positional] == [name for name, _ in wanted]
    for parameter, (_, default) in zip(positional, wanted, strict=True):
        assert same_default(default, parameter.default), f"default of {parameter.name}: {parameter.default!r}"
    others = {parameter.kind for parameter in actual} - {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert others <= {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}
    assert not keywords or others, "further keywords are documented"


@pytest.mark.parametrize("system", [system for system in INVENTORY if inspect.ismodule(SURFACES[system])])
def test_all_lists_the_documented_names(system: str) -> None:
    """``import *`` from a surface gives every documented name, and each is documented."""
    surface = SURFACES[system]
    names = {entry["name"].split(".")[0] for entry in INVENTORY[system]}
    assert names <= set(surface.__all__)
    assert len(set(surface.__all__)) == len(surface.__all__)
    for name in surface.__all__:
        if name == "_BACKEND":  # a constant that Keras 1.0 looks at
            continue
        assert inspect.getdoc(getattr(surface, name)), f"{name} has no docstring"


def test_methods_are_documented() -> None:
    assert not [entry["name"] for entry in INVENTORY["neon"] if not inspect.getdoc(getattr(Backend, entry["name"]))]


def documented_parameters(text: str) -> list[str]:
    """The names in the section on parameters of a docstring."""
    lines = inspect.cleandoc(text).splitlines()
    if "Parameters" not in lines:
        return []
    start = lines.index("Parameters") + 2
    end = next((i for i in range(start, len(lines)) if lines[i].startswith("---")), len(lines) + 1) - 1
    heads = [line.split(" : ")[0] for line in lines[start:end] if line and not line.startswith(" ")]
    return [name.strip().lstrip("*") for head in heads for name in head.split(",")]


def taken_parameters(node: ast.FunctionDef | ast.ClassDef, classes: dict[str, ast.ClassDef]) -> set[str]:
    """The parameters of a function, or of a class: of its `__init__`, or its fields and those of its bases."""
    if isinstance(node, ast.FunctionDef):
        given = node.args
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, *filter(None, (given.vararg, given.kwarg))]
        return {argument.arg for argument in every}
    made = [item for item in node.body if isinstance(item, ast.FunctionDef) and item.name == "__init__"]
    if made:
        return taken_parameters(made[0], classes)
    targets = [item.target for item in node.body if isinstance(item, ast.AnnAssign)]
    bases = [classes[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in classes]
    fields = {target.id for target in targets if isinstance(target, ast.Name)}
    return fields.union(*(taken_parameters(base, classes) for base in bases))


def test_documented_parameters_are_taken() -> None:
    modules = {path: list(ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in PACKAGE.rglob("*.py")}
    classes = {node.name: node for nodes in modules.values() for node in nodes if isinstance(node, ast.ClassDef)}
    wrong = []
    for path, nodes in modules.items():
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and (text := ast.get_docstring(node, clean=False)):
                taken = taken_parameters(node, classes)
                missing = [name for name in documented_parameters(text) if taken and name not in taken]
                wrong += [f"{path.relative_to(PACKAGE)}: {node.name} has no {name}" for name in missing]
    assert not wrong, wrong

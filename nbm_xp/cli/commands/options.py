"""Options shared by several commands, and options made from parameters of the library, by the same names.

The default and help of the latter are the parameter's default and the first sentence of its documentation, besides what
None means; the class or function validates the values.
"""

from __future__ import annotations

import functools
import inspect
import os
import pathlib
import re
import typing
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from nbm_xp.files import Place, place_of

from ..inputs import input_errors


def panel(title: str) -> Callable[..., Any]:
    """Return a function that declares options under a heading of the help: ``option(help, *names, **limits)``."""
    return lambda help, *names, **limits: typer.Option(*names, help=help, rich_help_panel=title, **limits)


def path(text: str | os.PathLike[str]) -> Place:
    """Return a path, or an address of an object store: the parser of arguments that are declared as paths."""
    with input_errors():
        return place_of(text)


_where = panel("Where it is computed")

Data = Annotated[
    str,
    typer.Option(
        help="Rows, of shape (rows, features): a .npy file, an .npz file (file.npz:key picks an array), or a name: "
        "digits, digits:train, digits:test. Or an alignment: a .fasta file, packed (.fasta.gz) or not."
    ),
]
Library = Annotated[
    str | None,
    typer.Option(help="The library to compute in: numpy, dask, cupy, torch or jax; by default the model's, or numpy."),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same numbers.")]
Threshold = Annotated[float | None, typer.Option(help="Make values from this one upwards 1, those below 0.")]
Model = Annotated[pathlib.Path, typer.Option(parser=path, help="The directory of a run, or the file of a model.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document, and nothing else, on stdout.")]
Chunks = Annotated[int | None, typer.Option(min=1, help="Chains in each block, where they are computed in blocks.")]


@dataclass
class Where:
    """Options of the workers that compute the tasks of a run."""

    scheduler: Annotated[str, _where("threads, local (processes) or the address of a cluster, tcp://….")] = "threads"
    n_workers: Annotated[int | None, _where("How many tasks run at once; all cores by default.", min=1)] = None
    memory_limit: Annotated[str | None, _where("Of each worker, with --scheduler local: 4GB.")] = None
    worker_timeout: Annotated[float, _where("Seconds to wait for a cluster without workers or scheduler.", min=0.0)] = (
        600.0
    )


def where_in(given: dict[str, Any]) -> dict[str, Any]:
    """Remove the options of `Where` from the keyword arguments of a command, and return them."""
    return {name: given.pop(name) for name in inspect.signature(Where).parameters}


def with_options_of(
    source: Callable[..., Any], *names: str, title: str | None = None, **defaults: object
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds parameters of the library to a command as options, passed as keyword arguments.

    Parameters
    ----------
    source : class or function
        What has the parameters; its docstring documents those that are not yet options of typer.
    *names : str
        Names of the parameters. Defaults to all.
    title : str, optional
        Heading of the help.
    **defaults
        Defaults of the options, in place of the parameters' defaults.
    """

    def add(command: Callable[..., None]) -> Callable[..., None]:
        own, theirs = inspect.signature(command, eval_str=True), inspect.signature(source)
        kinds = typing.get_type_hints(source, include_extras=True)
        given = [parameter for parameter in own.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
        for name in names or theirs.parameters:
            parameter = theirs.parameters[name]
            kind: Any = kinds[name]
            if typing.get_origin(kind) is not Annotated:
                option = typer.Option(help=_documented(source).get(name), rich_help_panel=title)
                kind = Annotated[_plain(kind), option]
            default = defaults.get(name, parameter.default)
            given.append(parameter.replace(kind=parameter.KEYWORD_ONLY, annotation=kind, default=default))
        command.__signature__ = own.replace(parameters=given)  # type: ignore[attr-defined]
        return command

    return add


def _plain(annotation: Any) -> Any:
    """Return the scalar type of an annotation (bool, int, float or str), or None in addition."""
    kinds = typing.get_args(annotation) or (annotation,)
    found = next(kind for kind in (bool, int, float, str) if kind in kinds)
    return found | None if type(None) in kinds else found


@functools.cache
def _documented(source: Callable[..., Any]) -> dict[str, str]:
    """Return the first sentence, the default and the choices of each parameter in a numpydoc docstring."""
    section = (inspect.getdoc(source) or "").partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section):
        head, _, text = entry.partition("\n")
        first, *others = re.split(r"(?<=\.) ", " ".join(text.split()).replace("``", ""))
        sentences = [first, *(each for each in others if each.startswith(("Defaults to", "By default")))]
        choices = re.search(r"\{(.*)\}", head)
        sentences += [f"One of {choices[1]}."] if choices else []
        found |= dict.fromkeys(head.partition(" : ")[0].split(", "), " ".join(sentences))
    return found


def is_given(context: typer.Context, name: str) -> bool:
    """Return whether an option was given explicitly."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"

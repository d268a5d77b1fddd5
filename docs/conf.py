"""How Sphinx builds the site: ``nox -s docs``. Warnings are errors there.

The pages are Markdown that reads well in a repository's viewer too, so they link to one another as files. The
reference is made of the docstrings: autosummary writes a page for each module that reference/index.md lists.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.util import logging

import nbm_xp

project = "nbm_xp"
author = project_copyright = "nbm_xp developers"
version = release = nbm_xp.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc", "myst_parser", "sphinx_copybutton"]
exclude_patterns = ["_build"]
templates_path = ["_templates"]
highlight_language = "text"
suppress_warnings = ["config.cache"]  # `entry` below is a function: each build is a whole one

# `name` in a docstring is a link where the name has an entry; parameters, for one, have none.
default_role = "py:obj"
nitpicky = True
nitpick_ignore_regex = [("py:(obj|class|meth|attr)", ".*")]

autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # the docstrings say more than the annotations
numpydoc_show_class_members = False
toc_object_entries = False  # the table of names stands at the top of a module's page

myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"

html_theme = "furo"
html_title = f"nbm_xp {release}"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_theme_options = {f"{mode}_css_variables": {"code-font-size": "75%"} for mode in ("light", "dark")}
html_copy_source = False
html_show_sphinx = False

HERE = Path(__file__).parent
REFERENCE = re.findall(r"^   (nbm_xp[\w.]*)$", (HERE / "reference" / "index.md").read_text("utf-8"), re.MULTILINE)
_FOREIGN = "object, BaseException, Enum, dict, int, list, tuple"  # of these, nothing inherited is listed


def names(module: str) -> list[str]:
    """The public names of a module: those of its ``__all__``, imported or not, and found when first asked for."""
    return list(importlib.import_module(module).__all__)


def home(module: str, name: str) -> str:
    """The module of the reference in which a public name has its entry: one within, if that has the name."""
    value = getattr(importlib.import_module(module), name)
    inner = [other for other in REFERENCE if other.startswith(f"{module}.") and name in names(other)]
    return min((other for other in inner if getattr(importlib.import_module(other), name) is value), default=module)


def entry(module: str, name: str) -> str:
    """The directive that documents a public name of a module."""
    value = getattr(importlib.import_module(module), name)
    if inspect.ismodule(value) or home(module, name) != module:
        return ""
    if inspect.isclass(value):
        elsewhere = not value.__module__.startswith(module)  # it has its entry in the module that it is from
        return f".. autoclass:: {name}\n   :inherited-members: {_FOREIGN}\n" + "   :no-index:\n" * elsewhere
    return f".. autofunction:: {name}\n" if inspect.isroutine(value) else f".. autodata:: {name}\n   :no-value:\n"


FOREIGN = {  # where other projects document a name; {} is the name
    "numpy.random.": "https://numpy.org/doc/stable/reference/random/generated/{}.html#{}",
    "numpy.": "https://numpy.org/doc/stable/reference/generated/{}.html#{}",
    "scipy.": "https://docs.scipy.org/doc/scipy/reference/generated/{}.html#{}",
    "sklearn.": "https://scikit-learn.org/stable/modules/generated/{}.html#{}",
    "dask.array.": "https://docs.dask.org/en/stable/generated/{}.html#{}",
    "xarray.": "https://docs.xarray.dev/en/stable/generated/{}.html#{}",
}
FOREIGN_PAGES = {
    "numpy.random.Generator": "https://numpy.org/doc/stable/reference/random/generator.html",
    "numpy.random.SeedSequence": "https://numpy.org/doc/stable/reference/random/bit_generators/generated/"
    "numpy.random.SeedSequence.html",
    "dask.array": "https://docs.dask.org/en/stable/array.html",
    "scipy.special": "https://docs.scipy.org/doc/scipy/reference/special.html",
}


autosummary_context = {"entry": entry, "home": home, "names": names}

INCLUDED = {
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
    "../README.md": "index.md",
    "../ARCHITECTURE.md": "architecture.md",
}


def read_page(app: Any, document: str, source: list[str]) -> None:
    """Links to files of the repository outside docs/ lead to their pages, or else to the files themselves."""
    folder = (HERE / document).parent

    def target(match: re.Match[str]) -> str:
        file = (folder / match[1]).resolve()
        page = INCLUDED.get(f"../{file.name}") if file.parent == HERE.parent else None
        return f"]({'../' * (len(folder.parts) - len(HERE.parts))}{page})" if page else f"](path:{match[1]})"

    source[0] = re.sub(r"\]\(((?:\.\./)+[\w./-]+\.md)\)", target, source[0])


def read_docstring(app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]) -> None:
    """A name such as ``n_features_in_`` in a docstring's words is a name; reStructuredText takes it for a link.

    A constant has no docstring, but that of its type: its value says more.
    """
    if value.__doc__ == type(value).__doc__ and not callable(value):
        lines[:] = [f"``{value!r}``"]
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            parts = re.split(r"(`+[^`]*`+)", line)
            parts[::2] = [re.sub(r"(?<![\w.])([A-Za-z]\w*)_(?!\w)", r"\1\_", part) for part in parts[::2]]
            lines[i] = "".join(parts)


def link_foreign(app: Any, env: Any, node: Any, content: Any) -> Any:
    """A link to another project's documentation for a name of its, without asking the network for an inventory."""
    name = node.get("reftarget", "")
    pattern = next((FOREIGN[prefix] for prefix in FOREIGN if name.startswith(prefix)), "")
    address = FOREIGN_PAGES.get(name, pattern.replace("{}", name))
    return nodes.reference("", "", content, refuri=address, internal=False) if address else None


def write_index_for_language_models(app: Any, exception: Exception | None) -> None:
    """Write llms.txt: a line for each page, with its title and first sentence (llmstxt.org)."""
    if exception or app.builder.format != "html":
        return
    lines = [
        "# nbm_xp",
        "",
        "> Boltzmann machines, random numbers and gradients on arrays of any library.",
        "",
        "## Pages",
        "",
    ]
    for document in sorted(app.env.found_docs):
        doctree = app.env.get_doctree(document)
        first = next((" ".join(p.astext().split()) for p in doctree.findall(nodes.paragraph)), "")
        lines.append(f"- [{app.env.titles[document].astext()}]({document}.html): {first.partition('. ')[0]}")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def skip_foreign(app: Any, what: str, name: str, value: Any, skip: bool, options: Any) -> bool | None:
    """What estimators have from scikit-learn is described in its own documentation."""
    return True if str(getattr(value, "__module__", "")).startswith("sklearn.") else None


def write_formula(translator: Any, node: nodes.Element) -> None:
    """A formula as MathML, which browsers typeset themselves, in the page's own colours and without a script."""
    display = "block" if isinstance(node, nodes.math_block) else "inline"
    translator.body.append(convert(node.astext(), display=display))
    raise nodes.SkipNode


def check_reference(app: Any, env: Any) -> None:
    """Each page of the reference has entries: an empty one looks like a page without public names."""
    objects = env.get_domain("py").objects
    for module in REFERENCE:
        if module != "nbm_xp" and not any(name.startswith(f"{module}.") for name in objects):
            logging.getLogger(__name__).warning("the reference has no entry of %s", module)


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("source-read", read_page)
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("env-check-consistency", check_reference)
    app.connect("missing-reference", link_foreign)
    app.connect("build-finished", write_index_for_language_models)
    app.connect("autodoc-process-docstring", read_docstring, priority=400)  # before numpydoc

"""Report of the installation and configuration, for bug reports."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

from nbm_xp.package import __version__

from . import config, core, libraries

_PACKAGES = ("numpy", "array-api-compat")


def _version(*distributions: str) -> str | None:
    import importlib.metadata  # slow to import

    for distribution in distributions:
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _version_of(library: libraries.Library) -> str | None:
    if version := _version(library.package):
        return version
    # CuPy has one distribution for each CUDA version: found by the files of all installed distributions
    return _version(*_distributions().get(library.package, []))


@cache  # to read those files takes a second
def _distributions() -> Mapping[str, list[str]]:
    import importlib.metadata

    return importlib.metadata.packages_distributions()


def _devices(name: str) -> list[str]:
    """The devices of a library that is already imported; no library is imported."""
    module = sys.modules.get(libraries.LIBRARIES[name].package)
    if name in ("numpy", "dask", "array_api_strict"):
        return ["cpu"]
    if module is None:
        return []
    if name not in ("torch", "jax", "cupy"):
        inspection = getattr(libraries.get_namespace(name), "__array_namespace_info__", None)
        return [] if inspection is None else [str(device) for device in inspection().devices()]
    if name == "torch":
        return ["cpu", *(f"cuda:{i}" for i in range(module.cuda.device_count()))]
    try:
        if name == "jax":
            return [str(device) for device in module.devices()]
        return [f"cuda:{i}" for i in range(module.cuda.runtime.getDeviceCount())]
    except RuntimeError:  # no device, or no driver
        return []


def info() -> dict[str, Any]:
    """Return versions, installed libraries and the configuration with the source of each setting.

    Returns
    -------
    dict
        ``versions``, ``core``, ``libraries`` and ``configuration``. For the compiled core: the level of vector
        instructions in use, the levels of this machine and, without a core, how to install it. Devices are listed for
        libraries that are already imported.

    Examples
    --------
    >>> info()["libraries"]["numpy"]["installed"]
    True
    """
    found = {}
    for name, library in libraries.LIBRARIES.items():
        installed = libraries.is_installed(name)
        found[name] = {
            "installed": installed,
            "version": _version_of(library) if installed else None,
            "devices": _devices(name) if installed else [],
            "install": None if installed else f"pip install {library.distribution}",
        }
    return {
        "versions": {
            "nbm_xp": __version__,
            "python": platform.python_version(),
            **{package: _version(package) for package in _PACKAGES},
        },
        "core": {"level": core.level(), "levels": list(core.levels), "install": core.missing() or None},
        "libraries": found,
        "configuration": config.configuration(),
    }


def format_info(found: dict[str, Any] | None = None) -> str:
    """Format the result of `info` as plain text.

    Parameters
    ----------
    found : dict, optional
        Result of `info`. Defaults to a new call.

    Returns
    -------
    str
        Lines with columns.

    Examples
    --------
    >>> print(format_info().splitlines()[0])
    versions
    """
    found = info() if found is None else found
    lines = ["versions"]
    lines += [f"  {name:<18}{version or 'unknown'}" for name, version in found["versions"].items()]
    loops = found["core"]
    lines.append("compiled core")
    if loops["install"] is None:
        lines.append(f"  {'level':<18}{loops['level']}  of {', '.join(loops['levels']) or 'none'} on this machine")
    else:
        lines.append(f"  {'level':<18}none: everything works without a core, more slowly")
        lines.append(f"  {'to install':<18}{loops['install']}")
    lines.append("libraries")
    for name, library in found["libraries"].items():
        if library["installed"]:
            devices = f"  on {', '.join(library['devices'])}" if library["devices"] else ""
            lines.append(f"  {name:<18}{library['version'] or 'installed'}{devices}")
        else:
            lines.append(f"  {name:<18}not installed: {library['install']}")
    lines.append("configuration")
    lines += [f"  {name:<18}{value!r}  ({source})" for name, (value, source) in found["configuration"].items()]
    return "\n".join(lines)

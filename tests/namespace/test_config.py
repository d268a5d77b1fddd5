"""The configuration: its five sources, their precedence, and the errors of invalid values."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbm_xp import namespace
from nbm_xp.namespace import backend, configuration, epsilon, floatx, image_data_format, set_backend, set_floatx

SETTERS: dict[str, tuple[Any, Any, list[Any]]] = {
    "floatx": (floatx, set_floatx, ["float16", "float32", "float64"]),
    "intx": (namespace.intx, namespace.set_intx, ["int16", "int32", "int64"]),
    "epsilon": (epsilon, namespace.set_epsilon, [1e-5, 0, 1, np.float32(0.5)]),
    "image_data_format": (image_data_format, namespace.set_image_data_format, ["channels_first", "channels_last"]),
    "backend": (backend, set_backend, ["numpy"]),
}
WRONG = {
    "floatx": ["", "beerfloat", 123, None, "int32"], "intx": ["", "beerint", 123, "int8", "float32"],
    "epsilon": [-1e-7, float("nan"), float("inf"), "small", "1e-5", None, True], "image_data_format": ["", "th", 1],
    "backend": ["", "theano", 0],
}  # fmt: skip


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary home directory with the folder of the configuration file."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".nbm_xp").mkdir()
    return tmp_path / ".nbm_xp" / "nbm_xp.json"


def test_defaults() -> None:
    assert (floatx(), namespace.intx(), backend()) == ("float32", "int32", "numpy")
    assert image_data_format() == "channels_last"
    assert epsilon() == np.finfo("float32").eps
    assert type(epsilon()) is float
    assert {source for _, source in configuration().values()} == {"default"}


@pytest.mark.parametrize("name", SETTERS)
def test_setters(name: str) -> None:
    get, put, values = SETTERS[name]
    for value in values:
        put(value)
        assert get() == value
        assert configuration()[name] == (value, f"set_{name}")


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_wrong_values(name: str, value: object) -> None:
    get, put, _ = SETTERS[name]
    before = get()
    with pytest.raises(ValueError, match="library must be" if name == "backend" else f"{name} must be"):
        put(value)
    assert get() == before


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [("floatx", "float64", "float64"), ("intx", "int64", "int64"), ("epsilon", "1e-3", 1e-3),
     ("image_data_format", "channels_first", "channels_first"), ("backend", "cpu", "numpy")],
)  # fmt: skip
def test_environment(monkeypatch: pytest.MonkeyPatch, name: str, text: str, value: object) -> None:
    monkeypatch.setenv(f"NBM_XP_{name.upper()}", text)
    assert SETTERS[name][0]() == value
    assert configuration()[name] == (value, f"environment variable NBM_XP_{name.upper()}")


@pytest.mark.parametrize("name", SETTERS)
def test_bad_environment_names_itself(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"NBM_XP_{name.upper()}", "rubbish")
    with pytest.raises(ValueError, match=f"environment variable NBM_XP_{name.upper()}: .*rubbish"):
        SETTERS[name][0]()


def test_file(home: Path) -> None:
    home.write_text(json.dumps({"floatx": "float64", "epsilon": 1e-4}))
    assert (floatx(), epsilon(), namespace.intx()) == ("float64", 1e-4, "int32")
    assert configuration()["floatx"] == ("float64", str(home))
    assert configuration()["intx"] == ("int32", "default")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read as JSON"), ("[1]", "must hold a JSON object"),
        ('{"floatx": "beerfloat"}', "floatx must be one of"),
        ('{"epsilon": "1e-5"}', "epsilon must be a finite number"), ('{"flaotx": "float32"}', "unknown settings"),
    ],
)  # fmt: skip
def test_bad_file_names_itself(home: Path, content: str, message: str) -> None:
    home.write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        configuration()
    assert str(home) in str(caught.value)


def test_precedence(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert floatx() == "float32"
    home.write_text(json.dumps({"floatx": "float16"}))
    namespace.reset_configuration()
    assert floatx() == "float16"
    monkeypatch.setenv("NBM_XP_FLOATX", "float64")
    namespace.reset_configuration()
    assert floatx() == "float64"
    set_floatx("float32")
    assert floatx() == "float32"


def test_nothing_is_read_twice_nor_written(home: Path) -> None:
    assert floatx() == "float32"
    home.write_text(json.dumps({"floatx": "float16"}))
    assert floatx() == "float32"
    set_floatx("float64")
    assert json.loads(home.read_text()) == {"floatx": "float16"}


def test_save(home: Path, tmp_path: Path) -> None:
    set_floatx("float64")
    namespace.set_epsilon(1e-3)
    assert namespace.save_configuration() == home
    namespace.reset_configuration()
    assert floatx() == "float64"
    assert configuration()["epsilon"] == (1e-3, str(home))
    elsewhere = namespace.save_configuration(tmp_path / "new" / "file.json")
    assert json.loads(elsewhere.read_text()) == json.loads(home.read_text())
    assert [file.name for file in elsewhere.parent.iterdir()] == ["file.json"]


def test_without_a_home_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    def lost() -> Path:
        raise RuntimeError("no home")

    monkeypatch.setattr(Path, "home", lost)
    assert floatx() == "float32"
    with pytest.raises(OSError, match="give a path"):
        namespace.save_configuration()


@pytest.mark.skipif("array_api_strict" not in namespace.installed_libraries(), reason="array_api_strict is missing")
def test_use_backend_nests_and_wins() -> None:
    set_backend("numpy")
    with namespace.use_backend("array_api_strict") as xp:
        assert xp is namespace.get_namespace("array_api_strict")
        assert backend() == "array_api_strict"
        assert configuration()["backend"] == ("array_api_strict", "use_backend")
        with namespace.use_backend("cpu"):
            assert backend() == "numpy"
            set_backend("array_api_strict")
            assert backend() == "numpy"
        assert backend() == "array_api_strict"
    assert backend() == "array_api_strict"
    set_backend("numpy")
    with pytest.raises(RuntimeError, match="inside"), namespace.use_backend("array_api_strict"):
        raise RuntimeError("inside")
    assert backend() == "numpy"
    with pytest.raises(ValueError, match="library must be one of"), namespace.use_backend("abacus"):
        pass


def test_use_backend_belongs_to_a_task() -> None:
    import asyncio

    if "array_api_strict" not in namespace.installed_libraries():
        pytest.skip("array_api_strict is not installed")

    async def name_in(library: str) -> str:
        with namespace.use_backend(library) as xp:
            await asyncio.sleep(0.001)
            assert namespace.library_name(xp) == library
            return backend()

    async def both() -> list[str]:
        return list(await asyncio.gather(name_in("array_api_strict"), name_in("numpy")))

    assert asyncio.run(both()) == ["array_api_strict", "numpy"]

"""Old programs see modules as they were; nobody else does. The packages here are written by the tests."""

import collections
import collections.abc
import importlib
import importlib.util
import inspect
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nbm_xp import natural_bm
from nbm_xp.compatibility import attend, importing
from nbm_xp.compatibility.views import ArgSpec, view

ROOT = Path(__file__).parents[2]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Writes modules of a package, and imports one of them as an old one's."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "bygone").mkdir()
    (tmp_path / "bygone" / "__init__.py").write_text("")

    def written(**modules: str) -> list[Any]:
        for name, text in modules.items():
            (tmp_path / "bygone" / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
        attend("bygone")
        return [importlib.import_module(f"bygone.{name}") for name in modules]

    yield written
    importing._ATTENDANT.packages.pop("bygone", None)
    for name in [name for name in sys.modules if name.partition(".")[0] == "bygone"]:
        del sys.modules[name]


def test_only_the_package_sees_what_was(package: Any) -> None:
    (old,) = package(
        old="""
        import collections, inspect
        import numpy as np, os.path as paths
        from collections import Iterable, OrderedDict, deque
        from numpy import float as number

        def kinds():
            return isinstance([], Iterable), isinstance([], collections.Mapping), number, np.object, np.Inf, np.NaN

        def asked(function):
            return inspect.getargspec(function)
        """
    )
    assert old.kinds()[:4] == (True, False, float, object)
    assert old.np.Inf == np.inf and old.np.NaN != old.np.NaN
    assert old.OrderedDict is collections.OrderedDict and old.np.ndarray is np.ndarray and old.paths is not None
    assert old.np.random is np.random and old.np.__version__ == np.__version__
    spec = old.asked(lambda a, b=2, *c, **d: None)
    assert spec == ArgSpec(["a", "b"], "c", "d", (2,)) and spec.keywords == "d"
    with pytest.raises(ValueError, match="knows no keyword-only arguments"):
        old.asked(lambda *, a: None)
    assert not hasattr(collections, "Iterable") and not hasattr(inspect, "getargspec") and "Inf" not in vars(np)
    assert sys.modules["numpy"] is np and sys.modules["collections"] is collections


def test_what_they_import_of_others_stays_as_it_is(package: Any, tmp_path: Path) -> None:
    (tmp_path / "of_today.py").write_text("import collections\nseen = hasattr(collections, 'Iterable')\n")
    old, other = package(
        old="import of_today, bygone.other\nfrom . import other as own\n",
        other="import collections\nseen = hasattr(collections, 'Iterable')\n",
    )
    assert (old.of_today.seen, other.seen) == (False, True)
    assert old.own is old.bygone.other is other
    assert "Iterable" in dir(view(collections)) and "_now" not in dir(view(collections))
    sys.modules.pop("of_today")


def test_a_view_answers_as_the_module_does(package: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (old,) = package(old="import numpy as np\nimport time\n")
    monkeypatch.setattr(np, "put_there_later", 5, raising=False)
    assert old.np.put_there_later == 5
    old.np.put_there_later = 6  # what an old program sets, it sets for good
    assert np.put_there_later == 6  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="numpy"):
        _ = old.np.never_there
    assert old.time.clock is time.process_time
    assert view(view(np)) is view(np) and view(textwrap) is textwrap


def test_arrays_of_rows_of_several_lengths(package: Any) -> None:
    (old,) = package(old="import numpy as np\n")
    for make in (old.np.array, old.np.asarray):
        assert make([[1, 2], [3]]).dtype == object and make([[1, 2], [3]]).tolist() == [[1, 2], [3]]
        assert make([[1, 2], [3, 4]]).dtype == np.asarray([1]).dtype
        with pytest.raises(ValueError, match="inhomogeneous"):
            make([[1, 2], [3]], dtype="float32")
    own = np.ones(3)
    assert old.np.asarray(own) is own and old.np.array(own, copy=False) is own and old.np.array(own) is not own
    assert old.np.array([1, 2], copy=False).tolist() == [1, 2]
    assert old.np.array(own, "float32", True, "C", False, 2).shape == (1, 3)


def test_arrays_of_one_element_are_numbers(package: Any) -> None:
    """In an array of what has several numbers of axes, and as the index of a list."""
    (old,) = package(old="import numpy as np\n")
    costs = old.np.array([np.ones(1), np.ones((1, 1)) * 2])
    assert costs.dtype == "float64" and costs.squeeze().tolist() == [1, 2]
    (places,) = old.np.where(np.asarray([3, 0, 4]) == 0)
    names = ["a", "b", "c"]
    names[places] = names[places].upper()
    assert names == ["a", "B", "c"] and old.np.where(np.asarray([True, False]), 1, 2).tolist() == [1, 2]
    with pytest.raises((TypeError, ValueError)):
        names[old.np.where([True, True])[0]]


def test_matches_of_nothing_split_nothing(package: Any) -> None:
    (old,) = package(old="import re\nfrom re import split\n")
    assert old.split(r"(\W+)?", "Where is she?") == ["Where", " ", "is", " ", "she", "?", ""]
    assert old.re.split("x*", "axbc") == ["a", "bc"] and old.split(",|(;)", "a,b;c", 1) == ["a", None, "b;c"]


def test_integers_between_floats_with_whole_values(package: Any) -> None:
    (old,) = package(old="import random\nfrom random import randint\n")
    old.random.seed(1)
    assert all(type(old.randint(0, 1e1)) is int and 0 <= old.random.randint(0.0, 10) <= 10 for _ in range(20))
    with pytest.raises((TypeError, ValueError, DeprecationWarning)):
        old.randint(0, 1.5)


@pytest.mark.filterwarnings("ignore:`(in1d|trapz)` is deprecated:DeprecationWarning")  # NumPy 2.1 still has them
def test_names_of_numpy_that_went(package: Any) -> None:
    (old,) = package(old="import numpy as np\n")
    x = np.asarray([[3.0, 1.0], [2.0, 0.0]])
    assert old.np.product(x) == 0 and old.np.alltrue(x) == np.False_ and old.np.rank(x) == 2
    assert old.np.asscalar(x[0, 0]) == 3.0 and old.np.asfarray([1]).dtype == "float64"
    assert old.np.msort(x).tolist() == [[2.0, 0.0], [3.0, 1.0]] and -np.inf == old.np.NINF
    assert old.np.in1d([1, 2], [2]).tolist() == [False, True] and old.np.trapz([0.0, 2.0]) == 1.0


def test_escapes_of_then_warn_nobody(package: Any) -> None:
    """Warnings are errors here: the package could not be imported."""
    (old,) = package(old="pattern = '\\d+'\nanswer = 3\nis_three = answer is 3\n")
    assert old.is_three and old.pattern == "\\d+"


def test_yaml_without_a_loader_knows_tuples_and_runs_nothing(package: Any) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    (old,) = package(old="import yaml\n")
    assert old.yaml.load(yaml.dump({"shape": (3, None)})) == {"shape": (3, None)}
    numbers = {"rate": np.float32(0.5), "rates": np.asarray([1.0, 2.0]), "none": np.asarray(3.0)}
    assert yaml.safe_load(old.yaml.dump(numbers)) == {"rate": 0.5, "rates": [1.0, 2.0], "none": 3.0}
    with pytest.raises(yaml.constructor.ConstructorError, match=r"os\.system"):
        old.yaml.load("!!python/object/apply:os.system ['false']")


def test_text_of_attributes_can_be_decoded(package: Any, tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    (old,) = package(old="import h5py\n")
    with old.h5py.File(tmp_path / "then.h5", "w") as file:
        file.attrs["release"] = b"2.0.6"
        file.attrs["names"] = [b"one", b"two"]
        group = file.create_group("layer")
        group.attrs["names"] = ["w", "b"]
        group.attrs["none"] = []
        group.attrs["count"] = 3
        group.create_dataset("w", data=np.ones((2, 3)))
    with old.h5py.File(tmp_path / "then.h5", "r") as file:
        assert file.attrs["release"].decode("utf8") == "2.0.6" == file.attrs.get("release")
        assert [name.decode("utf8") for name in file.attrs["names"]] == ["one", "two"]
        layer = file["layer"]
        assert [name.decode() for name in layer.attrs["names"]] == ["w", "b"]
        assert layer.attrs["count"] == 3 and len(layer.attrs["none"]) == 0
        assert [type(item).__name__ for item in file.values()] == ["Group"] and file.get("absent") is None
        assert layer["w"].value.shape == file["layer/w"].shape == (2, 3)
        assert isinstance(layer, h5py.Group) and isinstance(layer["w"], h5py.Dataset)
    with h5py.File(tmp_path / "then.h5", "r") as file:
        assert not hasattr(file.attrs["release"], "decode")
    with old.h5py.File("in memory", driver="core", backing_store=False) as file:
        assert file.mode == "r+" and not list(file)


def test_datasets_of_text_hold_text(package: Any) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py is not installed")
    (old,) = package(old="import h5py\n")
    text = h5py.special_dtype(vlen=str)
    record = np.dtype([("text", text), ("words", "int32"), ("parts", [("names", text, (2,))])])
    with old.h5py.File("text in memory", "w", driver="core", backing_store=False) as file:
        reviews = file.create_dataset("reviews", (2,), record)
        reviews[0] = ("naïve", 1, (["a", "b"],))
        found = reviews[0]
        assert found["text"].split() == ["naïve"] and found["text"].decode("utf8") == "naïve" and found["words"] == 1
        assert found["parts"]["names"].tolist() == ["a", "b"] and reviews["text", 0] == "naïve"
        assert file["reviews"]["text"].tolist() == reviews["text", "words"]["text"].tolist() == ["naïve", ""]
        assert file.create_dataset("title", data="one").value == "one" and reviews["words"].tolist() == [1, 0]
        raw = file.create_dataset("raw", (1,), h5py.special_dtype(vlen=bytes))
        ragged = file.create_dataset("ragged", (1,), h5py.special_dtype(vlen=np.int32))
        raw[0], ragged[0] = b"\xff", [1, 2]
        assert raw[0] == b"\xff" and ragged[0].tolist() == [1, 2]


def test_whole_floats_index_datasets(package: Any) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    (old,) = package(old="import h5py\n")
    with old.h5py.File("in memory", driver="core", backing_store=False) as file:
        markers = file.create_dataset("time/markers", (3,), "float32")
        markers[0.0] = 4  # a count of batches, which comes back as a float
        costs = file.require_dataset("costs", (6, 2), "float32")
        costs[file["time/markers"][0] + 1, :] = [7, 8]
        assert file["costs"][np.float64(5), 1.0] == 8 and costs[:, 0].tolist() == [0, 0, 0, 0, 0, 7]
        with pytest.raises(TypeError):
            costs[0.5]


def test_modules_that_moved(package: Any) -> None:
    selection = pytest.importorskip("sklearn.model_selection", reason="scikit-learn is not installed")
    (old,) = package(old="import sklearn.grid_search\nfrom sklearn.cross_validation import train_test_split as split\n")
    assert old.split is selection.train_test_split
    assert old.sklearn.grid_search.GridSearchCV is selection.GridSearchCV
    with pytest.raises(ModuleNotFoundError, match=r"sklearn.never_there"):
        package(wrong="import sklearn.never_there\n")


def test_rooms_of_scipy_that_went(package: Any) -> None:
    ndimage = pytest.importorskip("scipy.ndimage", reason="SciPy is not installed")
    (old,) = package(old="import scipy.ndimage as ndi\nimport scipy\n")
    assert old.ndi.interpolation.zoom is ndimage.zoom is old.scipy.ndimage.zoom


def test_the_loader_is_the_one_that_it_was(package: Any) -> None:
    (old,) = package(old='"""A module."""\n\n\ndef f():\n    return 1\n')
    assert inspect.getsource(old.f) == "def f():\n    return 1\n"
    spec = importlib.util.find_spec("bygone.old")
    assert spec is not None and spec.origin == old.__file__


def run(surface: str, *arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(ROOT), str(folder / "site")])
    return subprocess.run(
        [sys.executable, "-m", f"nbm_xp.{surface}", *arguments],
        cwd=folder, env={**os.environ, "PYTHONPATH": paths, **variables}, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with packages that say they are Keras and what it asks for: enough to see how a program runs."""
    for name, text in {
        "keras/__init__.py": "__version__ = '2.0.6'\nfrom . import backend, then\n",
        "keras/then.py": "from collections import Iterable\n",
        "keras/backend/__init__.py": "raise ImportError('the backend of Keras itself')\n",
        "six.py": "", "yaml.py": "",
    }.items():  # fmt: skip
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


PROGRAM = """
import sys
import numpy as np
import keras
from keras import backend as K
import beside

same = keras.then.Iterable is beside.Iterable
print(__name__, sys.argv, np.float is float, beside.Iterable.__name__, K.__name__, same)
HERE = 3
assert sys.modules["__main__"].HERE == HERE
sys.exit(5)
"""


def test_a_program_runs_as_it_is(site: Path) -> None:
    (site / "programs").mkdir()
    (site / "programs" / "old.py").write_text(PROGRAM)
    (site / "programs" / "beside.py").write_text("from collections import Iterable\n")
    done = run("keras2", "programs/old.py", "--epochs", "3", folder=site)
    assert done.stdout == "__main__ ['programs/old.py', '--epochs', '3'] True Iterable nbm_xp.keras2 True\n", (
        done.stderr
    )
    assert done.returncode == 5
    (site / "beside.py").write_text("from collections import Iterable\n")
    (site / "old.py").write_text(PROGRAM)
    done = run("keras2", "-m", "old", "-x", folder=site)
    assert done.stdout == f"__main__ ['{site / 'old.py'}', '-x'] True Iterable nbm_xp.keras2 True\n", done.stderr


def test_what_a_program_raises_is_its_own(site: Path) -> None:
    (site / "old.py").write_text("import keras\n\n\ndef wrong():\n    raise KeyError('mine')\n\n\nwrong()\n")
    done = run("keras2", "old.py", folder=site)
    assert done.returncode == 1 and done.stderr.endswith("KeyError: 'mine'\n")
    assert 'old.py", line 5, in wrong' in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "nbm_xp.keras2: a script is missing\nusage: python -m nbm_xp.keras2 script.py"),
        (["-m"], "nbm_xp.keras2: a module is missing\nusage: python -m nbm_xp.keras2 script.py"),
        (["--fast", "old.py"], "nbm_xp.keras2: a script is missing"),
        (["never.py"], "nbm_xp.keras2: there is no script 'never.py'\n"),
        (["-m", "never.there"], "nbm_xp.keras2: there is no module 'never.there'\n"),
    ],
)
def test_what_cannot_run_is_said(site: Path, arguments: list[str], said: str) -> None:
    done = run("keras2", *arguments, folder=site)
    assert done.returncode == 2 and done.stderr.startswith(said) and not done.stdout


def test_what_of_keras_is_missing_is_said(site: Path) -> None:
    (site / "old.py").write_text("import keras\n")
    done = run("keras1", "old.py", folder=site)
    assert done.returncode == 2
    assert done.stderr == ("nbm_xp.keras1: keras 2.0.6 is installed, not 1.0: pip install --no-deps keras==1.0.3\n")
    (site / "site" / "keras" / "__init__.py").write_text("raise ImportError\n")
    done = run("keras2", "old.py", folder=site)
    assert "keras of an unknown release is installed, not 2.0: pip install --no-deps keras==2.0.6" in done.stderr
    done = run("keras2", "--help", folder=site)
    assert done.returncode == 0 and "Run a program written for Keras 2.0.6" in done.stdout


def test_natural_bm_brings_the_names_of_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is done to modules of Keras is not done to others of the same place."""
    package = tmp_path / "old_machines"
    package.mkdir()
    (package / "__init__.py").write_text("from collections import Iterable\nfrom .backend import epsilon\n")
    (package / "models.py").write_text("from collections import Iterable\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    natural_bm.install_as("old_machines.backend")
    old: Any = importlib.import_module("old_machines")
    assert old.Iterable is collections.abc.Iterable and old.epsilon is natural_bm.epsilon
    assert importlib.import_module("old_machines.models").Iterable is old.Iterable
    assert not hasattr(collections, "Iterable")

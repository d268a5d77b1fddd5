"""Files and modules of other programs hold the same machines, by energies recorded there or summed state by state."""

from __future__ import annotations

import gzip
import itertools
import json
import pathlib

import numpy as np
import pytest

from nbm_xp.boltzmann import RBM
from tests.boltzmann.test_kinds import machine, states_of

RECORDED = pathlib.Path(__file__).parents[1] / "golden/rbms"
ENERGIES = json.loads((RECORDED / "energies.json").read_text())


def written_by_rbms(name: str, folder: pathlib.Path) -> pathlib.Path:
    pytest.importorskip("h5py", reason="needs h5py")
    file = folder / f"{name}.h5"
    file.write_bytes(gzip.decompress((RECORDED / f"{name}.h5.gz").read_bytes()))
    return file


@pytest.mark.parametrize("name", ENERGIES)
def test_machines_of_rbms_have_its_energies(name: str, tmp_path: pathlib.Path) -> None:
    file, wanted = written_by_rbms(name, tmp_path), ENERGIES[name]
    for update, energies in wanted["energies"].items():
        rbm = RBM.from_rbms(file, int(update), n_gibbs=3)
        np.testing.assert_allclose(rbm.free_energy(wanted["rows"]), energies, atol=2e-6)
    rbm.to_rbms(tmp_path / "again.h5")
    last, again = RBM.from_rbms(file), RBM.from_rbms(tmp_path / "again.h5", update=1)
    for ours, theirs in zip(again.state_.parameters, last.state_.parameters, strict=True):
        np.testing.assert_array_equal(ours.value, theirs.value, strict=True)
    assert (again.visible, rbm.n_gibbs) == (last.visible, 3)


def test_files_that_cannot_be_read_or_written(tmp_path: pathlib.Path) -> None:
    file = written_by_rbms("BBRBM", tmp_path)
    with pytest.raises(ValueError, match=r"update must be one of \[1, 12\], which .* holds, got 3"):
        RBM.from_rbms(file, 3)
    with pytest.raises(ValueError, match="holds no machine that can be read"):
        RBM.from_julia(file)
    with pytest.raises(ValueError, match="to_rbms is for binary or categorical visible and binary hidden units, got"):
        machine("binary", "spin").to_rbms(file)
    julia_file(file, ("Binary", np.zeros((1, 2))), ("dReLU", np.zeros((4, 2))), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="hidden_type must be a kind of units that RBM has, got 'dReLU'"):
        RBM.from_julia(file)


Layer = tuple[str, np.ndarray]


def julia_file(file: pathlib.Path, visible: Layer, hidden: Layer, weights: np.ndarray, **standard: np.ndarray) -> None:
    """A file as HDF5.jl lays it out: arrays are column-major, which HDF5 sees as the transposed ones."""
    arrays = {"visible_par": visible[1], "hidden_par": hidden[1], "weights": weights, **standard}
    texts = {"visible_type": visible[0], "hidden_type": hidden[0], "rbm_hdf5_file_format_version": "1.0.0"}
    with pytest.importorskip("h5py", reason="needs h5py").File(file, "w") as opened:
        for name, value in (texts | {name: value.T for name, value in arrays.items()}).items():
            opened[name] = value


def energies_of(layer: Layer, x: np.ndarray) -> np.ndarray:
    """The energies of Julia's units with states x, whose last axes are those of the layer."""
    theta, *more = layer[1]
    if layer[0] == "xReLU":
        ratio = 1 + np.sign(x) * more[2] / (1 + np.abs(more[2]))
        return (np.abs(more[0]) * x**2 / 2 - more[1] * np.abs(x)) / ratio - theta * x
    return np.abs(more[0]) * x**2 / 2 - theta * x if layer[0] == "Gaussian" else -theta * x


@pytest.mark.parametrize("hidden", ["Binary", "Spin", "Potts", "Gaussian", "xReLU"])
@pytest.mark.parametrize("visible", ["Binary", "Spin", "Potts", "Gaussian"])
def test_machines_of_julia_have_its_energies(visible: str, hidden: str, tmp_path: pathlib.Path) -> None:
    """Standardized or not, with layers of several axes; the states of Potts units are along the first one."""
    if {visible, hidden} <= {"Gaussian", "xReLU"}:
        pytest.skip("Z of such a machine may be infinite")
    random, shapes = np.random.default_rng(ord(visible[0])), ((3, 2), (2, 2))
    low, high = (
        (kind, random.choice([-1, 1], parts) * random.uniform(0.4, 1.5, parts))
        for kind, shape in zip((visible, hidden), shapes, strict=True)
        for parts in [({"Gaussian": 2, "xReLU": 4}.get(kind, 1), *shape)]
    )
    weights = random.normal(0, 0.5, shapes[0] + shapes[1])
    standard = {f"offset_{side}": random.normal(size=shape) for side, shape in zip("vh", shapes, strict=True)}
    standard |= {f"scale_{side}": 1 + random.random(shape) for side, shape in zip("vh", shapes, strict=True)}
    whole = np.array(list(itertools.product({"Binary": (0, 1)}.get(visible, (-1, 1)), repeat=6))).reshape(-1, 3, 2)
    if visible == "Potts":
        whole = np.swapaxes(np.eye(3)[list(itertools.product(range(3), repeat=2))], 1, 2)
    points = {"Binary": np.array([0.0, 1.0]), "Spin": np.array([-1.0, 1.0])}.get(hidden, np.arange(-40, 40, 0.01))
    for given in ({}, standard):
        julia_file(tmp_path / "rbm.h5", low, high, weights, **given)
        plain = {name: np.zeros(shapes[name[-1] == "h"]) + (name[0] == "s") for name in standard} | given
        inputs = np.tensordot((whole - plain["offset_v"]) / plain["scale_v"], weights, 2) / plain["scale_h"]
        if hidden == "Potts":
            sums = np.log(np.exp(inputs - energies_of(high, 1.0)).sum(axis=1)).sum(axis=-1)
        else:
            x = points[:, None, None, None]
            sums = np.log(np.exp(inputs * x - energies_of(high, x)).sum(axis=0)).sum(axis=(1, 2))
        wanted = energies_of(low, whole).sum(axis=(1, 2)) + (inputs * plain["offset_h"]).sum(axis=(1, 2)) - sums
        rows = whole.argmax(axis=1) if visible == "Potts" else np.swapaxes(whole, 1, 2).reshape(-1, 6)  # Julia's `vec`
        found = RBM.from_julia(tmp_path / "rbm.h5").free_energy(rows)
        error = 5e-5 if hidden == "xReLU" else 1e-9  # of a sum in place of an integral, at a kink
        np.testing.assert_allclose(found - found[0], wanted - wanted[0], atol=error)


@pytest.mark.parametrize("kinds", [("binary", "spin"), ("categorical:3", "relu"), ("spin", "gaussian")])
def test_a_module_of_pytorch_is_the_same_machine(kinds: tuple[str, str]) -> None:
    torch = pytest.importorskip("torch", reason="needs PyTorch")
    rbm, (told, _) = machine(*kinds), states_of(kinds[0], 4)
    module, rows, means = rbm.to_torch(), torch.from_numpy(told), rbm.transform(told)
    np.testing.assert_allclose(module(rows).detach(), means, rtol=1e-9)
    np.testing.assert_allclose(module.free_energy(rows).detach(), rbm.free_energy(told), rtol=1e-9)
    module.free_energy(rows).mean().backward()
    np.testing.assert_allclose(module.intercept_hidden.grad, -means.mean(axis=0), rtol=1e-7)  # of any energy model
    # Gibbs sampling keeps the distribution of the machine, and draws new states in each call.
    shares = np.exp(rbm.log_likelihood(told))
    drawn = rows[np.random.default_rng(0).choice(len(told), 4000, p=shares)]
    after, later = module.gibbs(drawn), module.gibbs(drawn)
    assert not after.requires_grad and not torch.equal(after, later)
    np.testing.assert_allclose(after.mean(dim=0), shares @ told, atol=5 * told.std() / 60)

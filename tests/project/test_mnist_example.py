"""The example on MNIST, on rows small enough for a second."""

import itertools
import pathlib

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="pictures need nbm_xp[app]")


@pytest.mark.parametrize(
    ("hidden", "seconds", "sweeps", "least"),
    [((16,), 2000.0, [2, 4, 5], -5.6), ((12, 4), 2000.0, [2, 4, 5], -4.6)],  # a deep machine begins as its first layer
)
def test_it_learns_and_draws(
    hidden: tuple[int, ...], seconds: float, sweeps: list[int], least: float, tmp_path: pathlib.Path
) -> None:
    from examples.mnist import draw, learn

    bits = np.random.default_rng(5).random((400, 4)) < 0.5
    # 16 units in fours that agree: -4 log 2 = -2.8 at best, -16 log 2 = -11.1 for units
    rows = np.repeat(bits, 4, axis=1).astype("float32")
    steps = itertools.count()
    model, found = learn(
        rows[:300],
        rows[300:],
        seconds,
        looks=2,
        hidden=hidden,
        temperatures=1000,
        said=lambda look: None,
        clock=lambda: float(next(steps)),
    )
    assert len(found) == 3
    assert [look.n_gibbs for look in found] == sweeps
    assert found[-1].test > least
    draw(model, found, tmp_path / "mnist.png")
    assert (tmp_path / "mnist.png").read_bytes().startswith(b"\x89PNG")


def test_the_program_writes_what_it_found(tmp_path: pathlib.Path) -> None:
    from examples.mnist import main

    rows = (np.random.default_rng(5).random((60, 16)) < 0.5).astype("float32")
    np.savez(tmp_path / "rows.npz", **{f"{name}.data": rows for name in ("train", "valid", "test")})
    out = tmp_path / "out"
    main(["--data", str(tmp_path / "rows.npz"), "--out", str(out), "--minutes", "0.002", "--hidden", "4"])
    assert {path.name for path in out.iterdir()} == {"model.safetensors", "curve.jsonl", "mnist.png"}

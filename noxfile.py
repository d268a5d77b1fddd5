"""Sessions for developers and the continuous integration: `nox -s tests`; `nox -l` lists all.

Every session creates its own environment from pyproject.toml, the only file that lists dependencies, so that only
Python and pip are needed. Arguments after `--` are passed to the tool: `nox -s tests -- -k scan -x`.
"""

import os
import pathlib
import re
import shutil
import tempfile
from concurrent.futures import ThreadPoolExecutor

import nox

nox.needs_version = ">=2025.2"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = ["tests", "lint"]
nox.options.error_on_missing_interpreters = False  # `pythons` uses the available ones

# Without cached bytecode, as some machines are configured, compiling modules takes half the time of the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

PYPROJECT = nox.project.load_toml("pyproject.toml")
KERAS = ["2.0.6", "1.0.3"]  # the original releases, which use the backends
BESIDE_KERAS = ("pyyaml", "six", "h5py", "scipy", "pillow")  # dependencies of Keras and of its tests
EXTRAS = "app,runs,distributed,xarray,hdf5,dimod"  # needed to test every part of the package
TORCH = "torch==2.13.0"  # pinned: its results and its wheels change from release to release
WITHOUT_CORE = ("-C", "wheel.cmake=false", "-C", "wheel.py-api=py3")  # which takes half a minute to compile
WHEN_IMPORTED = "--no-compile"  # no bytecode at installation: most installed modules are never imported
LARGEST_WHEEL = 3_000_000  # bytes
KERNEL_TESTS = [  # they call every function of the compiled core, on buffers with memory of other owners at their ends
    "tests/namespace/test_core.py",
    "tests/namespace/test_exponentials.py",
    "tests/namespace/test_ufuncs.py",
    "tests/namespace/test_convolution.py",
    "tests/rng/test_mrg31k3p.py",
    "tests/rng/test_threads.py",
    "tests/property/test_rng_bits.py",
]

# Dask's expression arrays turn float32 beside a Python number into float64: recorded answers are not compared there.
RECORDED = "tests/golden/test_surfaces.py"
# What the continuous integration asks of them: all functions, draws and plans in blocks. By night all tests are run.
ON_EXPRESSIONS = (
    *("tests/namespace", "tests/tape", "tests/rng/test_dask.py"),
    *(f"tests/property/test_{name}.py" for name in ("functions", "rng_bits", "tape_blocks", "boltzmann_layers")),
)

# One process per core, with one thread of linear algebra each: more threads would only compete for cores.
PARALLEL = ["-n", "auto", "--dist", "worksteal"]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
IN_MEMORY, ENOUGH = "/dev/shm", 4_000_000_000  # bytes; where temporary files are not waited for, if there is room


def install(session: nox.Session, *groups: str, extras: str = EXTRAS, packages: tuple[str, ...] = ()) -> None:
    """Install the project with `extras`, the dependency `groups` of pyproject.toml and further `packages`."""
    needed = nox.project.dependency_groups(PYPROJECT, *groups)
    session.install(WHEN_IMPORTED, "-e", f".[{extras}]", *needed, *packages)


def install_beside(session: nox.Session, *groups: str, extras: str = EXTRAS, packages: tuple[str, ...] = ()) -> None:
    """Install the same, on two cores: dependencies while the core is compiled."""
    project = PYPROJECT["project"]
    needed = [need for extra in extras.split(",") for need in project["optional-dependencies"][extra]]
    needed += [*project["dependencies"], *nox.project.dependency_groups(PYPROJECT, *groups), *packages]
    with ThreadPoolExecutor() as beside:
        compiled = beside.submit(session.install, WHEN_IMPORTED, "--no-deps", "-e", ".")
        session.install(WHEN_IMPORTED, *needed)
        compiled.result()


def pytest(session: nox.Session, *arguments: str, **environment: str) -> None:
    """Run the whole suite, or the tests selected after `--`."""
    session.run("pytest", *arguments, *PARALLEL, *session.posargs, env=ONE_THREAD | environment)


def run_on_expressions(session: nox.Session, *chosen: str) -> None:
    """Run the tests on Dask, all with what waits for the night or those in the `chosen` files, with its expressions."""
    environment = ONE_THREAD | {"DASK_ARRAY__QUERY_PLANNING": "True"} | ({} if chosen else {"TESTS_AT_NIGHT": "1"})
    where = chosen or ("tests", f"--ignore={RECORDED}")
    names = "dask or namespace_mixed or tiles"
    session.run("pytest", "-m", "not slow", "-k", names, *PARALLEL, *where, env=environment)


def keras_folder(session: nox.Session, keras: str) -> pathlib.Path:
    """Return where a release of Keras is installed, apart from the other."""
    return pathlib.Path(session.virtualenv.location).resolve() / f"keras-{keras}"


def install_keras(session: nox.Session, **how: bool) -> None:
    """Install each release of Keras in a folder of its own."""
    for keras in KERAS:
        if not (folder := keras_folder(session, keras)).exists():
            session.install("--no-deps", "--target", str(folder), f"keras=={keras}", **how)


def run_clients(session: nox.Session, *arguments: str) -> None:
    """Run each release of Keras on the package."""
    for keras in KERAS:
        folder = keras_folder(session, keras)
        others = " or ".join(f"keras{other[0]}" for other in KERAS if other != keras)
        pytest(session, "tests/clients", "-k", f"keras and not ({others})", *arguments, PYTHONPATH=str(folder))


def check_code(session: nox.Session, *arguments: str, **how: bool) -> None:
    """Lint the code, and check its format and its types."""
    session.run("ruff", "check", *arguments, **how)
    session.run("ruff", "format", "--check", **how)
    session.run("mypy", **how)


def build_site(session: nox.Session, **how: bool) -> None:
    """Rebuild the documentation; a warning is an error."""
    shutil.rmtree("docs/reference/modules", ignore_errors=True)  # may contain pages of removed modules
    processes = "1" if how else "auto"  # beside others one takes a twelfth less time of processors
    options = ("-W", "--keep-going", "-q", "-E", "-a", "-j", processes)
    session.run("sphinx-build", *options, "docs", "docs/_build/html", **how)


QUICK = [
    *("tests/project/test_public_names.py", "tests/namespace/test_dispatch.py", "tests/tape/test_function.py"),
    *("tests/golden/test_random_numbers.py", "tests/boltzmann/test_dbm.py", "tests/runs/test_directory.py"),
    "tests/project/test_docs.py::test_a_page_runs[README.md]",
]


@nox.session
def tests(session: nox.Session) -> None:
    """The suite on NumPy, Dask and array_api_strict, without slow tests."""
    install(session, "test")
    pytest(session, "-m", "not slow")


@nox.session
def ci(session: nox.Session) -> None:
    """The continuous integration in one environment: linters, site, Dask's expressions and Keras, then the suite.

    The suite combines `tests`, `libraries`, `cuda_text` and the daily part of `unregistered`, collected once.
    """
    groups = ("test", "unregistered", "object-stores", "cuda-text", "docs", "lint")
    install_beside(session, *groups, extras=f"{EXTRAS},jax", packages=(TORCH, *BESIDE_KERAS))
    room = os.path.isdir(IN_MEMORY) and shutil.disk_usage(IN_MEMORY).free > ENOUGH
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if room else None) as folder, ThreadPoolExecutor() as beside:
        session.env["TMPDIR"] = folder
        others = [beside.submit(each, session, silent=True) for each in (install_keras, check_code, build_site)]
        run_on_expressions(session, *ON_EXPRESSIONS)
        others[0].result()
        run_clients(session, "-m", "not slow")
        for other in others:
            other.result()
        pytest(session, "-m", "not slow")


@nox.session
def quick(session: nox.Session) -> None:
    """A check of the installation: each part of the package once, in two minutes including the installation."""
    install(session, "test")
    pytest(session, *QUICK)


@nox.session
def slow(session: nox.Session) -> None:
    """The slow tests: killed workers and schedulers, little memory, estimates from hundreds of seeds.

    Those of Azure's blobs need `azurite-blob` on the PATH (`npm install --global azurite`).
    """
    install(session, "test", "object-stores", "other-stores")
    pytest(session, "-m", "slow")


@nox.session
def everywhere(session: nox.Session) -> None:
    """Nightly: what waits by day, all chunkings of Dask, recorded cases on all libraries, then Dask's expressions."""
    install(session, "test", extras=f"{EXTRAS},jax", packages=(TORCH,))
    pytest(session, "--everywhere", "-m", "not slow")
    if not session.posargs:
        run_on_expressions(session)


@nox.session
def libraries(session: nox.Session) -> None:
    """The suite on PyTorch and JAX."""
    install(session, "test", extras=f"{EXTRAS},jax", packages=(TORCH,))
    pytest(session, "-m", "not slow", "-k", "torch or jax")


@nox.session
def unregistered(session: nox.Session) -> None:
    """All tests on unregistered array API libraries: cubed, marray, and ndonnx with its ONNX models."""
    install(session, "test", "unregistered")
    names = ("test_unregistered", "test_namespace_mixed", "test_onnx")
    pytest(session, "--everywhere", *(f"tests/property/{name}.py" for name in names), "-m", "not slow")


@nox.session
def scipy(session: nox.Session) -> None:
    """SciPy's own tests of its array API functions, on array_api_strict and on Tensors; nightly."""
    install(session, "test", packages=("scipy==1.17.*", "pooch", "marray>=0.0.12"))
    session.run("python", "-m", "tests.interop.scipy_own", *session.posargs, env=ONE_THREAD)


@nox.session
def dask_expressions(session: nox.Session) -> None:
    """The tests on Dask, with its expression arrays."""
    install(session, "test")
    run_on_expressions(session, *session.posargs)


# Tests that would show differences between CuPy and NumPy; the other tests on CuPy call the same functions.
STANDIN = [
    "tests/boltzmann/test_input.py",
    "tests/neon/test_buffers.py",
    "tests/rng/test_cuda.py",
    "tests/rng/test_generator.py",
    "tests/rng/test_errors.py",
    "tests/project/test_standin_cupy.py",
    "tests/property/test_boltzmann.py",
    "tests/property/test_boltzmann_layers.py",
    "tests/property/test_functions.py",
    "tests/property/test_rng_bits.py",
    "tests/property/test_tape_values.py",
]


@nox.session
def cupy_standin(session: nox.Session) -> None:
    """Tests on a stand-in for CuPy based on NumPy, for machines without a device; `-- tests` selects all of them."""
    install(session, "test")
    chosen = session.posargs or STANDIN
    session.run("pytest", "--standin-cupy", "-m", "not slow", "-k", "cupy", *PARALLEL, *chosen, env=ONE_THREAD)


@nox.session
def cuda(session: nox.Session) -> None:
    """The suite, the recorded results and bits on CuPy, and benchmarks, a table in cuda.md; needs a CUDA device."""
    install(session, "test", "benchmark", extras=f"{EXTRAS},cupy", packages=(TORCH,))
    session.run("python", "-c", "import cupy; print(cupy.cuda.runtime.getDeviceProperties(0)['name'].decode())")
    session.run("pytest", "-m", "not slow", "-k", "cupy", *session.posargs, env=ONE_THREAD)
    session.run("pytest", "tests/golden", "--everywhere", "-k", "cupy", *session.posargs, env=ONE_THREAD)
    chosen = [option for name in ("uniforms", "gibbs", "gradient") for option in ("--only", name)]
    session.run("python", "-m", "benchmarks", "--library", "cupy", *chosen, "--table", "cuda.md", "--json", "cuda.json")
    session.run("nbm-xp", "check-bits", "--library", "cupy", "--numbers", "1e8")


@nox.session
def cuda_text(session: nox.Session) -> None:
    """Tests of the CUDA kernels without a device: compiled for four compute capabilities, and run on the host."""
    install(session, "test", "cuda-text")
    pytest(session, "tests/namespace/test_cuda_text.py", "tests/rng/test_cuda.py", "tests/rng/test_cuda_samplers.py")


@nox.session
def clients(session: nox.Session) -> None:
    """Unmodified Keras on this package: layers, training, files, and networks compared with Theano's."""
    install(session, "test", packages=(TORCH, *BESIDE_KERAS))
    install_keras(session)
    run_clients(session)


@nox.session
def natural_bm(session: nox.Session) -> None:
    """Unmodified natural_bm on this package; the environment variable NATURAL_BM is the path of its repository."""
    install(session, "test", packages=("h5py", "pandas", "pillow", "matplotlib", "scikit-image"))
    pytest(session, "tests/clients/test_natural_bm_models.py", "tests/natural_bm/test_natural_bm.py")


@nox.session
def oldest(session: nox.Session) -> None:
    """The suite on the oldest releases of the required dependencies that pyproject.toml allows."""
    oldest_releases = [need.replace(">=", "==") for need in PYPROJECT["project"]["dependencies"]]
    install(session, "test", packages=tuple(oldest_releases))
    pytest(session, "-m", "not slow")


@nox.session(python=["3.11", "3.12", "3.13", "3.14"])
def pythons(session: nox.Session) -> None:
    """The suite of `tests` on each installed Python."""
    install(session, "test")
    pytest(session, "-m", "not slow")


@nox.session
def wheel(session: nox.Session) -> None:
    """Build the sdist and from it the wheel, check both, and run the README's first example on the wheel."""
    folder = pathlib.Path(session.create_tmp()).resolve()
    for left in folder.glob("nbm_xp-*"):
        left.unlink()
    session.install(*nox.project.dependency_groups(PYPROJECT, "wheel"))
    session.run("python", "-m", "build", "--outdir", str(folder))  # the wheel is built from the sdist
    session.run("twine", "check", "--strict", *map(str, folder.glob("nbm_xp-*")))
    (made,) = folder.glob("nbm_xp-*.whl")
    *_, python, abi, platform = made.stem.split("-")
    if (python, abi) != ("cp311", "abi3") or platform == "any":
        session.error(f"the wheel must be for cp311, abi3 and a platform: {made.name}")
    if made.stat().st_size > LARGEST_WHEEL:
        session.error(f"{made.name} has {made.stat().st_size} bytes, more than {LARGEST_WHEEL}")
    session.install("--force-reinstall", f"{made}[runs]")
    example = re.findall(r"```python\n(.*?)```", pathlib.Path("README.md").read_text("utf-8"), re.DOTALL)[0]
    judged = "from nbm_xp.namespace import core\nassert core.is_there(), core.missing()\n"
    session.chdir(folder)  # where only the wheel's package can be imported
    session.run("python", "-I", "-c", example + judged, env={"CC": "/nonexistent"})


@nox.session
def sanitize(session: nox.Session) -> None:
    """The tests of the compiled core with AddressSanitizer and UndefinedBehaviorSanitizer, by gcc or clang."""
    install(session, "test", packages=("-C", "cmake.define.NBM_SANITIZE=address,undefined"))
    reports = pathlib.Path(session.create_tmp()).resolve()
    for left in reports.glob("report*"):
        left.unlink()
    runtime = session.run("cc", "-print-file-name=libasan.so", external=True, silent=True)
    found = f"abort_on_error=1:detect_leaks=1:log_path={reports / 'report'}"
    options = {
        "LD_PRELOAD": str(runtime).strip(),
        "ASAN_OPTIONS": found,
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "LSAN_OPTIONS": "exitcode=0",  # Python and its libraries keep memory to the end; ours is searched for below
        "PYTHONMALLOC": "malloc",
    }
    session.run("pytest", *(session.posargs or KERNEL_TESTS), env=ONE_THREAD | options)
    for report in reports.glob("report*"):
        if re.search(r"namespace/core/|compiled\.abi3", text := report.read_text("utf-8", "replace")):
            session.error(text)


@nox.session
def lint(session: nox.Session) -> None:
    """Linting, formatting and type checking."""
    install(session, "lint", packages=WITHOUT_CORE)
    check_code(session, *session.posargs)


@nox.session
def coverage(session: nox.Session) -> None:
    """The suite with line coverage."""
    install(session, "test", "coverage")
    session.run("coverage", "run", "-m", "pytest", *session.posargs, env=ONE_THREAD)
    session.run("coverage", "report", "--show-missing", "--skip-covered")


@nox.session
def mutants(session: nox.Session) -> None:
    """Mutation testing: the share of small faults in the package that the tests detect; takes hours.

    `nox -s mutants -- --count 30` makes fewer; each line of mutants.jsonl names the test that detected a fault, if any.
    """
    install(session, "test")
    session.run("python", "-m", "tests.mutants", *session.posargs)


@nox.session
def statistics(session: nox.Session) -> None:
    """TestU01 on the random numbers: SmallCrush, or the battery named after `--`; see docs/random_tests.md.

    Requires a C compiler and TestU01 (on Debian: apt-get install libtestu01-0-dev, from the component non-free).
    """
    install(session, "test")
    session.run("python", "-m", "tests.testu01", *(session.posargs or ["smallcrush"]), env=ONE_THREAD)


@nox.session
def docs(session: nox.Session) -> None:
    """Build the documentation in docs/_build/html. A warning is an error; its code is run by the tests."""
    install(session, "docs")
    build_site(session)


@nox.session
def benchmarks(session: nox.Session) -> None:
    """Benchmarks of this package and comparable ones: `nox -s benchmarks -- --only gibbs`."""
    install(session, "benchmark", packages=(TORCH, "jax>=0.6", "pytensor>=3.0", "thrml>=0.1.4"))
    session.run("python", "-m", "benchmarks", *session.posargs)

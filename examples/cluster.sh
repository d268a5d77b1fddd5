#!/usr/bin/env bash
# A cluster whose processes share nothing but an object store, one of which is lost during a run: the same bytes.
#
# bash examples/cluster.sh FOLDER
#
# It takes the package with its extras app, runs and distributed, s3fs, and moto[server], an S3 server for trials.
set -euo pipefail
mkdir -p "$1" && cd "$1"

read -r store scheduler < <(python -c '
import socket
free = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
print(*(at.getsockname()[1] for at in free))')
# What finds the store, and credentials, is in the environment of each process. Workers use one thread each.
export AWS_ENDPOINT_URL=http://127.0.0.1:$store AWS_ACCESS_KEY_ID=trial AWS_SECRET_ACCESS_KEY=trial
export AWS_DEFAULT_REGION=us-east-1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

alone() { # NAME COMMAND...: start it in the background, in a folder of its own
    mkdir -p "$1/tmp"
    (cd "$1" && shift && HOME=$PWD TMPDIR=$PWD/tmp exec "$@" >log 2>&1) &
}
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT

alone store python -m moto.server -H 127.0.0.1 -p "$store"
alone scheduler python -m dask scheduler --host 127.0.0.1 --port "$scheduler" --no-dashboard
for number in 1 2 3; do
    alone "worker-$number" python -m dask worker "tcp://127.0.0.1:$scheduler" --no-dashboard \
        --nthreads 1 --memory-limit 1GiB --death-timeout 300
done
lost=$!

until python -c 'import s3fs; s3fs.S3FileSystem().mkdir("runs")' 2>/dev/null; do sleep 1; done
python -m nbm_xp train --data digits --n-components 32 --n-iter 1 --out s3://runs/model
how=(--model s3://runs/model --n-chains 512 --n-draws 400 --chunks 32 --checkpoint-every 40 --seed 7)
python -m nbm_xp sample "${how[@]}" --scheduler "tcp://127.0.0.1:$scheduler" --worker-timeout 120 --out s3://runs/draws &
run=$!
until python -c 'import s3fs; assert s3fs.S3FileSystem().find("runs/draws/checkpoints")' 2>/dev/null; do
    kill -0 $run # it has not ended with an error
done
kill -9 $lost
echo "a worker is lost"
wait $run

python -m nbm_xp sample "${how[@]}" --out draws
python - <<'END'
import pathlib, s3fs

store, folder = s3fs.S3FileSystem(), pathlib.Path("draws/samples.zarr")
there = {name.removeprefix("runs/draws/samples.zarr/"): name for name in store.find("runs/draws/samples.zarr")}
here = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
assert there.keys() == here.keys()
assert all(store.cat_file(there[name]) == path.read_bytes() for name, path in here.items())
print(len(here), "files are the same in both")
END

#!/usr/bin/env python3
"""Records what 41 short runs compute, or checks that they still compute the same, to the bit.

    tools/values.py record before.json         before a change that must not change any value
    tools/values.py check before.json          after it

All strategies and their modes, on both engines, with 3 to 9 workers. What is hashed are the parameters of every worker
at the end, not the files that hold them. Hashes are those of one machine and one torch.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPEEDS = "--compute 5ms --slow 1:2 --jitter 0.2"

# Engine, workers, strategy, further options. Where time has a say only virtual time can be repeated.
RUNS = [
    ("threads", 4, "bsp", "--model cnn"),
    ("sim", 5, "bsp:algorithm=ring,buckets=4", ""),
    ("threads", 8, "bsp:algorithm=halving_doubling,buckets=3,lanes=2", ""),
    ("threads", 6, "bsp:algorithm=leader,overlap=none", "--optimizer adam --lr 0.001"),
    ("sim", 6, "bsp:algorithm=direct", "--racks 2x3"),
    ("sim", 4, "bsp:algorithm=sharded", "--accumulate 2"),
    ("threads", 9, "ds_sync:form=paper", ""),
    ("sim", 6, "ds_sync:form=paper,schedule=rotating,cross_every=2", "--racks 2x3"),
    ("threads", 8, "ds_sync:form=paper,schedule=halves,slots=average", ""),
    ("sim", 8, "ds_sync:form=paper,schedule=random,group=4,seed=3,overlap=backward,buckets=3", ""),
    ("threads", 6, "ds_sync:form=paper,schedule=fixed,group=3", ""),
    ("threads", 4, "ds_sync:form=paper,schedule=authors,order=before", ""),
    ("sim", 9, "ds_sync:form=paper,radices=3x3,global_every=5,warmup=4,slots=reset", "--optimizer adamw --lr 0.001"),
    ("threads", 8, "sesgd:form=paper", "--model cnn"),
    ("sim", 8, "sesgd:form=paper,slots=average,overlap=backward,buckets=2", ""),
    ("threads", 9, "sesgd:form=paper,radix=3,warmup=3", ""),
    ("threads", 4, "sesgd:form=paper,payload=gradient", ""),
    ("sim", 5, "sesgd:form=paper,order=before,global_every=7", ""),
    ("threads", 7, "random_groups:group=3,seed=2", ""),
    ("sim", 6, "random_groups:group=2,slots=reset", ""),
    ("threads", 5, "local_sgd:tau=4", ""),
    ("sim", 6, "local_sgd:tau=3,inner=rack", "--racks 2x3"),
    ("threads", 9, "local_sgd:tau=2,scope=grid,slots=average", ""),
    ("threads", 4, "post_local_sgd:tau=4,warmup=10", ""),
    ("sim", 5, "slowmo:tau=6,beta=0.6", ""),
    ("threads", 4, "easgd:tau=2", ""),
    ("sim", 4, "easgd:tau=3,overlap=round", ""),
    ("threads", 6, "cocod:tau=1", ""),
    ("sim", 6, "cocod:tau=4,warmup=5", "--model cnn"),
    ("threads", 5, "overlap_local_sgd:form=paper,tau=2,beta=0.7", ""),
    ("sim", 4, "overlap_local_sgd:form=paper,tau=3,beta=0.7,cap_rescale=on", "--schedule cosine:warmup=6"),
    ("threads", 3, "diloco:tau=8", "--optimizer adamw --lr 0.001"),
    ("sim", 8, "p_reduce:form=paper,group=3", SPEEDS),
    ("sim", 6, "p_reduce:form=paper,group=2,weights=constant", SPEEDS),
    ("sim", 9, "p_reduce:form=paper,group=4,policy=stalest,filter=off", SPEEDS),
    ("sim", 6, "ad_psgd", SPEEDS),
    ("sim", 4, "asp", SPEEDS),
    ("sim", 5, "asp:delay_scaled=on,buckets=2", SPEEDS),
    ("sim", 4, "ssp:bound=2", SPEEDS),
    ("sim", 5, "eager", SPEEDS),
    ("sim", 6, "eager:mode=solo", SPEEDS),
]


def name(run):
    return " ".join(str(part) for part in run if part)


def hash_of(program, run):
    engine, workers, strategy, further = run
    with tempfile.TemporaryDirectory() as folder:
        command = [program, "train", "--engine", engine, "--workers", str(workers), "--strategy", strategy, "--steps",
                   "24", "--quiet", "--seed", "7", "--save", f"{folder}/saved", *further.split()]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            raise SystemExit(f"{name(run)}: {answer.stderr.strip()}")
        digest = hashlib.sha256()
        models = sorted(pathlib.Path(folder).glob("saved/step-*/worker-*.pt"))
        if len(models) != workers:
            raise SystemExit(f"{name(run)}: {len(models)} models of {workers} workers")
        for model in models:
            state = torch.load(model, weights_only=False)
            for key in sorted(each for each in state if each.startswith("module/")):
                digest.update(state[key].detach().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["record", "check"])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--program", default=ROOT / "build" / "huddle")
    options = parser.parse_args()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        hashes = dict(zip(map(name, RUNS), pool.map(lambda run: hash_of(options.program, run), RUNS)))
    if options.what == "record":
        options.file.write_text(json.dumps(hashes, indent=1) + "\n")
        print(f"{len(hashes)} runs recorded in {options.file}")
        return 0
    before = json.loads(options.file.read_text())
    changed = [each for each in before if hashes.get(each) != before[each]]
    for each in changed:
        print(f"computes something else now: {each}")
    print(f"{len(before) - len(changed)} of {len(before)} runs compute the same")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())

"""Who may include whom: what the rooms of the house are, and which of them see which. Checked by tools/tidy.py.

MAY_INCLUDE: folder -> (folders of Huddle, third-party headers by prefix). The standard library is free to all,
GoogleTest and system calls to all tests, the threads engine to tests above the seam. "*" stands for everything. A
folder does not speak for those inside it.
"""

SEAM = ["huddle/base", "huddle/cluster", "huddle/record", "huddle/transport"]
LOCAL = SEAM + ["huddle/transport/local"]
COLLECTIVE = SEAM + ["huddle/collective", "huddle/collective/algorithms", "huddle/collective/wire"]
STRATEGY = COLLECTIVE + ["huddle/schedule", "huddle/replica", "huddle/strategy"]
ROOMS = [
    f"huddle/strategy/{room}"
    for room in ("ad_psgd", "bsp", "ds_sync", "eager", "local_sgd", "p_reduce", "parameter_server", "random_groups",
                 "sesgd")
]
TRAIN = ["huddle/train"] + [f"huddle/train/{room}" for room in ("checkpoint", "data", "evaluation", "models")]
REPORT = ["huddle/base", "huddle/cluster", "huddle/record", "huddle/report"]
SYSTEM = ["fcntl.h", "malloc.h", "stdlib.h", "sys/", "unistd.h"]
TENSORS = ["ATen/", "c10/"]
TRAINING = TENSORS + ["torch/", "caffe2/serialize/", "fmt/", "nlohmann/"] + SYSTEM
TEXTS = ["fmt/", "nlohmann/"] + SYSTEM
MAY_INCLUDE = {
    "huddle/base": (["huddle/base"], ["fcntl.h", "sys/stat.h", "unistd.h"]),  # For files alone.
    "huddle/config": (["huddle/base", "huddle/config"], ["fmt/", "toml++/"]),
    "huddle/cluster": (["huddle/base", "huddle/config", "huddle/cluster"], ["fmt/"]),
    "huddle/schedule": (["huddle/base", "huddle/cluster", "huddle/schedule"], TENSORS),  # For eigenvalues alone.
    "huddle/record": (["huddle/base", "huddle/record"], []),
    "huddle/transport": (SEAM, TENSORS),
    "huddle/transport/local": (LOCAL, TENSORS + ["pthread.h"]),
    "huddle/transport/threads": (LOCAL + ["huddle/transport/threads"], TENSORS),
    "huddle/transport/ucx": (SEAM + ["huddle/transport/process", "huddle/transport/ucx"], ["ucp/"]),
    "huddle/transport/mpi": (SEAM + ["huddle/transport/process", "huddle/transport/mpi"], ["mpi.h"]),
    "huddle/transport/sim": (LOCAL + ["huddle/transport/sim"], TENSORS + ["simgrid/", "cxxabi.h"]),
    "huddle/transport/process": (
        LOCAL + ["huddle/transport/process"],
        TENSORS + ["torch/csrc/distributed/c10d/", "netdb.h", "poll.h", "sys/eventfd.h", "sys/socket.h", "unistd.h"],
    ),
    "huddle/collective": (COLLECTIVE, TENSORS),
    "huddle/collective/algorithms": (COLLECTIVE, TENSORS),
    "huddle/collective/wire": (COLLECTIVE, TENSORS),
    "huddle/replica": (COLLECTIVE + ["huddle/replica"], TENSORS),
    "huddle/strategy": (STRATEGY + ROOMS, TENSORS),  # Its registry knows all rooms.
    **{room: (STRATEGY + [room], TENSORS) for room in ROOMS},  # No strategy includes another's.
    **{room: (STRATEGY + TRAIN + ["huddle/transport/threads"], TRAINING) for room in TRAIN},
    "huddle/report": (REPORT, TEXTS),
    "huddle/compare": (REPORT + ["huddle/compare"], TEXTS),
    "huddle/compare/scenario": (
        REPORT + ["huddle/config", "huddle/compare", "huddle/compare/scenario"],
        TEXTS + ["poll.h", "sched.h", "signal.h"],  # It runs processes.
    ),
    "huddle/report/page": (REPORT + ["huddle/compare", "huddle/report/page"], TEXTS),
    "huddle/api": (["*"], TEXTS + ["ATen/"]),  # All but the command line, for a user's own program.
    "huddle/cli": (["*"], ["*"]),
    "huddle/cli/launch": (["*"], ["*"]),
    "huddle/cli/bench": (["*"], ["*"]),
    "huddle/cli/train": (["*"], ["*"]),
    "huddle": (["*"], TENSORS),
    "tests": (["*"], ["*"]),
    "examples": (["*"], ["*"]),
    "bench": (["*"], ["*"]),
}
TESTS_MAY_INCLUDE = ["gtest/", "gmock/"] + SYSTEM

# The files that are the algorithms themselves, to be read beside the papers.
ALGORITHM_BOXES = [
    f"huddle/strategy/{name}.cc"
    for name in ("ad_psgd/ad_psgd", "bsp/bsp", "ds_sync/ds_sync", "eager/eager", "local_sgd/boundary",
                 "local_sgd/local_steps", "p_reduce/p_reduce", "parameter_server/asp", "random_groups/random_groups",
                 "scheduled", "sesgd/sesgd", "warmup")
]

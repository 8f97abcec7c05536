"""Huddle as others use it: installed and found by find_package, and as a subdirectory of their project.

    tests/library_test.py BUILD TORCH [--whole]

BUILD is a build folder in which everything is built, TORCH what users give CMake to find torch. Without --whole the
subdirectory is configured and its smallest part compiled; with it the library is built there once more (minutes).
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
OUTSIDE = SOURCE / "tests/outside"
CLUSTER = SOURCE / "clusters/heterogeneous_lab.toml"
OTHERS = re.compile(r"#include <((?!ATen/|c10/|torch/|sys/)[^>]*/[^>]*|[^>]*\.hpp?)>")


def call(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def configure(folder, *settings):
    """Configures the project outside. Debug: it is compiled here, and quickly."""
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    return call("cmake", "-S", OUTSIDE, "-B", folder, "-DCMAKE_BUILD_TYPE=Debug", *generator, *launcher, *settings)


def check_headers(include):
    """What is installed includes only what is installed, the standard library and torch."""
    headers = sorted(include.rglob("*.h"))
    assert include / "huddle/huddle.h" in headers
    for header in headers:
        text = header.read_text()
        for name in re.findall(r'#include "([^"]*)"', text):
            assert (include / name).is_file(), f"{header} includes {name}, which is not installed"
        found = OTHERS.search(text)
        assert found is None, f"{header} includes {found[1]}, which its users may not have"


def test_installed(build, torch, work):
    prefix = work / "prefix"
    shutil.rmtree(prefix, ignore_errors=True)
    call("cmake", "--install", build, "--prefix", prefix)
    check_headers(prefix / "include")
    assert "demo" in call(prefix / "bin/huddle", "list", "scenarios")
    folder = work / "installed"
    configure(folder, f"-DCMAKE_PREFIX_PATH={prefix};{torch}")
    call("cmake", "--build", folder)
    assert "2 workers" in call(folder / "outside")
    assert "8 workers" in call(folder / "outside", CLUSTER)


def test_subdirectory(torch, work, is_whole):
    folder = work / "subdirectory"
    configure(folder, f"-DHUDDLE_SOURCE={SOURCE}", f"-DCMAKE_PREFIX_PATH={torch}")
    call("cmake", "--build", folder, "--target", "outside" if is_whole else "huddle_base")
    if is_whole:
        assert "2 workers" in call(folder / "outside")


def needs_a_cuda_compiler():
    """TorchConfig.cmake does, where torch has CUDA."""
    try:
        import torch
    except ImportError:
        return False
    return torch.version.cuda is not None and shutil.which("nvcc") is None


def main():
    if needs_a_cuda_compiler():
        print("skipped: find_package(Torch) needs a CUDA compiler for this torch")
        sys.exit(77)
    build, torch = Path(sys.argv[1]), sys.argv[2]
    is_whole = "--whole" in sys.argv[3:]
    work = build / "tests/outside"
    if not is_whole:
        test_installed(build, torch, work)
    test_subdirectory(torch, work, is_whole)


if __name__ == "__main__":
    main()

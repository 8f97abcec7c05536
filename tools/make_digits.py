"""Writes data/digits-images.idx3-ubyte and data/digits-labels.idx1-ubyte from scikit-learn's copy of the UCI digits.

    pip install scikit-learn
    python3 tools/make_digits.py [--to data]

The files are committed, so only somebody who wants to check or remake them needs this script. Pixels keep their
original values 0..16, samples their original order.
"""

import argparse
import pathlib
import struct
import sys

IMAGES_MAGIC = 0x0803  # Unsigned bytes, three dimensions.
LABELS_MAGIC = 0x0801  # Unsigned bytes, one dimension.


def main():
    parser = argparse.ArgumentParser(description="Write the UCI digits as two IDX files.")
    parser.add_argument("--to", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "data",
                        help="folder to write into (default: data)")
    folder = parser.parse_args().to
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        sys.exit("make_digits.py: scikit-learn is missing; run: pip install scikit-learn")

    digits = load_digits()
    images = digits.images.astype("uint8")
    labels = digits.target.astype("uint8")
    assert images.shape == (1797, 8, 8) and (images == digits.images).all() and images.max() == 16
    assert labels.shape == (1797,) and set(labels.tolist()) == set(range(10))

    folder.mkdir(parents=True, exist_ok=True)
    for name, magic, array in (("digits-images.idx3-ubyte", IMAGES_MAGIC, images),
                               ("digits-labels.idx1-ubyte", LABELS_MAGIC, labels)):
        header = struct.pack(f">I{array.ndim}I", magic, *array.shape)
        (folder / name).write_bytes(header + array.tobytes())
        print(f"wrote {folder / name}: {' x '.join(map(str, array.shape))}")


if __name__ == "__main__":
    main()

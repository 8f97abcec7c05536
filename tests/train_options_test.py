"""The table of the options of `huddle train`: what its marks mean to users.

Run: python3 tests/train_options_test.py build/huddle
"""

import concurrent.futures
import json

import program
from program import TemporaryFolder, huddle, options_of_training


class OptionTable(TemporaryFolder):
    def test_checkpoints_keep_what_shapes_the_bits(self):
        huddle("train", "--workers", 2, "--steps", 1, "--quiet", "--save", self.folder / "saved")
        kept = set(json.loads((self.folder / "saved" / "checkpoint.json").read_text())["settings"])
        self.assertEqual(kept, {"--strategy", "--workers", "--model", "--data", "--split", "--holdout", "--batch",
                                "--accumulate", "--optimizer", "--lr", "--momentum", "--nesterov", "--weight-decay",
                                "--clip", "--schedule", "--swa-start", "--swa-every", "--seed", "--racks", "--steps"})
        self.assertLessEqual(kept, options_of_training())

    def test_options_about_values_are_refused_where_nothing_is_trained(self):
        values = {"--data": "digits", "--model": "mlp", "--split": "iid", "--schedule": "constant", "--holdout": "0.1",
                  "--keep-going": None, "--nesterov": None}

        def is_refused(option):
            word = [values.get(option, "1")] if values.get(option, "1") else []
            answer = huddle("train", "--timing-only", option, *word)
            return f"{option} would do nothing: --timing-only trains nothing" in answer.stderr

        options = sorted(options_of_training() - {"--timing-only"})
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            refused = {option for option, refuses in zip(options, pool.map(is_refused, options)) if refuses}
        self.assertEqual(refused, {"--data", "--data-dir", "--model", "--split", "--holdout", "--epochs", "--save",
                                   "--save-every", "--swa-start", "--swa-every", "--evaluate-every", "--accumulate",
                                   "--batch", "--schedule", "--keep-going", "--lr", "--weight-decay", "--nesterov"})


if __name__ == "__main__":
    program.main()

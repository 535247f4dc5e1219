"""What of the peers can be tested without them: what is said of those that are absent, and what is made of answers."""

import ast
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import children
import peer_kernel_tuner
import peer_ktt
import peer_nvcc
import peer_triton
import regtune_runs

HERE = Path(__file__).resolve().parent


class DryRun(unittest.TestCase):
    def run_peers(self, *arguments):
        return subprocess.run([sys.executable, "-B", str(HERE.parent), *arguments], capture_output=True, text=True,
                              check=False, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})

    def test_skips_every_peer_with_a_line_and_ends_well(self):
        with tempfile.TemporaryDirectory() as folder:
            done = self.run_peers("--dry-run", "--out", folder + "/out", "--regtune", folder + "/regtune")
            self.assertEqual(done.returncode, 0, done.stderr)
            for peer in ("regtune", peer_kernel_tuner.NAME, "plain script", peer_nvcc.NAME, peer_triton.NAME,
                         peer_ktt.NAME):
                self.assertIn(f"skipped: {peer}: ", done.stdout)
            self.assertIn("would run: brute, heavy", done.stdout)
            self.assertFalse(Path(folder, "out").exists())

    def test_an_unknown_part_is_refused(self):
        done = self.run_peers("--parts", "brute,speed")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no part is called speed", done.stderr)


class KernelTuner(unittest.TestCase):
    def test_failed_configurations_count_as_settled_and_never_win(self):
        results = [{"REGISTER_CAP": 0, "time": 2.0, "times": [2.0] * 7},
                   {"REGISTER_CAP": 24, "time": "RuntimeFailedConfig", "__error__": "RuntimeFailedConfig"},
                   {"REGISTER_CAP": 32, "time": 1.0, "times": [1.0] * 7}]
        run = peer_kernel_tuner.summarised(results, 5.0, {"seed": 3})
        self.assertEqual((run["settled"], run["valid"], run["best"], run["best_ms"]), (3, 2, 32, 1.0))
        self.assertAlmostEqual(run["gpu_s"], (8 * 2.0 + 8 * 1.0) / 1000)
        self.assertNotIn("failed", run)

    def test_only_a_strategy_that_knows_a_time_limit_is_given_one(self):
        self.assertEqual(peer_kernel_tuner.strategy_options({"seconds": 2.5, "strategy": "bayes_opt"}, 233),
                         {"time_limit": 2.5, "max_fevals": 233})
        self.assertEqual(peer_kernel_tuner.strategy_options({"seconds": 2.5, "strategy": None}, 233), {})
        self.assertEqual(peer_kernel_tuner.strategy_options({"strategy": "bayes_opt"}, 233), {})

    def test_nothing_timed_is_a_failure(self):
        self.assertEqual(peer_kernel_tuner.summarised([], 5.0, {})["failed"], "no configuration was timed")


class Triton(unittest.TestCase):
    def test_the_module_is_python_with_a_configuration_for_each_cap(self):
        text = peer_triton.source_text([0, 24, 255])
        ast.parse(text)
        self.assertEqual(text.count("triton.Config("), 3)
        self.assertEqual(text.count("maxnreg="), 2)
        self.assertEqual(text.count("flow = lost"), peer_triton.TERMS)


class Nvcc(unittest.TestCase):
    def test_compiles_one_cap(self):
        if peer_nvcc.missing():
            self.skipTest(peer_nvcc.missing())
        from cubins import kernels, registers
        from settings import REPOSITORY

        with tempfile.TemporaryDirectory() as folder:
            file = peer_nvcc.compile_one(REPOSITORY / "kernels" / "nbody.cu", "sm_90", 32, folder)
            code = file.read_bytes()
            self.assertLessEqual(registers(code, kernels(code)[0]), 32)


class Ktt(unittest.TestCase):
    def test_a_file_that_does_not_compile_is_named_with_its_error(self):
        with tempfile.TemporaryDirectory() as folder:
            if not peer_ktt.missing(folder).startswith("not there"):
                self.fail("an empty folder is no checkout")
            source = Path(folder, "Source")
            source.mkdir()
            (source / "Tuner.cpp").write_text("int main() { return none; }\n")
            if peer_ktt.missing(folder):
                self.skipTest(peer_ktt.missing(folder))
            self.assertIn("(1 of 1 files fail): Source/Tuner.cpp:1", peer_ktt.why_not(folder, 1))


class Children(unittest.TestCase):
    def test_a_command_ends_at_its_limit_with_all_that_it_started(self):
        with tempfile.TemporaryDirectory() as folder:
            code, wall_s = children.run_command(["sh", "-c", "sleep 60 & sleep 60"], 0.2, folder + "/log")
            self.assertIsNone(code)
            self.assertLess(wall_s, 30)

    def test_start_up_is_all_that_is_not_of_a_run(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "answer.json")
            file.write_text(json.dumps({"at_s": 9.0, "runs": [{"tuning_s": 3.0}, {"tuning_s": 4.0}]}))
            self.assertEqual(children._startup_s(file, wall_s=10.0), 3.0)
            self.assertEqual(children._startup_s(file), 2.0)  # it was cut off: what it wrote last counts

    def test_a_peer_that_fails_gives_its_last_words(self):
        with tempfile.TemporaryDirectory() as folder:
            answer = children.run_peer("no_such_peer", {}, folder, 30)
            self.assertIn("exit code 2", answer["failed"])
            self.assertIn("no_such_peer", answer["failed"])


class Regtune(unittest.TestCase):
    def test_the_best_under_another_name_is_left_out_where_asked(self):
        record = {"verdict": {"best": 1, "best_renamed": 2},
                  "trials": [{"budget": "author's code"}, {"budget": "cap 60"}, {"budget": "renamed"}]}
        self.assertEqual(regtune_runs.best_trial(record)["budget"], "renamed")
        self.assertEqual(regtune_runs.best_trial(record, renamed=False)["budget"], "cap 60")

    def test_compiler_options_stand_last(self):
        given = regtune_runs.command("regtune", "k.cu", Path("out"), ["--set", "n=4"], "k.toml", 2, ["-ftz=true"])
        self.assertEqual(given[-2:], ["--", "-ftz=true"])


if __name__ == "__main__":
    unittest.main()

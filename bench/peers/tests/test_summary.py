"""The page and its tables, from a small file of made-up results (data/made_up.jsonl)."""

import math
import tempfile
import unittest
import xml.dom.minidom
from pathlib import Path

import summary
import tables
from results import Results, read_results
from svg_plot import draw

DATA = Path(__file__).resolve().parent / "data" / "made_up.jsonl"


def row_of(table, first):
    """The cells of the row that begins so."""
    line = next(line for line in table.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


class Tables(unittest.TestCase):
    def setUp(self):
        self.rows = read_results(DATA)

    def test_a_last_line_that_was_cut_off_is_left_out(self):
        self.assertEqual(self.rows[-1]["kind"], "part")

    def test_wall_times_are_set_over_regtunes(self):
        table = tables.sweep_table(self.rows, "brute", "decay_wide")
        self.assertEqual(row_of(table, "regtune"),
                         ["regtune", "2", "495", "2.00 s", "1.0 x", "0.50 s", "0.70 s", "__launch_bounds__(256)",
                          "1.56 ms", "-6.32 %", "2 of 2"])
        self.assertEqual(row_of(table, "Kernel Tuner, brute force"),
                         ["Kernel Tuner, brute force", "1", "233", "30.0 s", "15.0 x", "3.00 s", "4.00 s",
                          "--maxrregcount=63", "1.67 ms", "+0.00 %", "1 of 1"])

    def test_an_extrapolated_time_says_so(self):
        row = row_of(tables.sweep_table(self.rows, "heavy", "block_sort"), "Kernel Tuner, brute force of 24")
        self.assertEqual(row[3:5], ["470 s (extrapolated: 52.0 s for 24)", "58.8 x"])

    def test_without_a_judgement_no_time_is_claimed(self):
        row = row_of(tables.sweep_table(self.rows, "heavy", "block_sort"), "regtune")
        self.assertEqual(row[-3:], ["", "", ""])
        self.assertTrue(tables.referee_line(self.rows, "heavy", "block_sort").startswith("No judgement"))

    def test_a_run_that_was_stopped_is_told_and_not_counted(self):
        stopped = dict(next(row for row in tables.of_kind(self.rows, "run", part="heavy") if row["peer"] == "regtune"),
                       run=9, wall_s=0.1, failed="stopped after 5 s")
        before = row_of(tables.sweep_table(self.rows, "heavy", "block_sort"), "regtune")
        rows = [*self.rows, stopped]
        self.assertEqual(row_of(tables.sweep_table(rows, "heavy", "block_sort"), "regtune"), before)
        self.assertEqual(tables.runs_left_out(rows), ["block_sort: run 9 of regtune: stopped after 5 s"])

    def test_a_peer_that_found_better_is_named(self):
        lines = tables.better_peers(self.rows)
        self.assertEqual(len(lines), 1)
        self.assertIn("nbody (strategies): Kernel Tuner, Bayesian, 1 of 1 runs: 0.8500", lines[0])

    def test_losses_are_stated_and_the_mean_is_of_all(self):
        text = tables.public_sums(self.rows)
        self.assertIn("over 3 kernels: 1.000 x", text)  # 1.25, 0.8 and 1
        self.assertIn("Slower than the author's code: floyd_warshall (0.800 x).", text)
        self.assertIn("Of 2 budgets set by hand, 1 are no longer the best on this GPU: sgemm_warptile.", text)

    def test_the_mean_over_all_kernels_has_those_of_the_repository(self):
        text = tables.all_sums(self.rows)
        gains = [1 / 0.89, 1 / 0.87, 1.25, 0.8, 1]
        self.assertIn(f"over all 5 kernels, those of `kernels/` among them: {math.prod(gains) ** 0.2:.3f} x", text)
        self.assertIn("Slower than the author's code: floyd_warshall (0.8000 x).", text)
        self.assertIn("nbody 1.149, decay_wide 1.124", text)
        self.assertEqual(tables.all_sums([]), "No kernel was judged.")

    def test_what_another_run_made_up_for_was_not_left_out(self):
        self.assertTrue(tables.was_run(self.rows, "strategies", "nbody"))
        self.assertFalse(tables.was_run(self.rows, "strategies", "decay_indexed"))
        self.assertTrue(tables.was_run(self.rows, "public", "floyd_warshall"))
        self.assertFalse(tables.was_run(self.rows, "look_up", None))

    def test_an_answer_that_is_the_authors_code_neither_gains_nor_loses(self):
        row = {"same_code": True, "ratios": {"winner": {"low": 1.0, "ratio": 1.001, "high": 1.002}}}
        self.assertEqual(tables.public_speedup(row), (1.0, None))

    def test_a_kernel_that_failed_has_its_reason_and_no_figure(self):
        row = row_of(tables.public_table(self.rows), "smallpt")
        self.assertEqual(row[3:], ["exit code 3: made up", "", "", ""])

    def test_points_that_failed_are_not_drawn(self):
        self.assertEqual(tables.scaling_series(self.rows, "jobs"), [("regtune", [(1, 8.0), (16, 2.0)])])


class Page(unittest.TestCase):
    def test_is_made_of_the_results_alone(self):
        with tempfile.TemporaryDirectory() as folder:
            page, plots = Path(folder) / "docs" / "benchmarks.md", Path(folder) / "docs" / "images"
            self.assertEqual(summary.main([str(DATA), "--page", str(page), "--plots", str(plots)]), 0)
            text = page.read_text()
            self.assertIn("python3 bench/peers --out results", text)
            self.assertIn("made-up GPU (132 SMs), 16 cores (made-up processor), 2026-01-02", text)
            self.assertIn("![compilers side by side](images/scaling_jobs.svg)", text)
            self.assertIn("- KTT: not there: made up", text)
            self.assertIn("- decay_indexed: left out of strategies: the time was up", text)
            self.assertNotIn("others", text)  # a part that was not run has no section
            xml.dom.minidom.parse(str(plots / "scaling_jobs.svg"))

    def test_what_the_preflight_found_is_no_result(self):
        judged = [{"kind": "judgement", "part": "preflight", "case": "k", "winners": [
            {"peer": "regtune", "variant": "", "run": 1, "ratio": 1.0},
            {"peer": "Kernel Tuner", "variant": "", "run": 1, "ratio": 0.5}]}]
        run = {"kind": "run", "part": "strategies", "case": "k", "peer": "regtune", "variant": "", "run": 1}
        self.assertNotIn("0.5000", summary.page([run, *judged], Path("."), "."))

    def test_of_nothing_is_an_empty_page(self):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "benchmarks.md"
            summary.write([], page, folder)
            self.assertNotIn("|", page.read_text())


class Files(unittest.TestCase):
    def test_each_row_is_on_disk_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "new" / "results.jsonl"
            results = Results(file)
            results.add("run", peer="a")
            self.assertEqual(read_results(file)[0]["peer"], "a")
            results.add("run", peer="b")
            self.assertEqual([row["peer"] for row in read_results(file)], ["a", "b"])


class Plot(unittest.TestCase):
    def test_one_point_can_be_drawn(self):
        self.assertIn("<circle", draw("t", "x", "y", [("only", [(4, 2.0)])]))

    def test_text_is_escaped(self):
        xml.dom.minidom.parseString(draw("a < b & c", "x", "y", [("<i>", [(1, 1), (10, 100)])]))

    def test_nothing_to_draw_is_refused(self):
        with self.assertRaises(ValueError):
            draw("t", "x", "y", [])


if __name__ == "__main__":
    unittest.main()

"""The arithmetic of the tables."""

import unittest

from arithmetic import (extrapolate, geometric_mean, geometric_spread, median_interval, paired_ratios, spread_caps,
                        within)


class Extrapolation(unittest.TestCase):
    def test_start_up_is_paid_once(self):
        self.assertAlmostEqual(extrapolate(startup_s=4, measured_s=48, measured=24, wanted=233), 4 + 2 * 233)

    def test_all_of_them_is_the_measured_time(self):
        self.assertAlmostEqual(extrapolate(4, 30, 233, 233), 34)

    def test_nothing_measured_is_refused(self):
        with self.assertRaises(ValueError):
            extrapolate(4, 30, 0, 233)


class SpreadCaps(unittest.TestCase):
    def test_holds_the_authors_code_and_both_ends(self):
        caps = spread_caps(24)
        self.assertEqual(len(caps), 24)
        self.assertEqual((caps[0], caps[1], caps[-1]), (0, 24, 255))
        self.assertEqual(caps, sorted(set(caps)))

    def test_more_than_there_are_is_all_of_them(self):
        self.assertEqual(spread_caps(1000), [0, *range(24, 256)])

    def test_one_is_the_authors_code(self):
        self.assertEqual(spread_caps(1), [0])


class GeometricMean(unittest.TestCase):
    def test_a_gain_and_its_inverse_cancel(self):
        self.assertAlmostEqual(geometric_mean([1.25, 0.8]), 1)

    def test_spread_is_a_factor(self):
        self.assertAlmostEqual(geometric_spread([1.1, 1.1, 1.1]), 1)
        self.assertGreater(geometric_spread([1, 1.5]), 1.2)

    def test_a_negative_value_is_refused(self):
        with self.assertRaises(ValueError):
            geometric_mean([1, -1])


class Pairs(unittest.TestCase):
    def test_rounds_that_one_lacks_are_left_out(self):
        self.assertEqual(paired_ratios({1: 2.0, 2: 3.0, 3: 9.0}, {1: 1.0, 2: 1.0}), [2.0, 3.0])

    def test_within_is_of_the_best(self):
        self.assertTrue(within(0.9044, 0.9))
        self.assertFalse(within(0.9046, 0.9))


class MedianInterval(unittest.TestCase):
    def test_of_a_hundred_values_leaves_out_the_tails(self):
        # Binomial(100, 1/2): 36 values or fewer lie below the median with a chance of 0.33 %, 37 with 0.6 %.
        self.assertEqual(median_interval(range(1, 101)), (37, 50.5, 64))

    def test_few_values_give_all_that_was_seen(self):
        self.assertEqual(median_interval([3, 1, 2]), (1, 2, 3))

    def test_no_values_are_refused(self):
        with self.assertRaises(ValueError):
            median_interval([])


if __name__ == "__main__":
    unittest.main()

"""Launch descriptions of the kernels that are compared."""

import unittest

from cases import public_cases
from launches import Unsupported, parameter_types, read_launch
from settings import REPOSITORY


class ParameterTypes(unittest.TestCase):
    def test_of_a_plain_kernel(self):
        self.assertEqual(parameter_types("saxpy(unsigned long, float, const float*, float*)"),
                         ["unsigned long", "float", "const float*", "float*"])

    def test_of_a_template_whose_arguments_hold_commas(self):
        self.assertEqual(parameter_types("void k<1, pair<int, int>>(pair<int, float>, int)"),
                         ["pair<int, float>", "int"])

    def test_of_none(self):
        self.assertEqual(parameter_types("k()"), [])


class Launches(unittest.TestCase):
    def read(self, name, signature, **more):
        return read_launch(name, REPOSITORY / "kernels" / f"{name}.cu", "mangled", signature, **more)

    def test_two_dimensional_block_and_grid(self):
        launch = self.read("matmul_tiled", "matmulTiled(const float*, const float*, float*, int, int, int)")
        self.assertEqual((launch.block, launch.grid), ((16, 16, 1), (64, 64, 1)))
        self.assertEqual([argument.count for argument in launch.arguments[:3]], [1024 * 1024] * 3)
        self.assertEqual([argument.is_written for argument in launch.arguments], [False, False, True] + [False] * 3)

    def test_sizes_replace_those_of_the_description(self):
        launch = self.read("decay_indexed", "decayIndexed(const float*, float*, unsigned long)", sizes={"n": 1024})
        self.assertEqual((launch.grid, launch.arguments[0].count, launch.arguments[2].value), ((4, 1, 1), 1024, 1024))

    def test_another_number_of_parameters_is_refused(self):
        with self.assertRaisesRegex(Unsupported, "3 of 2"):
            self.read("decay_wide", "decayWide(const float*, float*)")

    def test_public_kernels_are_named_with_where_they_come_from(self):
        found, absent = public_cases(None)
        self.assertEqual(found, [])
        self.assertGreaterEqual(len(absent), 10)
        self.assertTrue(all("fetch_public.sh" in line for line in absent))

    def test_at_least_four_public_kernels_have_a_budget_that_was_set_by_hand(self):
        from cases import HAND_SET, PUBLIC_ORDER

        self.assertGreaterEqual(len(set(HAND_SET) & set(PUBLIC_ORDER)), 4)


if __name__ == "__main__":
    unittest.main()

"""The expressions of launch descriptions."""

import unittest

from expressions import BadExpression, evaluate, evaluate_list


class Expressions(unittest.TestCase):
    def test_numbers_and_names(self):
        self.assertEqual(evaluate("2 * n + 1", {"n": 4}), 9)
        self.assertEqual(evaluate(7, {}), 7)
        self.assertEqual(evaluate("1 << 24", {}), 16777216)

    def test_a_power_is_spelt_as_in_lua(self):
        self.assertEqual(evaluate("2 ^ 5", {}), 32)

    def test_division_rounds_only_where_asked(self):
        self.assertEqual(evaluate("7 // 2", {}), 3)
        self.assertEqual(evaluate("ceil_div(7, 2)", {}), 4)
        self.assertAlmostEqual(evaluate("1 / (1.45 * 1.45)", {}), 0.47562425)

    def test_an_unknown_name_is_named(self):
        with self.assertRaisesRegex(BadExpression, "'m'"):
            evaluate("n * m", {"n": 1})

    def test_what_is_no_arithmetic_is_refused(self):
        for text in ("__import__('os')", "n.real", "[1]", "lambda: 1", "1 +"):
            with self.assertRaises(BadExpression, msg=text):
                evaluate(text, {"n": 1})

    def test_commas_inside_parentheses_do_not_divide(self):
        self.assertEqual(evaluate_list("ceil_div(n, 128), n // 64", {"n": 1000}), [8, 15])
        self.assertEqual(evaluate_list(["n", 2], {"n": 5}), [5, 2])


if __name__ == "__main__":
    unittest.main()

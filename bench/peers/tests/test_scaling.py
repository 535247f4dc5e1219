"""What is made for the plots of cost."""

import unittest

from cases import own_case
from scaling import KERNEL, several_kernels


class SeveralKernels(unittest.TestCase):
    def test_each_has_a_name_of_its_own_and_all_share_one_description(self):
        text = several_kernels(own_case(KERNEL).source.read_text(), 3)
        self.assertEqual(text.count("/*regtune"), 1)
        self.assertNotIn("kernel =", text)
        self.assertEqual([text.count(f"decayWide{number}(") for number in range(4)], [1, 1, 1, 0])
        self.assertIn("sizes = { n = 16777216 }", text)


if __name__ == "__main__":
    unittest.main()

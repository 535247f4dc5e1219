"""Machine code files. A real one where NVRTC is there, and a made one everywhere."""

import unittest

import cubins
import nvrtc

_TEXT = "extern \"C\" __global__ void k(float* a, float b) { a[threadIdx.x] = b * a[threadIdx.x]; }"


class Cubins(unittest.TestCase):
    def test_what_is_no_elf_file_is_refused(self):
        with self.assertRaises(ValueError):
            cubins.kernels(b"no machine code")

    def test_of_nvrtc(self):
        try:
            plain = nvrtc.compile_cubin(_TEXT, ["--gpu-architecture=sm_90"])
            inert = nvrtc.compile_cubin(_TEXT, ["--gpu-architecture=sm_90", "-DUNUSED=1"])
            other = nvrtc.compile_cubin(_TEXT.replace("b *", "b +"), ["--gpu-architecture=sm_90"])
        except nvrtc.CompileError as error:
            self.skipTest(str(error).splitlines()[0])
        self.assertEqual(cubins.kernels(plain), ["k"])
        self.assertGreater(cubins.registers(plain, "k"), 3)
        self.assertEqual(cubins.code_key(plain, "k"), cubins.code_key(inert, "k"))
        self.assertNotEqual(cubins.code_key(plain, "k"), cubins.code_key(other, "k"))

    def test_a_text_that_does_not_compile_gives_the_compilers_log(self):
        try:
            nvrtc.version()
        except nvrtc.CompileError as error:
            self.skipTest(str(error))
        with self.assertRaisesRegex(nvrtc.CompileError, "undeclared"):
            nvrtc.compile_cubin("__global__ void k() { undeclared = 1; }", ["--gpu-architecture=sm_90"])


if __name__ == "__main__":
    unittest.main()

"""The module over the built library and a cache of made-up answers. REGTUNE_LIBRARY and REGTUNE_TEST_CACHE name both.

Needs no GPU and no CuPy.
"""

import contextlib
import ctypes
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import regtune
from regtune._answer import Budget, Policy, bare_name

CACHE = os.environ["REGTUNE_TEST_CACHE"]
H200 = regtune.Gpu("NVIDIA H200", 9, 0, 132)


def sgemm(**named):
    named = {"sizes": {"n": 1024, "m": 64}, "gpu": H200, "cache": CACHE, **named}
    return regtune.lookup("sgemm", **named)


class Lookup(unittest.TestCase):
    def test_an_exact_answer_says_both_budgets(self):
        answer = sgemm()
        self.assertTrue(answer)
        self.assertIs(answer.rung, regtune.Rung.EXACT)
        self.assertEqual(answer.stale, frozenset())
        self.assertIs(answer.best.policy, regtune.Policy.REGISTER_CAP)
        self.assertEqual(answer.best.registers, 57)
        self.assertIsNone(answer.bounds)
        self.assertEqual(answer.in_source.bounds, (256, 4))
        self.assertEqual(answer.best.block, (256, 1, 1))
        self.assertLess(answer.best.interval[0], answer.best.interval[1])
        self.assertEqual(answer.verdict, "improved")
        self.assertEqual(answer.signature, "sgemm(float*)")
        self.assertEqual(answer.gpu, "NVIDIA H200")
        self.assertEqual(answer.file, CACHE)

    def test_options_name_the_cap_and_define_the_bounds(self):
        self.assertEqual(sgemm().options(), ["--maxrregcount=57", "-DREGTUNE_BOUNDS_sgemm="])
        self.assertEqual(sgemm().options(in_source=True), ["-DREGTUNE_BOUNDS_sgemm=__launch_bounds__(256, 4)"])
        transpose = regtune.lookup("transpose", {"n": 4096}, "NVIDIA H200", CACHE)
        self.assertEqual(transpose.bounds, (128, 8))
        self.assertEqual(transpose.options(macro="BOUNDS"), ["-DBOUNDS=__launch_bounds__(128, 8)"])

    def test_macros_that_were_tuned_are_options_each(self):
        budget = regtune.Budget(defines="-DUNROLL=4 -DTYPE=unsigned int -DTILE=16", option="--maxrregcount=40")
        self.assertEqual(
            budget.options(), ["--maxrregcount=40", "-DUNROLL=4", "-DTYPE=unsigned int", "-DTILE=16"]
        )

    def test_what_the_body_begins_with_is_a_macro_beside_the_bounds(self):
        statement = 'asm volatile(".pragma \\"enable_smem_spilling\\";");'
        budget = Budget(policy=Policy.LAUNCH_BOUNDS, attribute="__launch_bounds__(256, 8)", statement=statement)
        answer = regtune.Answer(rung=regtune.Rung.EXACT, signature="ns::f(float*)", best=budget)
        self.assertEqual(
            answer.options(), ["-DREGTUNE_BOUNDS_f=__launch_bounds__(256, 8)", f"-DREGTUNE_BEGIN_f={statement}"]
        )

    def test_the_authors_code_needs_no_options(self):
        self.assertEqual(regtune.Answer(rung=regtune.Rung.EXACT, signature="f()").options(), [])

    def test_other_sizes_and_gpus_are_other_rungs(self):
        answer = sgemm(sizes={"n": 2048, "m": 64})
        self.assertIs(answer.rung, regtune.Rung.NEAREST_SIZES)
        self.assertEqual(answer.size_distance, 1.0)
        answer = sgemm(gpu=regtune.Gpu("NVIDIA H100 PCIe", 9, 0, 114))
        self.assertIs(answer.rung, regtune.Rung.SAME_CAPABILITY)

    def test_what_is_not_legal_is_not_given(self):
        answer = sgemm(block=1024)
        self.assertFalse(answer)
        self.assertIn("cannot be launched", answer.why)

    def test_says_in_what_an_answer_is_stale_or_refuses_it(self):
        stale = {"source_tag": "another", "compiler": "12.0", "driver": "1"}
        self.assertEqual(sgemm(**stale).stale, {"source", "compiler", "driver"})
        self.assertEqual(sgemm(compiler="13.0", driver="580.159.04").stale, frozenset())
        with regtune.Cache(CACHE, system_files=[], refuse_stale=True) as strict:
            answer = sgemm(cache=strict, **stale)
            self.assertFalse(answer)
            self.assertIn("another driver, compiler or source", answer.why)

    def test_a_miss_is_false_and_has_no_options(self):
        answer = regtune.lookup("nothing", {"n": 1}, H200, CACHE)
        self.assertFalse(answer)
        self.assertIs(answer.rung, regtune.Rung.NONE)
        self.assertEqual(answer.options(), [])
        self.assertIsNone(answer.bounds)
        self.assertIn("nothing is stored", answer.why)

    def test_mistakes_in_the_call_are_exceptions(self):
        for wrong in ({"sizes": {f"n{at}": 1 for at in range(33)}}, {"sizes": {"n": 2**63}}, {"block": (1, 2, 3, 4)},
                      {"block": 0}, {"gpu": "a\0b"}):
            with self.assertRaises(ValueError, msg=str(wrong)):
                sgemm(**wrong)
        with self.assertRaises(ValueError):
            regtune.lookup("", gpu=H200, cache=CACHE)

    def test_answers_outlive_their_cache(self):
        cache = regtune.Cache(CACHE)
        answer = sgemm(cache=cache)
        cache.close()
        cache.close()
        self.assertEqual(answer.signature, "sgemm(float*)")
        with self.assertRaises(ValueError):
            sgemm(cache=cache)

    def test_files_that_cannot_be_used_are_named(self):
        with tempfile.NamedTemporaryFile(suffix=".db") as file:
            file.write(b"no database at all, but long enough to be looked at" * 100)
            file.flush()
            with regtune.Cache(file.name, system_files=[CACHE]) as cache:
                self.assertTrue(sgemm(cache=cache))  # the file below it answers
                self.assertEqual(len(cache.problems()), 1)
                self.assertIn(file.name, cache.problems()[0])

    def test_threads_share_a_cache(self):
        found = []
        threads = [
            threading.Thread(target=lambda: found.extend(sgemm().best.registers for _ in range(200))) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [57] * 1600)

    def test_a_forked_process_opens_its_own(self):
        mine = regtune.Cache(CACHE)
        self.assertTrue(sgemm(cache=mine))
        self.assertTrue(sgemm())
        child = os.fork()
        if child == 0:
            right = False
            with contextlib.suppress(BaseException):
                right = bool(sgemm())
            with contextlib.suppress(RuntimeError):
                sgemm(cache=mine)
                right = False
            os._exit(0 if right else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue(sgemm(cache=mine))

    def test_bare_names_are_found_in_signatures(self):
        for signature, name in (
            ("sgemm(float*)", "sgemm"),
            ("void ns::sgemm<128, float>(float*)", "sgemm"),
            ("(anonymous namespace)::f(int (*)(float))", "f"),
            ("void a::b<(int)3, c::d<4> >(unsigned int, e::f<1>*)", "b"),
        ):
            self.assertEqual(bare_name(signature), name)


def nvrtc():
    for name in (os.environ.get("REGTUNE_NVRTC"), "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so"):
        with contextlib.suppress(OSError):
            if name:
                return ctypes.CDLL(name)
    return None


@unittest.skipUnless(nvrtc(), "no NVRTC on this machine")
class Compiled(unittest.TestCase):
    SOURCE = b"""#ifndef REGTUNE_BOUNDS_sgemm
#define REGTUNE_BOUNDS_sgemm __launch_bounds__(96)
#endif
extern "C" __global__ void REGTUNE_BOUNDS_sgemm sgemm(float* x) { x[threadIdx.x] += 1; }
"""

    def ptx(self, options):
        compiler, program, size = nvrtc(), ctypes.c_void_p(), ctypes.c_size_t()
        self.assertEqual(compiler.nvrtcCreateProgram(ctypes.byref(program), self.SOURCE, b"k.cu", 0, None, None), 0)
        array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        self.assertEqual(compiler.nvrtcCompileProgram(program, len(options), array), 0, options)
        compiler.nvrtcGetPTXSize(program, ctypes.byref(size))
        text = ctypes.create_string_buffer(size.value)
        compiler.nvrtcGetPTX(program, text)
        compiler.nvrtcDestroyProgram(ctypes.byref(program))
        return text.value.decode()

    def test_a_bound_reaches_the_kernel_by_its_macro(self):
        text = self.ptx(sgemm().options(in_source=True))
        self.assertIn(".maxntid 256", text)
        self.assertIn(".minnctapersm 4", text)

    def test_a_cap_takes_the_place_of_the_authors_bound(self):
        self.assertNotIn(".maxntid", self.ptx(sgemm().options()))

    def test_a_miss_leaves_the_authors_bound(self):
        self.assertIn(".maxntid 96", self.ptx(regtune.lookup("nothing", {}, H200, CACHE).options()))


class WithoutAGpuOrALibrary(unittest.TestCase):
    def python(self, code, **environment):
        ran = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True
        )
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def test_a_gpu_that_is_not_there_is_told(self):
        said = self.python(
            "import regtune\ntry: regtune.lookup('f')\nexcept regtune.NoGpu as why: print(why)", REGTUNE_CUDA="/no/libcuda"
        )
        self.assertIn("gpu=", said)

    def test_a_library_that_is_not_there_is_told(self):
        said = self.python(
            "import regtune\ntry: regtune.lookup('f', gpu='g')\nexcept regtune.LibraryNotFound as why: print(why)",
            REGTUNE_LIBRARY="/no/libregtune_db.so.0",
        )
        self.assertIn("/no/libregtune_db.so.0", said)
        self.assertIn("libregtune0", said)

    def test_versions_agree(self):
        self.assertEqual(regtune.library_version(), regtune.__version__)


if __name__ == "__main__":
    unittest.main()

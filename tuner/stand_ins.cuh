// What stands in for the host's standard headers, cut at the lines that begin with "@": the names of the headers that
// the text below them is given for. What several names share and what defines a class is guarded by a macro: a
// #pragma once is of one name only.
@ regtune/host_names.h
#pragma once
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned char u_char;
typedef long ssize_t;
typedef long off_t;
// Every function is the device's here: those that the toolkit's headers mark for the host alone are called by none.
#undef __host__
#define __host__
// __typeof__, which nvcc takes from the host's compiler.
template <class T> struct regtune_referred { typedef T type; };
template <class T> struct regtune_referred<T&> { typedef T type; };
template <class T> struct regtune_referred<T&&> { typedef T type; };
template <class T> using regtune_referred_t = typename regtune_referred<T>::type;
#define __typeof__(...) regtune_referred_t<decltype(__VA_ARGS__)>
#define __typeof(...) regtune_referred_t<decltype(__VA_ARGS__)>
// LTO-IR may call the device's runtime, and machine code may not: a helper that tells of errors compiles for both.
#ifndef __CUDACC_RDC__
static __device__ const char* cudaGetErrorString(cudaError_t) { return ""; }
static __device__ const char* cudaGetErrorName(cudaError_t) { return ""; }
static __device__ cudaError_t cudaGetLastError() { return cudaSuccess; }
static __device__ cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
#endif
namespace cuda { namespace std {} }
namespace std {
using ::size_t;
using ::ptrdiff_t;
typedef decltype(nullptr) nullptr_t;
template <class T> __device__ constexpr const T& min(const T& a, const T& b) { return b < a ? b : a; }
template <class T> __device__ constexpr const T& max(const T& a, const T& b) { return a < b ? b : a; }
}
@ stdint.h cstdint inttypes.h cinttypes sys/types.h
#pragma once
#include <cuda/std/cstdint>
typedef signed char int_fast8_t;
#ifndef SIZE_MAX
#define SIZE_MAX 18446744073709551615ULL
#endif
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t;
}
@ limits.h climits
#pragma once
#include <cuda/std/climits>
@ float.h cfloat values.h
#pragma once
#ifndef FLT_MAX
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define DBL_MANT_DIG 53
#define FLT_DIG 6
#define DBL_DIG 15
#define FLT_MIN_EXP (-125)
#define FLT_MAX_EXP 128
#define DBL_MIN_EXP (-1021)
#define DBL_MAX_EXP 1024
#define FLT_MIN 1.17549435082228750796873653722224568e-38F
#define FLT_MAX 3.40282346638528859811704183484516925e+38F
#define FLT_EPSILON 1.19209289550781250000000000000000000e-7F
#define DBL_MIN ((double)2.22507385850720138309023271733240406e-308L)
#define DBL_MAX ((double)1.79769313486231570814527423731704357e+308L)
#define DBL_EPSILON ((double)2.22044604925031308084726333618164062e-16L)
#define MAXFLOAT FLT_MAX
#endif
@ math.h cmath tgmath.h
#pragma once
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LOG10E 0.43429448190325182765
#define M_LN2 0.69314718055994530942
#define M_LN10 2.30258509299404568402
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_PI_4 0.78539816339744830962
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef HUGE_VAL
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000LL)
#define HUGE_VALF INFINITY
#endif
typedef float float_t;
typedef double double_t;
namespace std {
using ::abs; using ::labs; using ::llabs; using ::fabs; using ::sqrt; using ::cbrt; using ::hypot; using ::pow;
using ::exp; using ::exp2; using ::expm1; using ::log; using ::log2; using ::log10; using ::log1p; using ::logb;
using ::ilogb; using ::sin; using ::cos; using ::tan; using ::asin; using ::acos; using ::atan; using ::atan2;
using ::sinh; using ::cosh; using ::tanh; using ::asinh; using ::acosh; using ::atanh; using ::erf; using ::erfc;
using ::lgamma; using ::tgamma; using ::ceil; using ::floor; using ::trunc; using ::round; using ::lround;
using ::llround; using ::rint; using ::lrint; using ::llrint; using ::nearbyint; using ::fmod; using ::remainder;
using ::remquo; using ::copysign; using ::nextafter; using ::fdim; using ::fmin; using ::fmax; using ::fma;
using ::frexp; using ::ldexp; using ::modf; using ::scalbn; using ::scalbln; using ::isnan; using ::isinf;
using ::isfinite; using ::signbit;
using ::sqrtf; using ::fabsf; using ::expf; using ::logf; using ::sinf; using ::cosf; using ::powf; using ::floorf;
using ::ceilf; using ::fminf; using ::fmaxf; using ::fmaf; using ::roundf; using ::tanhf;
}
@ stdlib.h cstdlib malloc.h
#pragma once
#define EXIT_SUCCESS 0
#define EXIT_FAILURE 1
#define RAND_MAX 2147483647
namespace std { using ::abs; using ::malloc; using ::free; }
@ stdio.h cstdio
#pragma once
namespace std { using ::printf; }
@ string.h cstring strings.h memory.h
#pragma once
namespace std { using ::memcpy; using ::memset; }
@ stddef.h cstddef
#pragma once
#ifndef NULL
#define NULL 0
#endif
#ifndef offsetof
#define offsetof(type, member) __builtin_offsetof(type, member)
#endif
@ assert.h cassert
#pragma once
#ifndef assert
#define assert(...) ((void)0)
#endif
@ stdbool.h
#pragma once
@ time.h ctime sys/time.h sys/timeb.h
#pragma once
@ type_traits
#pragma once
#include <cuda/std/type_traits>
#include <cuda/std/utility>
namespace std {
using ::cuda::std::integral_constant; using ::cuda::std::bool_constant; using ::cuda::std::true_type;
using ::cuda::std::false_type; using ::cuda::std::is_same; using ::cuda::std::is_same_v; using ::cuda::std::enable_if;
using ::cuda::std::enable_if_t; using ::cuda::std::conditional; using ::cuda::std::conditional_t;
using ::cuda::std::is_integral; using ::cuda::std::is_integral_v; using ::cuda::std::is_floating_point;
using ::cuda::std::is_floating_point_v; using ::cuda::std::is_arithmetic; using ::cuda::std::is_arithmetic_v;
using ::cuda::std::is_signed; using ::cuda::std::is_signed_v; using ::cuda::std::is_unsigned;
using ::cuda::std::is_unsigned_v; using ::cuda::std::is_pointer; using ::cuda::std::is_void;
using ::cuda::std::is_const; using ::cuda::std::is_base_of; using ::cuda::std::is_convertible;
using ::cuda::std::is_convertible_v; using ::cuda::std::is_enum; using ::cuda::std::is_class;
using ::cuda::std::is_trivially_copyable; using ::cuda::std::is_trivially_copyable_v;
using ::cuda::std::remove_reference; using ::cuda::std::remove_reference_t; using ::cuda::std::remove_cv;
using ::cuda::std::remove_cv_t; using ::cuda::std::remove_const; using ::cuda::std::remove_const_t;
using ::cuda::std::remove_pointer; using ::cuda::std::remove_pointer_t; using ::cuda::std::decay;
using ::cuda::std::decay_t; using ::cuda::std::add_const; using ::cuda::std::add_pointer;
using ::cuda::std::add_lvalue_reference; using ::cuda::std::make_unsigned; using ::cuda::std::make_unsigned_t;
using ::cuda::std::make_signed; using ::cuda::std::make_signed_t; using ::cuda::std::common_type;
using ::cuda::std::common_type_t; using ::cuda::std::underlying_type; using ::cuda::std::void_t;
using ::cuda::std::declval; using ::cuda::std::alignment_of; using ::cuda::std::extent; using ::cuda::std::rank;
using ::cuda::std::is_pointer_v; using ::cuda::std::is_void_v; using ::cuda::std::is_const_v;
using ::cuda::std::is_base_of_v; using ::cuda::std::is_enum_v; using ::cuda::std::is_class_v;
using ::cuda::std::is_array_v; using ::cuda::std::is_reference; using ::cuda::std::is_reference_v;
using ::cuda::std::is_standard_layout; using ::cuda::std::is_standard_layout_v; using ::cuda::std::is_trivial;
using ::cuda::std::is_trivial_v; using ::cuda::std::is_constructible_v; using ::cuda::std::is_empty_v;
using ::cuda::std::conjunction_v; using ::cuda::std::disjunction_v; using ::cuda::std::negation_v;
using ::cuda::std::add_pointer_t; using ::cuda::std::add_const_t; using ::cuda::std::invoke_result_t;
using ::cuda::std::is_array; using ::cuda::std::negation; using ::cuda::std::conjunction;
using ::cuda::std::disjunction; using ::cuda::std::is_default_constructible; using ::cuda::std::is_constructible;
}
@ limits
#pragma once
#include <cuda/std/limits>
namespace std { using ::cuda::std::numeric_limits; }
@ regtune/std.h
#pragma once
#include <type_traits>
#include <limits>
#include <cuda/std/tuple>
#include <cuda/std/array>
#include <cuda/std/functional>
#include <cuda/std/iterator>
namespace std {
using ::cuda::std::pair; using ::cuda::std::make_pair; using ::cuda::std::swap; using ::cuda::std::exchange;
using ::cuda::std::tuple; using ::cuda::std::make_tuple; using ::cuda::std::get; using ::cuda::std::tie;
using ::cuda::std::tuple_element_t;
using ::cuda::std::array; using ::cuda::std::integer_sequence; using ::cuda::std::index_sequence;
using ::cuda::std::make_index_sequence; using ::cuda::std::index_sequence_for; using ::cuda::std::plus;
using ::cuda::std::minus; using ::cuda::std::multiplies; using ::cuda::std::divides; using ::cuda::std::less;
using ::cuda::std::greater; using ::cuda::std::equal_to; using ::cuda::std::less_equal;
using ::cuda::std::greater_equal; using ::cuda::std::begin; using ::cuda::std::end;
using ::cuda::std::iterator_traits; using ::cuda::std::random_access_iterator_tag;
template <class Character, class Traits> class basic_ostream;
template <class Character, class Traits> class basic_istream;
// A class of the project may hold or take what is declared here and in the headers below, and be the device's
// nevertheless; nothing can be done with one.
template <class T> class allocator;
template <class T> struct hash;
}
@ utility tuple array functional iterator algorithm numeric iomanip random optional variant span ranges
#pragma once
#include <regtune/std.h>
@ vector
#pragma once
#include <regtune/std.h>
namespace std { template <class T, class A = allocator<T>> class vector { void* held[3]; }; }
@ list
#pragma once
#include <regtune/std.h>
namespace std { template <class T, class A = allocator<T>> class list { void* held[3]; }; }
@ deque queue stack
#ifndef REGTUNE_STD_DEQUE
#define REGTUNE_STD_DEQUE
#include <regtune/std.h>
namespace std {
template <class T, class A = allocator<T>> class deque { void* held[10]; };
template <class T, class S = deque<T>> class queue { S held; };
template <class T, class S = deque<T>> class stack { S held; };
}
#endif
@ string iostream fstream sstream ostream istream
#ifndef REGTUNE_STD_STRING
#define REGTUNE_STD_STRING
#include <regtune/std.h>
namespace std {
template <class C> struct char_traits;
template <class C, class T = char_traits<C>, class A = allocator<C>> class basic_string { void* held[4]; };
typedef basic_string<char> string;
}
#endif
@ map unordered_map
#ifndef REGTUNE_STD_MAP
#define REGTUNE_STD_MAP
#include <regtune/std.h>
namespace std {
template <class K, class T, class C = less<K>, class A = allocator<K>> class map { void* held[6]; };
template <class K, class T, class C = less<K>, class A = allocator<K>> class multimap { void* held[6]; };
template <class K, class T, class H = hash<K>, class E = equal_to<K>, class A = allocator<K>>
class unordered_map { void* held[7]; };
}
#endif
@ set unordered_set
#ifndef REGTUNE_STD_SET
#define REGTUNE_STD_SET
#include <regtune/std.h>
namespace std {
template <class K, class C = less<K>, class A = allocator<K>> class set { void* held[6]; };
template <class K, class H = hash<K>, class E = equal_to<K>, class A = allocator<K>>
class unordered_set { void* held[7]; };
}
#endif
@ memory
#pragma once
#include <regtune/std.h>
namespace std {
template <class T> class shared_ptr { void* held[2]; };
template <class T> struct default_delete;
template <class T, class D = default_delete<T>> class unique_ptr { void* held[1]; };
}
@ complex
#pragma once
#include <cuda/std/complex>
namespace std {
using ::cuda::std::complex; using ::cuda::std::real; using ::cuda::std::imag; using ::cuda::std::conj;
using ::cuda::std::norm; using ::cuda::std::arg; using ::cuda::std::polar;
}
@ initializer_list atomic
#pragma once
@ ios iosfwd chrono thread mutex condition_variable future regex filesystem exception stdexcept system_error typeinfo typeindex locale codecvt bitset valarray new any string_view ratio scoped_allocator cctype cerrno csignal csetjmp cstdarg cwchar cwctype clocale cfenv ctype.h errno.h signal.h setjmp.h stdarg.h wchar.h locale.h fenv.h unistd.h getopt.h pthread.h omp.h fcntl.h dirent.h libgen.h sched.h poll.h sys/stat.h sys/mman.h sys/resource.h sys/wait.h sys/sysinfo.h immintrin.h x86intrin.h emmintrin.h xmmintrin.h mpi.h source_location concepts bit numbers compare coroutine execution
#pragma once
@ cub/cub.cuh
#pragma once
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_store.cuh>
#include <cub/thread/thread_load.cuh>
#include <cub/thread/thread_store.cuh>
#include <cub/thread/thread_operators.cuh>
#include <cub/util_type.cuh>

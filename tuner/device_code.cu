// Code of regtune's own that runs on the GPU: makes the initial data of buffers where they are needed, compares a
// variant's outputs with the reference's without moving them, guards the bytes around each buffer, and sums up what
// lies in a captured application's memory. Compiled by the same NVRTC as the kernel under test; only the instances that
// a plan needs are named, and so compiled.

struct half_bits {
  unsigned short bits;
};
struct bfloat_bits {
  unsigned short bits;
};

template <class T>
__device__ T from_double(double value) {
  return static_cast<T>(value);
}
template <>
__device__ half_bits from_double<half_bits>(double value) {
  half_bits result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(static_cast<float>(value)));
  return result;
}
template <>
__device__ bfloat_bits from_double<bfloat_bits>(double value) {
  const unsigned bits = __float_as_uint(static_cast<float>(value));
  return {static_cast<unsigned short>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16)};  // to nearest, ties to even
}

template <class T>
__device__ double to_double(T value) {
  return static_cast<double>(value);
}
template <>
__device__ double to_double<half_bits>(half_bits value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
template <>
__device__ double to_double<bfloat_bits>(bfloat_bits value) {
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
}

// The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): element i of a seed is a pure function of
// both, so a restarted process makes the same data.
__device__ unsigned long long mix(unsigned long long x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}
__device__ double unit(unsigned long long bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }  // [0, 1)

// The place of i in a permutation of 0 .. n - 1 that the seed names: four rounds of a Feistel network over the smallest
// even number of bits that hold n, repeated until the result is below n (cycle walking: Black and Rogaway, CT-RSA 2002).
__device__ unsigned long long permuted(unsigned long long i, unsigned long long n, unsigned long long seed) {
  int half = 1;
  while (half < 32 && (1ull << (2 * half)) < n) ++half;
  const unsigned long long mask = (1ull << half) - 1;
  do {
    unsigned long long left = i >> half;
    unsigned long long right = i & mask;
    for (int round = 0; round < 4; ++round) {
      const unsigned long long next = left ^ (mix(seed ^ mix(4 * right + round)) & mask);
      left = right;
      right = next;
    }
    i = (left << half) | right;
  } while (i >= n);
  return i;
}

// kind: BufferInit::Kind as declared in buffer_init.hpp, but for files.
template <class T>
__global__ void regtune_fill(T* out, unsigned long long count, int kind, double a, double b,
                             unsigned long long seed) {
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    double value = 0;
    if (kind == 1) value = 1;
    if (kind == 2) value = static_cast<double>(i);
    if (kind == 3) value = a + (b - a) * unit(mix(seed ^ mix(i)));
    if (kind == 4) {
      const double radius = sqrt(-2 * log(1 - unit(mix(seed ^ mix(2 * i)))));
      value = a + b * radius * cospi(2 * unit(mix(seed ^ mix(2 * i + 1))));  // Box and Muller
    }
    if (kind == 6) value = static_cast<double>(i % static_cast<unsigned long long>(a));
    if (kind == 7) {
      const unsigned long long n = static_cast<unsigned long long>(a);
      value = static_cast<double>(permuted(i % n, n, seed));
    }
    if (kind == 8) value = a + (b - a) * ((i + unit(mix(seed ^ mix(i)))) / count);
    out[i] = from_double<T>(value);
  }
}

struct Difference {
  unsigned long long differing;  // elements
  unsigned long long first;      // smallest index among them
  double value;                  // at `first`, of the variant and of the reference
  double reference;
};

template <class T>
__device__ bool same_bits(T a, T b) {
  const unsigned char* x = reinterpret_cast<const unsigned char*>(&a);
  const unsigned char* y = reinterpret_cast<const unsigned char*>(&b);
  bool same = true;
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof(T)); ++i) same = same && x[i] == y[i];
  return same;
}

// How many numbers of the type lie between two finite ones, plus one. The bits of floating-point numbers of one sign
// are in their order (IEEE 754), and both zeros are one. Types without a notion of it are never near.
__device__ unsigned long long steps(unsigned long long a, unsigned long long b, unsigned long long sign) {
  const unsigned long long x = a & (sign - 1);
  const unsigned long long y = b & (sign - 1);
  if ((a & sign) != (b & sign)) return x + y;
  return x > y ? x - y : y - x;
}
template <class T>
__device__ unsigned long long ulps_between(T, T) {
  return ~0ull;
}
template <>
__device__ unsigned long long ulps_between<half_bits>(half_bits a, half_bits b) {
  return steps(a.bits, b.bits, 1ull << 15);
}
template <>
__device__ unsigned long long ulps_between<bfloat_bits>(bfloat_bits a, bfloat_bits b) {
  return steps(a.bits, b.bits, 1ull << 15);
}
template <>
__device__ unsigned long long ulps_between<float>(float a, float b) {
  return steps(__float_as_uint(a), __float_as_uint(b), 1ull << 31);
}
template <>
__device__ unsigned long long ulps_between<double>(double a, double b) {
  return steps(static_cast<unsigned long long>(__double_as_longlong(a)),
               static_cast<unsigned long long>(__double_as_longlong(b)), 1ull << 63);
}

// As far as a value may lie from the reference's: within any of the three.
template <class T>
__device__ bool equal(T value, T reference, double absolute, double relative, unsigned long long ulps) {
  if (same_bits(value, reference)) return true;
  if (absolute == 0 && relative == 0 && ulps == 0) return false;
  const double x = to_double(value);
  const double y = to_double(reference);
  if (x != x && y != y) return true;      // both are no number
  if (!isfinite(x - y)) return false;  // one of them is infinite or no number
  return fabs(x - y) <= absolute + relative * fabs(y) || (ulps != 0 && ulps_between(value, reference) <= ulps);
}

// `result` is zeroed but for `first`, which is all ones.
template <class T>
__global__ void regtune_compare(const T* values, const T* references, unsigned long long count, double absolute,
                                double relative, unsigned long long ulps, Difference* result) {
  const unsigned long long stride = static_cast<unsigned long long>(gridDim.x) * blockDim.x;
  unsigned long long differing = 0;
  unsigned long long first = ~0ull;
  for (unsigned long long i = static_cast<unsigned long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += stride) {
    if (equal(values[i], references[i], absolute, relative, ulps)) continue;
    ++differing;
    if (i < first) first = i;
  }
  if (differing != 0) {
    atomicAdd(&result->differing, differing);
    atomicMin(&result->first, first);
  }
}

template <class T>
__global__ void regtune_show(const T* values, const T* references, Difference* result) {
  if (result->differing == 0) return;
  result->value = to_double(values[result->first]);
  result->reference = to_double(references[result->first]);
}

// The guards of a buffer: bytes before and behind it that no kernel may write. They differ by buffer and place, so
// that a loop that copies one buffer's guard over another's is seen too.
__device__ unsigned char guard_byte(unsigned long long seed, unsigned long long i) {
  return static_cast<unsigned char>(mix(seed ^ mix(i)));
}

extern "C" __global__ void regtune_guard(unsigned char* before, unsigned char* behind, unsigned long long bytes,
                                         unsigned long long seed) {
  for (unsigned long long i = threadIdx.x; i < bytes; i += blockDim.x) {
    before[i] = guard_byte(seed, i);
    behind[i] = guard_byte(seed, bytes + i);
  }
}

struct Damage {
  unsigned long long before;  // how far from the buffer the farthest changed byte lies; the nearest is 1, 0: none
  unsigned long long behind;
};

// `damage` is zeroed.
extern "C" __global__ void regtune_check_guard(const unsigned char* before, const unsigned char* behind,
                                               unsigned long long bytes, unsigned long long seed, Damage* damage) {
  for (unsigned long long i = threadIdx.x; i < bytes; i += blockDim.x) {
    if (before[i] != guard_byte(seed, i)) atomicMax(&damage->before, bytes - i);
    if (behind[i] != guard_byte(seed, bytes + i)) atomicMax(&damage->behind, i + 1);
  }
}

// A piece of a captured application's memory.
struct Chunk {
  unsigned long long address;
  unsigned long long bytes;
};

// What a word adds to its chunk's sum depends on its place, so that words that change places are seen, and sums can be
// made in any order. The factor is odd: no two places of a chunk get the same multiple.
__device__ unsigned long long summand(unsigned long long word, unsigned long long place) {
  return mix(word ^ place * 0xd1342543de82ef95ull);
}

// `sums` are zeroed. The blocks of a column of the grid share a chunk, where there are fewer chunks than the GPU holds
// blocks. A last word that is not whole is filled up with zeros.
extern "C" __global__ void regtune_checksum(const Chunk* chunks, unsigned long long count, unsigned long long* sums) {
  const unsigned long long thread = static_cast<unsigned long long>(blockIdx.y) * blockDim.x + threadIdx.x;
  const unsigned long long threads = static_cast<unsigned long long>(gridDim.y) * blockDim.x;
  for (unsigned long long c = blockIdx.x; c < count; c += gridDim.x) {
    const Chunk chunk = chunks[c];
    const unsigned long long pairs = chunk.address % 16 == 0 ? chunk.bytes / 16 : 0;
    const ulonglong2* const wide = reinterpret_cast<const ulonglong2*>(chunk.address);
    unsigned long long sum = 0;
#pragma unroll 4
    for (unsigned long long i = thread; i < pairs; i += threads) {
      const ulonglong2 pair = wide[i];
      sum += summand(pair.x, 2 * i) + summand(pair.y, 2 * i + 1);
    }
    const unsigned char* const bytes = reinterpret_cast<const unsigned char*>(chunk.address);
    for (unsigned long long i = 2 * pairs + thread; 8 * i < chunk.bytes; i += threads) {
      unsigned long long word = 0;
      for (int b = 0; b < 8 && 8 * i + b < chunk.bytes; ++b)
        word |= static_cast<unsigned long long>(bytes[8 * i + b]) << (8 * b);
      sum += summand(word, i);
    }
    for (int lanes = 16; lanes > 0; lanes /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x % 32 == 0) atomicAdd(sums + c, sum);
  }
}

// What a launch costs that does nothing.
extern "C" __global__ void regtune_nothing() {}

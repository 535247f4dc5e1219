// Verdict it should earn: 1.04x by __launch_bounds__(256, 3) on an H200. CUB sorts blocks of 4,096 ints, 16 in each of
// 256 threads. Nearly all of one compilation is the C++ front end that reads CUB's headers, so that this kernel shows
// what a sweep saves by running it once.
/*regtune
kernel = "blockSort"
sizes = { n = 16777216 }
block = 256
grid = "n // 4096"
[args]
in = { buffer = "n", init = "uniform(-2000000000, 2000000000)" }
out = { buffer = "n", output = true }
*/
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_store.cuh>

constexpr int threads = 256;  // the block must have that many
constexpr int items = 16;

// n must be a multiple of threads * items.
__global__ void blockSort(const int* in, int* out) {
  using Load = cub::BlockLoad<int, threads, items, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, threads, items>;
  using Store = cub::BlockStore<int, threads, items, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Sort::TempStorage sort;
    typename Store::TempStorage store;
  } shared;
  const long first = blockIdx.x * (long)(threads * items);
  int item[items];
  Load(shared.load).Load(in + first, item);
  __syncthreads();
  Sort(shared.sort).Sort(item);
  __syncthreads();
  Store(shared.store).Store(out + first, item);
}

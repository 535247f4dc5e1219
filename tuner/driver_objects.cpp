// Textures and tensor maps: what the driver makes of memory that a kernel then reads through a handle.
#include <cstring>
#include <vector>

#include "driver.hpp"
#include "driver_library.hpp"
#include "tensor_map.hpp"
#include "texture.hpp"

namespace regtune {
namespace {

CUarray_format format_of(ElementType type) {
  switch (type) {
    case ElementType::i8:
      return CU_AD_FORMAT_SIGNED_INT8;
    case ElementType::u8:
    case ElementType::boolean:
      return CU_AD_FORMAT_UNSIGNED_INT8;
    case ElementType::i16:
      return CU_AD_FORMAT_SIGNED_INT16;
    case ElementType::u16:
      return CU_AD_FORMAT_UNSIGNED_INT16;
    case ElementType::i32:
      return CU_AD_FORMAT_SIGNED_INT32;
    case ElementType::u32:
      return CU_AD_FORMAT_UNSIGNED_INT32;
    case ElementType::f16:
      return CU_AD_FORMAT_HALF;
    default:
      return CU_AD_FORMAT_FLOAT;
  }
}

CUDA_TEXTURE_DESC description_of(const TextureLayout& layout) {
  CUDA_TEXTURE_DESC description{};
  const TextureSampling& sampling = layout.sampling;
  for (std::size_t axis = 0; axis < sampling.address.size(); ++axis)
    description.addressMode[axis] = static_cast<CUaddress_mode>(sampling.address[axis]);
  description.filterMode =
      sampling.filter == TextureFilter::linear ? CU_TR_FILTER_MODE_LINEAR : CU_TR_FILTER_MODE_POINT;
  // Without the flag the driver gives integers of 8 and 16 bits as floats of 0 to 1.
  if (!is_floating(layout.type) && sampling.read == TextureRead::element) description.flags |= CU_TRSF_READ_AS_INTEGER;
  if (sampling.normalized_coords) description.flags |= CU_TRSF_NORMALIZED_COORDINATES;
  return description;
}

// Of the buffer, whose rows have no gaps, into an array or into rows of `pitch` bytes.
CUDA_MEMCPY2D copy_of_rows(DeviceAddress texels, std::size_t row_bytes, std::size_t rows) {
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = texels;
  copy.srcPitch = row_bytes;
  copy.WidthInBytes = row_bytes;
  copy.Height = rows;
  return copy;
}

// What cuTensorMapEncodeTiled calls the elements. It moves bits, so that signed ones go as unsigned where it has no
// signed type.
CUtensorMapDataType tensor_type(ElementType type) {
  switch (type) {
    case ElementType::i8:
    case ElementType::u8:
    case ElementType::boolean:
      return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case ElementType::i16:
    case ElementType::u16:
      return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case ElementType::u32:
      return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case ElementType::i32:
      return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case ElementType::u64:
      return CU_TENSOR_MAP_DATA_TYPE_UINT64;
    case ElementType::i64:
      return CU_TENSOR_MAP_DATA_TYPE_INT64;
    case ElementType::f16:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case ElementType::bf16:
      return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case ElementType::f64:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case ElementType::f32:
      return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

}  // namespace

CudaStatus Driver::make_texture(const TextureLayout& layout, DeviceAddress texels, std::uint64_t& texture) const {
  const DriverLibrary& cuda = *library_;
  if (!cuda.cuTexObjectCreate_call || !cuda.cuArrayCreate_call || !cuda.cuMemAllocPitch_call || !cuda.cuMemcpy2D_call)
    return {CUDA_ERROR_NOT_SUPPORTED, "the driver has no texture objects"};
  const auto width = static_cast<std::size_t>(layout.width);
  const auto rows = static_cast<std::size_t>(layout.height > 0 ? layout.height : 1);
  const auto texel_bytes = static_cast<std::size_t>(size_bytes(layout.type) * layout.lanes);
  const auto lanes = static_cast<unsigned>(layout.lanes);
  CUDA_RESOURCE_DESC resource{};
  CUDA_MEMCPY2D copy = copy_of_rows(texels, width * texel_bytes, rows);
  CUresult code = CUDA_SUCCESS;
  if (layout.sampling.memory == TextureMemory::array) {
    CUDA_ARRAY_DESCRIPTOR array{};
    array.Width = width;
    array.Height = static_cast<std::size_t>(layout.height);
    array.Format = format_of(layout.type);
    array.NumChannels = lanes;
    code = cuda.cuArrayCreate_call(&copy.dstArray, &array);
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    if (code == CUDA_SUCCESS) code = cuda.cuMemcpy2D_call(&copy);
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = copy.dstArray;
  } else if (layout.height == 0) {
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = {texels, format_of(layout.type), lanes, width * texel_bytes};
  } else {
    constexpr unsigned widest_access = 16;
    code = cuda.cuMemAllocPitch_call(&copy.dstDevice, &copy.dstPitch, width * texel_bytes, rows, widest_access);
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    if (code == CUDA_SUCCESS) code = cuda.cuMemcpy2D_call(&copy);
    resource.resType = CU_RESOURCE_TYPE_PITCH2D;
    resource.res.pitch2D = {copy.dstDevice, format_of(layout.type), lanes, width, rows, copy.dstPitch};
  }
  if (code != CUDA_SUCCESS) return cuda.status(code);
  const CUDA_TEXTURE_DESC description = description_of(layout);
  CUtexObject object = 0;
  code = cuda.cuTexObjectCreate_call(&object, &resource, &description, nullptr);
  texture = object;
  return cuda.status(code);
}

std::string Driver::why_no_tensor_maps() const {
  if (!library_->cuTensorMapEncodeTiled_call) return "tensor maps need a driver of CUDA 12, and this one is older";
  return library_->why_not_on_device(CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, "tensor maps");
}

CudaStatus Driver::encode_tensor_map(const TensorMapLayout& layout, DeviceAddress address, std::string& map) const {
  const auto as = []<class T>(const std::vector<std::int64_t>& values, T) {
    std::vector<T> result;
    for (const std::int64_t value : values) result.push_back(static_cast<T>(value));
    return result;
  };
  const std::vector<cuuint64_t> dims = as(layout.dims, cuuint64_t{});
  std::vector<cuuint64_t> strides = as(layout.strides, cuuint64_t{});
  strides.push_back(0);  // of one dimension there is none to read, and a null pointer is refused all the same
  const std::vector<cuuint32_t> box = as(layout.box, cuuint32_t{});
  const std::vector<cuuint32_t> element_strides = as(layout.element_strides, cuuint32_t{});
  CUtensorMap encoded{};
  const CUresult code = library_->cuTensorMapEncodeTiled_call(
      &encoded, tensor_type(layout.type), static_cast<cuuint32_t>(dims.size()), reinterpret_cast<void*>(address),
      dims.data(), strides.data(), box.data(), element_strides.data(),
      static_cast<CUtensorMapInterleave>(layout.mode.interleave), static_cast<CUtensorMapSwizzle>(layout.mode.swizzle),
      static_cast<CUtensorMapL2promotion>(layout.mode.l2_promotion),
      static_cast<CUtensorMapFloatOOBfill>(layout.mode.oob_fill));
  static_assert(sizeof encoded == kTensorMapBytes);
  map.assign(reinterpret_cast<const char*>(&encoded), sizeof encoded);
  return library_->status(code);
}

}  // namespace regtune

// Stands in front of smallptCUDA.cu (smallpt.toml): the temporary that is handed to radiance() becomes an object, which
// a reference may be bound to. Where radiance() is defined, its parameter keeps its type under another name.
struct Ray;
typedef Ray ObjectRay;
__device__ ObjectRay* object_of_a_ray();  // names the type, which below is pasted together
template <class Temporary>
__device__ Temporary& as_object(Temporary&& temporary) {
  return temporary;
}
#define ObjectRay(origin, direction) as_object(Ray(origin, direction))
#define radiance(ray, s1, s2) radiance(Object##ray, s1, s2)

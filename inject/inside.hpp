#pragma once
// Whether the calling thread is at regtune's own work: hooks then pass everything through, and dlsym gives the
// functions themselves.
namespace regtune {

class Inside {
 public:
  Inside() { ++depth_; }
  ~Inside() { --depth_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  static bool is_own_work() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

}  // namespace regtune

// fmt's own functions, compiled once for all files that format. Header only, which is how distributions let it be
// linked without a shared library, each of those files compiles them again: that took a quarter of the build. Made for
// fmt 9; CMakeLists.txt takes it header only where there is another.
#include <fmt/format-inl.h>

#include <locale>

namespace fmt {
inline namespace v9 {
namespace detail {

// What its header declares and leaves to its library, for the characters and numbers that we write.
template thousands_sep_result<char> thousands_sep_impl(locale_ref locale);
template char decimal_point_impl(locale_ref locale);
template void buffer<char>::append(const char* begin, const char* end);
template void vformat_to(buffer<char>& out, string_view text, basic_format_args<buffer_context<char>> arguments,
                         locale_ref locale);
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float x) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double x) noexcept;
template locale_ref::locale_ref(const std::locale& locale);
template std::locale locale_ref::get<std::locale>() const;

}  // namespace detail
}  // namespace v9
}  // namespace fmt

#pragma once
// Text as HTML and SVG take it. Whatever a record holds (names of kernels, paths, messages of compilers) may have been
// written by anybody: it goes onto a page through here and by no other way. What comes out is well-formed in XML too.
#include <string>
#include <string_view>

namespace regtune {

// For text and for quoted attributes. What is no character of XML, no UTF-8, or would turn the direction of the text
// around it, becomes U+FFFD.
std::string escape_markup(std::string_view text);

// The first `most` characters, with an ellipsis where there were more. Never cuts a character of UTF-8 in two.
std::string shortened(std::string_view text, std::size_t most);

// How many characters of UTF-8 there are; a byte that belongs to none counts as one.
std::size_t characters_of(std::string_view text);

}  // namespace regtune

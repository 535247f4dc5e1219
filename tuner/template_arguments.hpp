#pragma once
// Tuned names among the template arguments of the kernel's name: kernel = "scale<UNROLL, float>" with tune =
// {UNROLL = [1, 2, 4]}. Each value names another instance of the kernel, with a mangled name of its own. Only a name
// that neither the source nor the options define as a macro is one; a macro stays a macro, also in the kernel's name,
// where the compiler expands it. The source shows no default for a template argument: the first value of the list,
// or the extent of the first block for block_macro, is the author's.
#include <map>
#include <string>

#include "description.hpp"

namespace regtune {

// Names the kernel by the author's own values, and keeps the name as it was written in kernel_pattern. A description
// without such names comes back as it is. Throws Error(bad_description) where block_macro is a template argument and
// no block is described.
LaunchDescription with_authors_instance(LaunchDescription description, const std::string& text);

// "scale<UNROLL, float>" with {UNROLL: 4} -> "scale<4, float>". Names before the first '<' stay.
std::string instance_name(const std::string& pattern, const std::map<std::string, std::string>& values);

// What the user is told of it: "scale<1, float> is taken as yours ..."; empty where there is nothing to tell.
std::string note_of_authors_instance(const LaunchDescription& description);

// The author's value of each template argument that is tuned.
std::map<std::string, std::string> authors_template_arguments(const LaunchDescription& description);

}  // namespace regtune

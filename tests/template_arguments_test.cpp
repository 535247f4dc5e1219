#include "template_arguments.hpp"

#include <gtest/gtest.h>

#include "regtune/error.hpp"

namespace regtune {
namespace {

LaunchDescription described(const std::string& kernel, const std::string& name,
                            const std::vector<std::string>& values) {
  LaunchDescription description;
  description.kernel = kernel;
  description.tune = {{name, values, {}}};
  return description;
}

TEST(TemplateArguments, TheFirstValueOfTheListIsTheAuthors) {
  const LaunchDescription found =
      with_authors_instance(described("ns::scale<UNROLL, float>", "UNROLL", {"4", "1"}), "");
  EXPECT_EQ(found.kernel, "ns::scale<4, float>");
  EXPECT_EQ(found.kernel_pattern, "ns::scale<UNROLL, float>");
  EXPECT_EQ(found.template_arguments, std::vector<std::string>{"UNROLL"});
  EXPECT_EQ(note_of_authors_instance(found),
            "ns::scale<4, float> is taken as yours: the first values of ns::scale<UNROLL, float>");
  EXPECT_EQ(note_of_authors_instance(with_authors_instance({}, "")), "");
  EXPECT_EQ(instance_name(found.kernel_pattern, {{"UNROLL", "8"}}), "ns::scale<8, float>");
}

TEST(TemplateArguments, AMacroOfTheSourceOrOfTheOptionsStaysAMacro) {
  const std::string kernel = "scale<UNROLL>";
  LaunchDescription description = described(kernel, "UNROLL", {"4", "1"});
  EXPECT_EQ(with_authors_instance(description, "#define UNROLL 2\n").kernel, kernel);
  EXPECT_TRUE(with_authors_instance(description, "#define UNROLL 2\n").template_arguments.empty());
  description.options = {"-DUNROLL=2"};
  EXPECT_EQ(with_authors_instance(description, "").kernel, kernel);
  description.options = {"-DUNROLLED=2"};
  EXPECT_EQ(with_authors_instance(description, "").kernel, "scale<4>");
}

TEST(TemplateArguments, OnlyWholeWordsBehindTheKernelsNameAreReplaced) {
  EXPECT_EQ(with_authors_instance(described("N<N, NN, f(N), Pair<N>>", "N", {"3"}), "").kernel,
            "N<3, NN, f(3), Pair<3>>");
  EXPECT_EQ(with_authors_instance(described("scale", "scale", {"3"}), "").kernel, "scale");
  EXPECT_EQ(with_authors_instance(described("scale<T>", "N", {"3"}), "").kernel, "scale<T>");
}

TEST(TemplateArguments, ABlockThatIsOneHasToBeDescribed) {
  LaunchDescription description;
  description.kernel = "reduce<BX, BY>";
  description.block_macros = {"BX", "BY"};
  description.blocks = {{32, 8, 1}, {16, 16, 1}};
  EXPECT_EQ(with_authors_instance(description, "").kernel, "reduce<32, 8>");
  description.blocks.clear();
  try {
    with_authors_instance(description, "");
    ADD_FAILURE() << "no block, and no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_description);
    EXPECT_NE(std::string(error.what()).find("BX is a template argument"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace regtune

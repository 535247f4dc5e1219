#pragma once
// Whose file it is, of which version, and the way from one version to the next. schema.sql is the one schema: a file
// whose tables are not those, word for word but for space and comments, is refused, since a file may come from anywhere
// and its tables could mean anything. Throws Error(cache_unusable).
#include <span>
#include <string_view>

#include "sqlite.hpp"

namespace regtune {

inline constexpr int schema_version = 1;
inline constexpr int our_application_id = 0x7265674e;  // "regN", so that `file` and we can tell whose database it is

enum class SchemaState {
  empty,    // nothing was ever stored
  current,  // the tables are those of schema.sql
  older,    // of a released version before: migrate() takes it on
};
// Refuses other programs' databases, newer versions, and tables that are not ours.
SchemaState schema_state(Database& database);

// One step forward: statements that turn a file of version `from` into one of version `from` + 1.
struct Migration {
  int from = 0;
  std::string_view sql;
};
std::span<const Migration> migrations();  // from every released version

// Empty: creates the tables. Older: takes every step up to `to`, all in one transaction, so that a file is of one
// version or of another. Another process may have been faster, which is fine.
void bring_forward(Database& database);
void migrate(Database& database, std::span<const Migration> steps, int to);

}  // namespace regtune

#include "schema.hpp"

#include <algorithm>
#include <string>
#include <unordered_set>

#include "schema_sql.hpp"

namespace regtune {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// SQLite keeps the text of a CREATE as it was written. Comments and space do not count; neither do the quotes that
// ALTER TABLE puts around a name.
class Words {
 public:
  explicit Words(std::string_view sql) : sql_(sql) {}

  // Where the next statement begins: behind the comments and the space in front of it.
  std::size_t skip_to_statement() {
    while (at_ < sql_.size()) {
      if (sql_.substr(at_, 2) == "--")
        at_ = std::min(sql_.find('\n', at_), sql_.size());
      else if (is_space(sql_[at_]))
        ++at_;
      else
        break;
    }
    return at_;
  }
  // The next statement without its semicolon; empty at the end.
  std::string next_statement() {
    std::string words;
    while (at_ < sql_.size()) {
      const char c = sql_[at_];
      if (sql_.substr(at_, 2) == "--") {
        at_ = std::min(sql_.find('\n', at_), sql_.size());
      } else if (c == '\'') {
        append_text(words);
      } else {
        ++at_;
        if (c == ';' && !words.empty()) break;
        if (is_space(c)) pending_space_ = !words.empty();
        if (is_space(c) || c == '"' || c == ';') continue;
        append(words, c);
      }
    }
    pending_space_ = false;
    return words;
  }

  std::size_t position() const { return at_; }

 private:
  void append(std::string& words, char c) {
    const auto stands_alone = [](char mark) { return mark == '(' || mark == ')' || mark == ','; };
    if (pending_space_ && !stands_alone(c) && !stands_alone(words.back())) words += ' ';
    pending_space_ = false;
    words += c;
  }
  void append_text(std::string& words) {
    const std::size_t end = std::min(sql_.find('\'', at_ + 1), sql_.size() - 1);
    for (; at_ <= end; ++at_) append(words, sql_[at_]);
  }

  std::string_view sql_;
  std::size_t at_ = 0;
  bool pending_space_ = false;
};

// Each CREATE of schema.sql, as it is written, which is what a file made by it holds, and as its words alone.
struct OurTables {
  std::unordered_set<std::string> as_written;
  std::unordered_set<std::string> as_words;

  OurTables() {
    const std::string_view sql = schema_sql_text;
    Words words(sql);
    while (true) {
      const std::size_t begin = words.skip_to_statement();
      std::string statement = words.next_statement();
      if (statement.empty()) return;
      if (!statement.starts_with("CREATE ")) continue;
      as_written.emplace(sql.substr(begin, words.position() - begin - 1));  // without its semicolon
      as_words.insert(std::move(statement));
    }
  }
  bool hold(const std::string& sql) const {
    return as_written.contains(sql) || as_words.contains(Words(sql).next_statement());
  }
};

const OurTables& our_tables() {
  static const OurTables tables;
  return tables;
}

void require_our_tables(Database& database) {
  // sqlite_sequence and its like are SQLite's own; the indexes of keys have no text.
  Statement select(database,
                   "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' "
                   "ESCAPE '\\'");
  std::size_t found = 0;
  while (select.step()) {
    const std::string sql = select.text(1);
    if (!our_tables().hold(sql))
      database.refuse("holds \"" + select.text(0) + "\", which is not as this regtune writes it: name another file " +
                      "with --cache FILE");
    ++found;
  }
  if (found != our_tables().as_words.size())
    database.refuse("lacks tables that this regtune writes: move it away, or name another file with --cache FILE");
}

}  // namespace

std::span<const Migration> migrations() {
  return {};  // version 1 is the first
}

SchemaState schema_state(Database& database) {
  const int application = database.application_id();
  const int version = database.user_version();
  if (application == our_application_id && version == schema_version) {
    require_our_tables(database);
    return SchemaState::current;
  }
  if (application == our_application_id && version >= 1 && version < schema_version) return SchemaState::older;
  if (application == our_application_id) {
    database.refuse("has schema version " + std::to_string(version) + ", and this regtune knows version " +
                    std::to_string(schema_version) +
                    ": use the regtune that wrote it (a newer one), or name another file with --cache FILE");
  }
  Statement tables(database, "SELECT count(*) FROM sqlite_schema");
  if (application != 0 || version != 0 || (tables.step() && tables.integer(0) != 0)) {
    database.refuse(
        "is not a regtune cache (it is a SQLite database of another program): name another file with --cache FILE");
  }
  return SchemaState::empty;
}

void migrate(Database& database, std::span<const Migration> steps, int to) {
  Transaction transaction(database);
  int version = database.user_version();
  for (; version < to; ++version) {
    const auto step = std::find_if(steps.begin(), steps.end(), [&](const Migration& m) { return m.from == version; });
    if (step == steps.end())
      database.refuse("has schema version " + std::to_string(version) + ", from which there is no way to version " +
                      std::to_string(to) + ": move it away, or name another file with --cache FILE");
    database.execute(std::string(step->sql).c_str());
    database.set_user_version(version + 1);
  }
  transaction.commit();
}

void bring_forward(Database& database) {
  const SchemaState state = schema_state(database);
  if (state == SchemaState::current) return;
  if (state == SchemaState::older) {
    migrate(database, migrations(), schema_version);
    require_our_tables(database);
    return;
  }
  Transaction transaction(database);
  if (schema_state(database) != SchemaState::empty) return;  // another process was faster
  database.execute(schema_sql_text);
  database.execute(("PRAGMA application_id = " + std::to_string(our_application_id)).c_str());
  database.set_user_version(schema_version);
  transaction.commit();
}

}  // namespace regtune

// The least program with DuckDB's library: what `kelda -c 'select 1'` is compared with.

#include <cstdio>

#include "duckdb.h"

int main(int argc, char** argv) {
  const char* sql = argc > 1 ? argv[1] : "select 1";
  duckdb_database database = nullptr;
  duckdb_connection connection = nullptr;
  if (duckdb_open(nullptr, &database) != DuckDBSuccess ||
      duckdb_connect(database, &connection) != DuckDBSuccess) {
    std::fprintf(stderr, "error: cannot open an in-memory database\n");
    return 1;
  }
  duckdb_result result;
  const bool done = duckdb_query(connection, sql, &result) == DuckDBSuccess;
  if (done) {
    char* text = duckdb_value_varchar(&result, 0, 0);
    std::printf("%s\n", text == nullptr ? "NULL" : text);
    duckdb_free(text);
  } else {
    std::fprintf(stderr, "error: %s\n", duckdb_result_error(&result));
  }
  duckdb_destroy_result(&result);
  duckdb_disconnect(&connection);
  duckdb_close(&database);
  return done ? 0 : 1;
}

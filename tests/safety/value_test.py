"""Wrong values, options and names: an error that tells which, and a table as it was."""

import json
import os

from program import ProgramTest, files_below, kelda


class Values(ProgramTest):
    def setUp(self):
        super().setUp()
        self.run_ok("CREATE TABLE t (id INT NOT NULL, d DECIMAL(10,2), s VARCHAR(5), c CHAR(3), tm TIME(3), t3 TIMESTAMP(3),"
                    " t9 TIMESTAMP(9), l TIMESTAMP(6) WITH LOCAL TIME ZONE, day DATE, small TINYINT, b VARBINARY(2),"
                    " r ROW<m INT NOT NULL, n STRING>, a ARRAY<INT NOT NULL>)",
                    "INSERT INTO t (id, d, s, small) VALUES (1, 2.50, 'abc', 7)")
        self.rows = self.run_ok("SELECT * FROM t")
        self.before = files_below(self.lake)

    def refused(self, statement, *patterns):
        with self.subTest(statement):
            self.run_error(statement, *patterns)
            self.assertEqual(files_below(self.lake), self.before)

    def tearDown(self):
        self.assertEqual(self.run_ok("SELECT * FROM t"), self.rows)
        self.run_ok("INSERT INTO t (id) VALUES (9)")
        self.assertEqual(self.run_ok("SELECT count(*) AS n FROM t"), '{"n":2}\n')

    def test_not_null(self):
        self.refused("INSERT INTO t (id) VALUES (NULL)", "id", "(?i)null")
        self.refused("INSERT INTO t (s) VALUES ('x')", "id", "(?i)null")
        # The last of many rows: files of the others may be on disk by then.
        self.refused("INSERT INTO t (id) SELECT CASE WHEN i < 299999 THEN i END FROM range(300000) t(i)", "id", "(?i)null")
        self.refused("INSERT OVERWRITE t (id) SELECT CASE WHEN i < 299999 THEN i END FROM range(300000) t(i)", "id",
                     "(?i)null")
        self.refused("INSERT INTO t (id, r) VALUES (2, {'m': NULL, 'n': 'x'})", "r.m", "(?i)null")
        self.refused("INSERT INTO t (id, a) VALUES (2, [1, NULL])", "a.element|'a'|column a", "(?i)null")

    def test_numbers_out_of_range(self):
        self.refused("INSERT INTO t (id, d) VALUES (2, 123456789.5)", r"DECIMAL\(10,\s?2\)", "123456789.5")
        self.refused("INSERT INTO t (id, d) SELECT 2, 99999999.999", r"DECIMAL\(10,\s?2\)")
        self.refused("INSERT INTO t (id) VALUES (2147483648)", "2147483648")
        self.refused("INSERT INTO t (id, small) SELECT i, i FROM range(200) t(i)", "128")
        self.refused("INSERT INTO t (id, d) VALUES (2, 'many')", "many")

    def test_texts_and_bytes_too_long(self):
        self.refused("INSERT INTO t (id, s) VALUES (2, 'abcdef')", r"VARCHAR\(5\)", r"\bs\b")
        self.refused("INSERT INTO t (id, s) VALUES (2, 'größer')", r"VARCHAR\(5\)")
        self.refused("INSERT INTO t (id, c) VALUES (2, 'abcd')", r"CHAR\(3\)", r"\bc\b")
        self.refused("INSERT INTO t (id, b) VALUES (2, '\\x01\\x02\\x03'::BLOB)", r"VARBINARY\(2\)", r"\bb\b")

    def test_times_out_of_range(self):
        self.refused("INSERT INTO t (id, tm) VALUES (2, '24:00:00')", "tm", "24:00:00")
        self.refused("INSERT INTO t (id, tm) VALUES (2, '25:00:00')", "25:00:00")
        self.refused("INSERT INTO t (id, t3) VALUES (2, 'infinity')", "t3", "infinity")
        self.refused("INSERT INTO t (id, t3) VALUES (2, '-infinity')", "t3", "infinity")
        self.refused("INSERT INTO t (id, t9) VALUES (2, '-infinity'::TIMESTAMP)", "infinity")
        self.refused("INSERT INTO t (id, l) VALUES (2, 'infinity')", r"\bl\b", "infinity")
        self.refused("INSERT INTO t (id, day) VALUES (2, 'infinity')", "day", "infinity")
        # Nanoseconds hold years 1677 to 2262 only.
        self.refused("INSERT INTO t (id, t9) VALUES (2, TIMESTAMP '2500-01-01 00:00:00')", "2500|Timestamp\\(NS\\)")
        self.refused("INSERT INTO t (id, day) VALUES (2, '2024-02-30')", "2024-02-30")

    def test_columns_that_do_not_fit(self):
        self.refused("INSERT INTO t (id, nothing) VALUES (2, 3)", "nothing")
        self.refused("INSERT INTO t VALUES (2)", "(?i)columns")
        self.refused("INSERT INTO t (id, id) VALUES (2, 3)", "id")

    def test_errors_of_the_query(self):
        self.refused("INSERT INTO t (id) SELECT CASE WHEN i < 299999 THEN i ELSE 'x'::INT END FROM range(300000) t(i)", "x")
        self.refused("INSERT INTO t (id) SELECT CASE WHEN i < 299999 THEN i ELSE error('stop here') END "
                     "FROM range(300000) t(i)", "stop here")


class Options(ProgramTest):
    def test_wrong_values(self):
        for option, value in [("target-file-size", "banana"), ("bucket", "x"), ("manifest.target-file-size", "-1 kb"),
                              ("file.compression.zstd-level", "high"), ("snapshot.num-retained.min", "1.5"),
                              ("snapshot.time-retained", "1 fortnight"), ("dynamic-partition-overwrite", "maybe"),
                              ("merge-engine", "magic"), ("file.format", "papyrus"), ("bucket", "0"),
                              ("file.compression", "squeeze"), ("manifest.compression", "squeeze"),
                              ("metadata.stats-mode", "truncate(x)")]:
            with self.subTest(f"{option} = {value}"):
                self.run_error(f"CREATE TABLE t (a INT) WITH ('{option}' = '{value}')", option)
                self.assertFalse(os.path.exists(self.table_folder("t")))

    def test_not_implemented(self):
        for option, value in [("file.format", "csv"), ("file.format", "json"), ("manifest.format", "orc"),
                              ("manifest.format", "parquet")]:
            with self.subTest(f"{option} = {value}"):
                self.run_error(f"CREATE TABLE t (a INT) WITH ('{option}' = '{value}'); INSERT INTO t VALUES (1)",
                               "(?i)not implemented", option)
                # The table may exist, for another engine to write, but nothing was written into it.
                folder = self.table_folder("t")
                if os.path.exists(folder):
                    self.assertEqual(sorted(files_below(folder)), ["schema/schema-0"])
                    self.run_ok("DROP TABLE t")

    def test_primary_keys_are_not_written(self):
        self.run_error("CREATE TABLE t (a INT, PRIMARY KEY (a) NOT ENFORCED); INSERT INTO t VALUES (1)",
                       "(?i)not implemented.*primary key")

    def test_unknown_keys_are_kept_with_a_warning(self):
        done = kelda(self.lake, "-c", "CREATE TABLE t (a INT) WITH ('target-file-sice' = '5', 'my.own' = 'x y')")
        self.assertEqual(done.code, 0, done.err)
        self.assertRegex(done.err, "warn.*'target-file-sice'.*Did you mean 'target-file-size'")
        self.assertRegex(done.err, "warn.*'my.own'")
        with open(self.table_folder("t") + "/schema/schema-0") as stream:
            self.assertEqual(json.load(stream)["options"], {"target-file-sice": "5", "my.own": "x y"})
        self.run_ok("INSERT INTO t VALUES (1)")
        self.assertEqual(self.run_ok("SELECT * FROM t"), '{"a":1}\n')

    def test_catalog_options(self):
        done = kelda(self.lake, "-o", "nonsense", "-c", "SELECT 1")
        self.assertEqual(done.code, 2)
        self.assertRegex(done.err, "error: .*nonsense")
        done = kelda(self.lake, "-o", "lock.enabled=perhaps", "-c", "SELECT 1")
        self.assertEqual(done.code, 1)
        self.assertRegex(done.err, "error: .*lock.enabled")


class Names(ProgramTest):
    def test_hostile_table_and_database_names(self):
        self.run_ok("CREATE TABLE t (a INT)", "INSERT INTO t VALUES (1)")
        outside = os.path.join(self.folder, "outside.db", "x", "schema")
        os.makedirs(outside)
        with open(self.table_folder("t") + "/schema/schema-0") as source, open(outside + "/schema-0", "w") as target:
            target.write(source.read())
        before = files_below(self.folder)
        for name in ["../x", "../../outside.db/x", "..", ".", ".hidden", "a/b", "/etc", "a/../../b", "", "x" * 5000,
                     "t$snapshots", "t$branch_../../x", "t$branch_", "a\tb/../c"]:
            quoted = '"' + name + '"'
            short = name[:20]
            with self.subTest(name=short):
                statements = [f"CREATE TABLE {quoted} (a INT)", f"CREATE TABLE {quoted} AS SELECT 1 AS a",
                              f"ALTER TABLE t RENAME TO {quoted}", f"INSERT INTO {quoted} VALUES (1)", f"DROP TABLE {quoted}",
                              f"SELECT * FROM {quoted}.x"]
                if name != "t$snapshots":
                    statements.append(f"SELECT * FROM {quoted}")
                if "$" not in name:
                    statements += [f"CREATE SCHEMA {quoted}", f"DROP SCHEMA {quoted} CASCADE"]
                for statement, (rows, error) in zip(statements, self.run_each(statements)):
                    self.assertIsNotNone(error, f"{statement}\n{rows}")
                self.assertEqual(files_below(self.folder), before)
        self.run_error('SELECT * FROM "../outside".x')
        self.run_error('DROP SCHEMA "../outside" CASCADE')
        self.assertEqual(files_below(self.folder), before)

    def test_strange_but_fine_names(self):
        for name in ["größe", "with space", "semi;colon", "quote''s", "a.b", "UPPER", "x" * 200, "-c", "*", "%20"]:
            with self.subTest(name[:20]):
                quoted = '"' + name + '"'
                self.run_ok(f"CREATE TABLE {quoted} (a INT)", f"INSERT INTO {quoted} VALUES (7)")
                self.assertEqual(self.run_ok(f"SELECT * FROM {quoted}"), '{"a":7}\n')
                self.run_ok(f"DROP TABLE {quoted}")

    def test_columns_with_names_of_system_fields(self):
        for name in ["_KEY_a", "_SEQUENCE_NUMBER", "_VALUE_KIND", "_LEVEL", "rowkind"]:
            with self.subTest(name):
                self.run_error(f"CREATE TABLE t ({name} INT)", name)

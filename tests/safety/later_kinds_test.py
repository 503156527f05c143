"""Tables of kinds that Kelda does not read yet: refused by name, never read wrongly."""

import glob
import json
import os
import shutil

from program import ProgramTest, files_below

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "golden", "warehouse")


class LaterKinds(ProgramTest):
    READS = [("pk.db/dedup_parquet", "(?i)primary key"), ("append.db/comp_orc_zstd", "(?i)orc"),
             ("append.db/comp_avro_zstd", "(?i)avro"), ("dv.db/append_false", "(?i)deletion vector"),
             ("append.db/manifest_in_orc", "(?i)manifest.*orc|orc.*manifest"), ("append.db/bucketed_parquet", "(?i)bucket")]

    def total_rows(self):
        newest = max(glob.glob(self.table_folder("t") + "/snapshot/snapshot-*"), key=lambda path: int(path.rpartition("-")[2]))
        with open(newest) as stream:
            return json.load(stream)["totalRecordCount"]

    def test_refused_by_name(self):
        for source, feature in self.READS:
            with self.subTest(source):
                shutil.rmtree(self.table_folder("t"), ignore_errors=True)
                shutil.copytree(os.path.join(GOLDEN, source), self.table_folder("t"))
                before = files_below(self.lake)
                statements = ["SELECT * FROM t", "SELECT count(*) AS n FROM t", "SELECT 1 FROM t WHERE 1 = 0 OR true LIMIT 1",
                              "INSERT INTO t SELECT * FROM t", "INSERT OVERWRITE t SELECT * FROM t", "TRUNCATE TABLE t"]
                for statement, (rows, error) in zip(statements, self.run_each(statements)):
                    if "count" in statement and error is None:
                        self.assertEqual(rows, f'{{"n":{self.total_rows()}}}\n')  # the metadata tell it
                        continue
                    self.assertIsNotNone(error, f"{statement}\n{rows}")
                    self.assertEqual(rows, "", statement)
                    self.assertRegex(error, "(?i)not implemented", statement)
                    self.assertRegex(error, feature, statement)
                self.assertEqual(files_below(self.lake), before)
                # The catalog goes on.
                self.run_ok("SHOW TABLES", "CREATE TABLE other (a INT)", "INSERT INTO other VALUES (1)", "SELECT * FROM other",
                            "DROP TABLE other")

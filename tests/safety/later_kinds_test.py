"""Tables of kinds that Kelda does not write yet: refused by name, never written wrongly."""

import os
import shutil

from program import ProgramTest, files_below

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "golden", "warehouse")


class LaterKinds(ProgramTest):
    # Both are read; what writes them is refused.
    WRITES = [("pk.db/dedup_parquet", "(?i)primary key"), ("append.db/manifest_in_orc", "(?i)manifest.*orc|orc.*manifest"),
              ("track.db/blob", "(?i)blob")]

    def test_refused_by_name(self):
        for source, feature in self.WRITES:
            with self.subTest(source):
                shutil.rmtree(self.table_folder("t"), ignore_errors=True)
                shutil.copytree(os.path.join(GOLDEN, source), self.table_folder("t"))
                before = files_below(self.lake)
                self.run_ok("SELECT * FROM t", "SELECT count(*) AS n FROM t")
                statements = ["INSERT INTO t SELECT * FROM t", "INSERT OVERWRITE t SELECT * FROM t", "TRUNCATE TABLE t"]
                for statement, (rows, error) in zip(statements, self.run_each(statements)):
                    self.assertIsNotNone(error, f"{statement}\n{rows}")
                    self.assertEqual(rows, "", statement)
                    self.assertRegex(error, "(?i)not implemented", statement)
                    self.assertRegex(error, feature, statement)
                self.assertEqual(files_below(self.lake), before)
                # The catalog goes on.
                self.run_ok("SHOW TABLES", "CREATE TABLE other (a INT)", "INSERT INTO other VALUES (1)", "SELECT * FROM other",
                            "DROP TABLE other")

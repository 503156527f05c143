"""Damaged and missing files: an error that names the file, or exactly the rows that were written."""

import glob
import json
import os
import random
import shutil

from program import ProgramTest, files_below, flip_bit, marks_below

ROWS = 40

# Columns that DuckDB's reader of Parquet files decodes, which does not look at the checksums of pages.
WITH_CHECKSUMS = ["SET kelda_duckdb_parquet = false"]


class DamageTest(ProgramTest):
    def setUp(self):
        super().setUp()
        columns = ("id INT NOT NULL, name STRING, price DECIMAL(10,2), x DOUBLE, day DATE, ts TIMESTAMP(3), big BIGINT,"
                   " tags INT[], r ROW<lat DOUBLE, word STRING>")
        values = ("i, 'name ' || (i * 7919 % 101), i * 1.25, i / 7, DATE '2024-01-01' + i::INT,"
                  " TIMESTAMP '2024-01-01 00:00:00' + to_seconds(i), i * 1000003, [i, i + 1], {'lat': i / 3, 'word': 'w' || i}")
        self.run_ok(f"CREATE TABLE base ({columns}, p STRING) PARTITIONED BY (p)",
                    f"INSERT INTO base SELECT {values}, 'a' FROM range({ROWS}) t(i)",
                    f"INSERT INTO base SELECT {values}, 'b' FROM range({ROWS}, {2 * ROWS}) t(i)")
        self.query = "SELECT * FROM {} ORDER BY 1"
        self.rows = self.run_ok(self.query.format("base"))
        self.assertEqual(self.rows.count("\n"), 2 * ROWS)
        with open(self.table_folder("base") + "/snapshot/snapshot-2") as stream:
            self.snapshot = json.load(stream)

    def file(self, pattern):
        """The first file of the table that matches, relative to its folder."""
        found = sorted(glob.glob(f"{self.table_folder('base')}/{pattern}"))
        self.assertTrue(found, pattern)
        return os.path.relpath(found[0], self.table_folder("base"))

    def list_file(self, which):
        return "manifest/" + self.snapshot[which + "ManifestList"]

    def make_copy(self, name, relative, damage):
        """A copy of the table that shares all files with it but the damaged one."""
        folder = self.table_folder(name)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.table_folder("base"), folder, copy_function=os.link)
        path = os.path.join(folder, relative)
        if os.path.exists(path):
            os.unlink(path)
            shutil.copyfile(os.path.join(self.table_folder("base"), relative), path)
        damage(path)

    def difference(self, rows):
        for got, wanted in zip(rows.splitlines(), self.rows.splitlines()):
            if got != wanted:
                return f"read {got} instead of {wanted}"
        return f"read {rows.count(chr(10))} rows"


class Damage(DamageTest):
    def check(self, relative, damages, statement=None, may_read=True, first=(), same_rows=True, unnoticed_max=0):
        """Each damage, a function of a path, on its own copy of the table; one process queries all of them."""
        for i, (_, damage) in enumerate(damages):
            self.make_copy(f"c{i}", relative, damage)
        before = marks_below(self.lake)
        results = self.run_each([(statement or self.query).format(f"c{i}") for i in range(len(damages))], first)
        self.assertEqual(marks_below(self.lake), before, "a query changed files")
        refused, wrong, unnoticed = 0, [], []
        for i, ((rows, error), (text, _)) in enumerate(zip(results, damages)):
            if error is not None:
                refused += 1
                # The file itself, or the file that a damaged one names: below this table in any case.
                if f"/c{i}/" not in error and f"default.c{i}" not in error:
                    wrong.append(f"{relative} {text}: the error names no file: {error}")
            elif not may_read:
                wrong.append(f"{relative} {text}: was read")
            elif rows.count("\n") != 2 * ROWS:
                wrong.append(f"{relative} {text}: {self.difference(rows)}")
            elif same_rows and rows != self.rows:
                unnoticed.append(f"{relative} {text}: {self.difference(rows)}")
        if len(unnoticed) > unnoticed_max:
            wrong += unnoticed
        if wrong:
            self.fail(f"{len(wrong)} of {len(damages)}:\n" + "\n".join(wrong[:20]))
        return refused

    def flips(self, relative, count):
        """One bit at each of `count` places that cover the file evenly."""
        size = os.path.getsize(os.path.join(self.table_folder("base"), relative))
        numbers = random.Random(7)
        count = min(count, size)
        damages = []
        for i in range(count):
            place, bit = numbers.randrange(i * size // count, (i + 1) * size // count), numbers.randrange(8)
            damages.append((f"bit {bit} of byte {place} of {size}",
                            lambda path, place=place, bit=bit: flip_bit(path, place, bit)))
        return damages

    def cuts(self, relative, count):
        size = os.path.getsize(os.path.join(self.table_folder("base"), relative))
        lengths = sorted({size * i // count for i in range(count)} | {0, 1, size - 8, size - 4, size - 1})
        return [(f"cut to {n} of {size}", lambda path, n=n: os.truncate(path, n)) for n in lengths]

    def test_data_file_truncated(self):
        data = self.file("p=a/bucket-0/*")
        self.check(data, self.cuts(data, 30), may_read=False)
        self.check(data, self.cuts(data, 30), may_read=False, first=WITH_CHECKSUMS)

    def test_data_file_flipped(self):
        # Checksums cover the pages, but neither their headers nor the footer, where a bit may change a type.
        data = self.file("p=a/bucket-0/*")
        self.assertGreater(self.check(data, self.flips(data, 160), first=WITH_CHECKSUMS, unnoticed_max=3), 80)

    def test_data_file_flipped_with_a_filter(self):
        data = self.file("p=a/bucket-0/*")
        self.check(data, self.flips(data, 60), "SELECT * FROM {} WHERE id >= 0 AND big >= 0 ORDER BY 1", first=WITH_CHECKSUMS,
                   unnoticed_max=2)

    def test_data_file_flipped_and_read_by_duckdb(self):
        """That reader takes pages as they are, but a damaged file never ends the program or changes the number of rows."""
        data = self.file("p=a/bucket-0/*")
        self.assertGreater(self.check(data, self.flips(data, 120), same_rows=False), 25)

    def test_manifest_truncated(self):
        manifest = self.file("manifest/manifest-[!l]*-0")
        self.check(manifest, self.cuts(manifest, 30), may_read=False)

    def test_manifest_flipped(self):
        manifest = self.file("manifest/manifest-[!l]*-0")
        self.check(manifest, self.flips(manifest, 160))

    def test_manifest_list_truncated(self):
        for which in ("base", "delta"):
            with self.subTest(which):
                self.check(self.list_file(which), self.cuts(self.list_file(which), 30), may_read=False)

    def test_manifest_list_flipped(self):
        for which in ("base", "delta"):
            with self.subTest(which):
                self.check(self.list_file(which), self.flips(self.list_file(which), 80))

    def test_snapshot_file_truncated(self):
        self.check("snapshot/snapshot-2", self.cuts("snapshot/snapshot-2", 30), may_read=False)

    def test_snapshot_file_flipped(self):
        self.check("snapshot/snapshot-2", self.flips("snapshot/snapshot-2", 150))

    def test_schema_file_truncated(self):
        self.check("schema/schema-0", self.cuts("schema/schema-0", 40), may_read=False)

    def test_schema_file_flipped(self):
        self.check("schema/schema-0", self.flips("schema/schema-0", 250))

    def test_missing_files(self):
        for pattern in ("p=a/bucket-0/*", "manifest/manifest-[!l]*-0", self.list_file("base"), self.list_file("delta")):
            relative = self.file(pattern)
            with self.subTest(relative):
                self.make_copy("t", relative, os.unlink)
                before = files_below(self.table_folder("t"))
                self.run_error(self.query.format("t"), os.path.basename(relative))
                self.assertEqual(files_below(self.table_folder("t")), before)


class Documents(DamageTest):
    """Files of JSON and hints that say something else than they should."""

    def damaged(self, relative, text):
        def write(path):
            with open(path, "w") as stream:
                stream.write(text)
        self.make_copy("t", relative, write)

    def changed(self, relative, change):
        with open(os.path.join(self.table_folder("base"), relative)) as stream:
            document = json.load(stream)
        change(document)
        self.damaged(relative, json.dumps(document))

    def refused(self, *patterns):
        before = files_below(self.lake)
        for statement in (self.query.format("t"), "INSERT INTO t SELECT * FROM base", "INSERT OVERWRITE t SELECT * FROM base"):
            self.run_error(statement, *patterns)
        self.assertEqual(files_below(self.lake), before)

    def test_schema_of_a_future_version(self):
        self.changed("schema/schema-0", lambda schema: schema.update(version=4))
        self.refused("schema-0", "version 4|version '4'")

    def test_schemas_that_make_no_sense(self):
        def fields(schema):
            return schema["fields"]
        for name, change in {"two columns of one name": lambda s: fields(s)[1].update(name="id"),
                             "two columns of one id": lambda s: fields(s)[1].update(id=0),
                             "unknown type": lambda s: fields(s)[1].update(type="PAPYRUS"),
                             "no name": lambda s: fields(s)[1].pop("name"),
                             "no columns": lambda s: s.pop("fields"),
                             "columns as text": lambda s: s.update(fields="x"),
                             "unknown partition column": lambda s: s.update(partitionKeys=["q"]),
                             "endless nesting": lambda s: fields(s)[1].update(type="ARRAY<" * 10000 + "INT" + ">" * 10000),
                             "huge precision": lambda s: fields(s)[2].update(type="DECIMAL(99999999999999999999, 2)"),
                             "other id": lambda s: s.update(id=7)}.items():
            with self.subTest(name):
                self.changed("schema/schema-0", change)
                self.refused("schema-0")

    def test_snapshots_that_make_no_sense(self):
        for name, change in {"other id": lambda s: s.update(id=7), "huge id": lambda s: s.update(id=1e300),
                             "no list": lambda s: s.pop("deltaManifestList"),
                             "list elsewhere": lambda s: s.update(deltaManifestList="../../../etc/passwd"),
                             "null list": lambda s: s.update(baseManifestList=None)}.items():
            with self.subTest(name):
                self.changed("snapshot/snapshot-2", change)
                self.refused("default.t|default.db/t/")

    def test_hints_are_only_hints(self):
        for hint in ("LATEST", "EARLIEST"):
            for text in ("", "x", "1", "3", "99", "-1", "0", "18446744073709551616", "2\n", "\0" * 9, "9" * 5000, None):
                with self.subTest(hint=hint, text=text and text[:20]):
                    if text is None:
                        self.make_copy("t", "snapshot/" + hint, lambda path: os.path.exists(path) and os.unlink(path))
                    else:
                        self.damaged("snapshot/" + hint, text)
                    self.assertEqual(self.run_ok(self.query.format("t")), self.rows)
                    self.run_ok("INSERT INTO t (id, p) VALUES (1000, 'a')")
                    self.assertEqual(self.run_ok("SELECT count(*) AS n FROM t"), f'{{"n":{2 * ROWS + 1}}}\n')
                    self.assertTrue(os.path.exists(self.table_folder("t") + "/snapshot/snapshot-3"))

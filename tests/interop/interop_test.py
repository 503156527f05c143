#!/usr/bin/env python3
"""Java Paimon, pypaimon and Kelda on the same tables, in every direction.

    tests/interop/interop_test.py [--kelda PROGRAM] [--only PREFIX] [--keep]

Prints `ok NAME` or `fail NAME: reason` for each case and ends with `N passed, N failed`.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import engines
import values


def ltz(precision):
    return f"TIMESTAMP({precision}) WITH LOCAL TIME ZONE"


def array(element):
    return {"type": "ARRAY", "element": element}


def mapping(key, value):
    return {"type": "MAP", "key": key, "value": value}


def multiset(element):
    return {"type": "MULTISET", "element": element}


def row(**members):
    return {"type": "ROW", "fields": [{"name": n, "type": t} for n, t in members.items()]}


def columns(prefix, types):
    return [["id", "INT NOT NULL"]] + [[f"{prefix}{i}", t] for i, t in enumerate(types)]


# Every type that Parquet holds, by family.
FAMILIES = {
    "integers": columns("c", ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "BIGINT NOT NULL"]),
    "floats": columns("c", ["FLOAT", "DOUBLE"]),
    "decimals": columns("d", [f"DECIMAL({p}, {p * 7 % (p + 1)})" for p in range(1, 39)]),
    "text": columns("c", ["CHAR(5)", "VARCHAR(10)", "STRING", "STRING NOT NULL"]),
    "bytes": columns("c", ["BINARY(4)", "VARBINARY(7)", "BYTES"]),
    "times": columns("c", ["DATE", "TIME(0)", "TIME(3)"]),
    "timestamps": columns("t", [f"TIMESTAMP({p})" for p in range(10)]),
    "local_timestamps": columns("z", [ltz(p) for p in range(10)]),
    "arrays": columns("a", [array("INT"), array("STRING"), array("DECIMAL(20, 4)"), array(array("DOUBLE")),
                            array("TIMESTAMP(6)"), array("BIGINT NOT NULL")]),
    "maps": columns("m", [mapping("STRING", "BIGINT"), mapping("INT", array("DECIMAL(10, 2)")),
                          mapping("DATE", "BOOLEAN"), mapping("STRING", mapping("INT", "STRING"))]),
    "rows": columns("r", [row(a="INT", b="STRING"), row(a=row(b=row(c="DOUBLE", d="DATE"))),
                          row(x=array("INT"), y=mapping("STRING", "INT")), array(row(k="STRING", v=ltz(3)))]),
    "multisets": columns("s", [multiset("STRING"), multiset("INT"), array(multiset("STRING"))]),
}
# pypaimon 2.1.0 knows no MULTISET.
NOT_IN_PYPAIMON = {"multisets"}
# pypaimon writes timestamps of more than six digits as 64-bit nanoseconds; Java 1.4.2 expects INT96 and reads them wrongly or not at all.
NOT_FROM_PYPAIMON_TO_JAVA = {"timestamps", "local_timestamps"}
MIXED = [["id", "INT NOT NULL"], ["s", "STRING"], ["d", "DECIMAL(12, 2)"], ["t", "TIMESTAMP(3)"], ["f", "DOUBLE"],
         ["a", array("INT")], ["dt", "STRING"], ["h", "INT"]]
COMPRESSIONS = ["zstd", "snappy", "lz4", "gzip", "none"]


class Failure(Exception):
    pass


def check_equal(got, want, what):
    if got == want:
        return
    missing = [line for line in want if line not in got]
    extra = [line for line in got if line not in want]
    raise Failure(f"{what}: {len(got)} rows, want {len(want)}; missing {missing[:1]}, extra {extra[:1]}"[:1500])


class Suite:
    def __init__(self, program, scratch):
        self.warehouse = os.path.join(scratch, "warehouse")
        os.makedirs(self.warehouse)
        self._java_server = engines.java_server()
        self._python_server = engines.pypaimon_server()
        self.java = engines.Engine(self._java_server, self.warehouse, scratch)
        self.python = engines.Engine(self._python_server, self.warehouse, scratch)
        self.kelda = engines.Kelda(program, self.warehouse)
        self.program = program
        self.cases = self._cases()

    def close(self):
        self._java_server.close()
        self._python_server.close()

    def _cases(self):
        cases = {}
        for family in FAMILIES:
            cases[f"java_to_kelda/{family}"] = lambda f=family: self.java_to_kelda(f)
            cases[f"kelda_to_peers/{family}"] = lambda f=family: self.kelda_to_peers(f)
            cases[f"statistics/{family}"] = lambda f=family: self.statistics(f)
            cases[f"schema/{family}"] = lambda f=family: self.schema(f)
            if family not in NOT_IN_PYPAIMON:
                cases[f"pypaimon_to_kelda/{family}"] = lambda f=family: self.pypaimon_to_kelda(f)
        for compression in COMPRESSIONS:
            cases[f"partitioned/{compression}"] = lambda c=compression: self.partitioned(c)
        cases["partition_types"] = self.partition_types
        cases["statistics_modes"] = self.statistics_modes
        cases["turns"] = self.turns
        cases["turns_partitioned"] = lambda: self.turns(partition=["dt"])
        for function in ("default", "mod", "hive"):
            cases[f"buckets/{function}"] = lambda f=function: self.buckets(f)
        cases["rolling"] = self.rolling
        cases["schema_of_pypaimon"] = self.schema_of_pypaimon
        cases["analyze"] = self.analyze
        cases["file_indexes_of_kelda"] = self.file_indexes_of_kelda
        cases["file_indexes_of_java"] = self.file_indexes_of_java
        cases["race"] = self.race
        return cases

    def agree(self, table, fields, rows, readers):
        """All readers see exactly `rows`."""
        want = values.canonical_rows(rows, fields)
        for name in readers:
            got = values.canonical_rows(getattr(self, name).read(table), fields)
            check_equal(got, want, f"{name} reads {table}")

    # ------------------------------------------------------------ one direction each

    def java_to_kelda(self, family):
        table, fields = f"jk.{family}", FAMILIES[family]
        rows = values.random_rows(random.Random(family), fields, 60)
        self.java.create(table, fields)
        self.java.write(table, rows[:40])
        self.java.write(table, rows[40:])
        self.agree(table, fields, rows, ["java", "kelda"])

    def kelda_to_peers(self, family):
        table, fields = f"kj.{family}", FAMILIES[family]
        rows = values.random_rows(random.Random(family + "k"), fields, 60)
        self.java.create(table, fields)
        self.kelda.write(table, rows[:40], fields)
        self.kelda.write(table, rows[40:], fields)
        readers = ["kelda", "java"] + ([] if family in NOT_IN_PYPAIMON else ["python"])
        self.agree(table, fields, rows, readers)

    def pypaimon_to_kelda(self, family):
        table, fields = f"pk.{family}", FAMILIES[family]
        rows = values.random_rows(random.Random(family + "p"), fields, 60)
        self.java.create(table, fields)
        self.python.write(table, rows)
        readers = ["python", "kelda"] + ([] if family in NOT_FROM_PYPAIMON_TO_JAVA else ["java"])
        self.agree(table, fields, rows, readers)

    # ------------------------------------------------------------ metadata

    def comparable_files(self, table):
        """Live files without what differs from run to run."""
        out = []
        for file in self.java.files(table):
            del file["fileName"], file["fileSize"]
            out.append(json.dumps(file, sort_keys=True, ensure_ascii=False))
        return sorted(out)

    def same_files(self, name, fields, rows, partition=(), options=None):
        for writer in ("java", "kelda"):
            self.java.create(f"{writer}_stats.{name}", fields, partition, options)
        self.java.write(f"java_stats.{name}", rows)
        self.kelda.write(f"kelda_stats.{name}", rows, fields)
        check_equal(self.comparable_files(f"kelda_stats.{name}"), self.comparable_files(f"java_stats.{name}"),
                    f"live files of {name}")

    def statistics(self, family):
        rows = values.random_rows(random.Random(family + "s"), FAMILIES[family], 30)
        self.same_files(family, FAMILIES[family], rows)
        empty = [{**r, **{f[0]: None for f in FAMILIES[family] if values.Type(f[1]).nullable}} for r in rows]
        self.same_files(f"{family}_null", FAMILIES[family], empty)

    def statistics_modes(self):
        rng = random.Random("modes")
        rows = values.random_rows(rng, MIXED, 40)
        for r in rows:
            # Few partitions: from the tenth on Java counts rows twice when it moves them to its spill buffer.
            r["dt"] = rng.choice(["a", "b", None])
        rows[0]["s"] = "long text that every truncation cuts: 日本😀" * 3
        for mode in ("none", "counts", "full", "truncate(3)", "truncate(16)"):
            name = "".join(c for c in mode if c.isalnum())
            self.same_files(f"mode_{name}", MIXED, rows, ["dt"], {"metadata.stats-mode": mode})
        self.same_files("mode_of_column", MIXED, rows, [],
                        {"metadata.stats-mode": "none", "fields.s.stats-mode": "full"})

    def analyze(self):
        """Java reads the statistics that ANALYZE writes, as values of the columns' types."""
        self.kelda.sql("""
            CREATE SCHEMA IF NOT EXISTS an;
            CREATE TABLE an.t (i INT, b BIGINT, f FLOAT, d DOUBLE, de DECIMAL(10, 2), s STRING, da DATE, t TIME(3),
                ts TIMESTAMP(3), tu TIMESTAMP(6), tl TIMESTAMP_LTZ(3), ok BOOLEAN, bs BYTES, a ARRAY<INT>);
            INSERT INTO an.t VALUES
                (1, -5, 1.5, 1e10, -0.05, 'a', '1969-12-29', '00:00:00', '2024-05-14 10:00:00', '1969-12-31 23:59:58.500123',
                 '2024-05-14 10:00:00.5+00', true, 'xyz', [1]),
                (7, 9, NULL, -1.25, 123.45, 'bcd', '2024-05-14', '23:59:59.123', '2024-05-14 10:00:00.12',
                 '2024-05-14 10:00:00', '2024-05-14 11:00:00+00', false, NULL, NULL),
                (7, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
            ANALYZE TABLE an.t COMPUTE STATISTICS FOR ALL COLUMNS;
        """)
        head, *lines = self.java.call("statistics", "an.t")
        check_equal(head, "3 1 0", "rows, snapshot and schema of the statistics")
        got = {c["column"]: c for c in map(json.loads, lines)}
        want = {
            "i": (2, 0, 1, 7, 4, 4), "b": (2, 1, -5, 9, 8, 8), "f": (1, 2, 1.5, 1.5, 4, 4),
            "d": (2, 1, -1.25, 1e10, 8, 8), "de": (2, 1, "-0.05", "123.45", 8, 8), "s": (2, 1, None, None, 2, 3),
            "da": (2, 1, "1969-12-29", "2024-05-14", 4, 4), "t": (2, 1, "00:00:00.000", "23:59:59.123", 4, 4),
            "ts": (2, 1, "2024-05-14T10:00:00.000", "2024-05-14T10:00:00.120", 8, 8),
            "tu": (2, 1, "1969-12-31T23:59:58.500123", "2024-05-14T10:00:00.000000", 8, 8),
            "tl": (2, 1, "2024-05-14T10:00:00.500Z", "2024-05-14T11:00:00.000Z", 8, 8), "ok": (2, 1, False, True, 1, 1),
            "bs": (1, 2, None, None, 3, 3), "a": (None, 2, None, None, None, None),
        }
        for number, (column, (distinct, nulls, low, high, average, longest)) in enumerate(want.items()):
            check_equal(got.pop(column),
                        {"column": column, "id": number, "distinct": distinct, "nulls": nulls, "min": low, "max": high,
                         "avg": average, "longest": longest}, f"statistics of column {column}")
        check_equal(got, {}, "columns with statistics")
        rows = self.kelda.sql("SELECT * FROM an.\"t$statistics\";\n")
        check_equal([json.loads(r) for r in rows], [json.loads(r) for r in self.java.call("system", "an.t", "statistics")],
                    "rows of t$statistics")
        check_equal([s.split()[1] for s in self.java.call("snapshots", "an.t")], ["APPEND", "ANALYZE"], "kinds of snapshots")
        # They stay with what Java writes afterwards.
        self.java.write("an.t", [{"i": 9}])
        check_equal(self.java.call("statistics", "an.t")[0], "3 1 0", "statistics after another commit")

    INDEXED = [["id", "BIGINT"], ["n", "INT"], ["s", "STRING"], ["d", "DOUBLE"], ["de", "DECIMAL(10, 2)"], ["da", "DATE"],
               ["ts", "TIMESTAMP(3)"], ["tu", "TIMESTAMP(6)"], ["ok", "BOOLEAN"], ["m", mapping("STRING", "INT")]]
    INDEXES = {"file-index.bloom-filter.columns": "n,s,d,da,ts,tu,m[a]", "file-index.bitmap.columns": "n,s,d,ok,ts,m[a]",
               "file-index.bsi.columns": "n,de,da,tu,m[b]", "file-index.range-bitmap.columns": "n,s,d,de,ok,ts",
               **{f"file-index.bloom-filter.{c}.items": "300" for c in ("n", "s", "d", "da", "ts", "tu", "m")},
               "file-index.range-bitmap.s.chunk-size": "100b",
               "file-index.bitmap.s.index-block-size": "200b", "file-index.bitmap.d.version": "1"}

    @staticmethod
    def indexed_rows(first, count, base, not_a_number):
        """Rows of few values that other files have not; -0.0, NULL and the empty string among them."""
        doubles = [0.0, -0.0, not_a_number, 1.5, -2.25]
        rows = []
        for i in range(count):
            k = base + i % 7
            null = i % 11 == 0
            rows.append({"id": first + i, "n": None if null else (k * 1000003) % 2001 - 1000, "s": "" if i % 13 == 0 else f"é{k}",
                         "d": doubles[i % 5] if i % 3 == 0 else k / 2, "de": None if null else f"{k - 20}.{i % 7:02d}",
                         "da": f"20{10 + k % 80:02d}-01-0{1 + i % 7}", "ts": f"2024-05-14T10:{k % 60:02d}:00.00{i % 7}",
                         "tu": f"19{60 + k % 40:02d}-05-14T10:00:00.00000{i % 7}", "ok": None if null else i % 7 < 3,
                         "m": None if null else ([["a", k]] if i % 2 else [["b", -k], ["c", 1]])})
        return rows

    def indexed_table(self, database, write, threshold, not_a_number):
        table = f"{database}.t{threshold.replace(' ', '')}"
        self.java.create(table, self.INDEXED, (), {**self.INDEXES, "file-index.in-manifest-threshold": threshold,
                                                   "metadata.stats-mode": "none"})
        for number in range(6):
            write(table, self.indexed_rows(number * 1000, 300, number * 9, not_a_number))
        files = self.java.files(table)
        embedded = sum(f["embeddedIndex"] is not None for f in files)
        side = sum(len(f["extraFiles"]) for f in files)
        check_equal((embedded, side), (6, 0) if threshold == "1 mb" else (0, 6), "files with embedded and side indexes")
        return table

    def file_indexes_of_kelda(self):
        """Java finds with Kelda's indexes what it finds without, and reads less. (NaN it loses without an index too.)"""
        for threshold in ("1 mb", "1 kb"):
            table = self.indexed_table("idxk", lambda t, rows: self.kelda.write(t, rows, self.INDEXED), threshold, 7.0)
            *lost, sums = map(json.loads, self.java.call("filtered", table, "100", "7"))
            check_equal(lost, [], "filters that lose rows")
            asked = 100 * 6 * 300
            if sums["rows"] > asked * 2 // 3 or sums["matched"] == 0:
                raise Failure(f"the indexes left out too little: {sums}")

    def file_indexes_of_java(self):
        """Kelda finds with Java's indexes what it finds without."""
        for threshold in ("1 mb", "1 kb"):
            table = self.indexed_table("idxj", self.java.write, threshold, "NaN")
            filters = [f"{c} {op} {v}" for c, v in
                       [("n", 983), ("n", 12), ("s", "'é30'"), ("s", "''"), ("d", "1.5"), ("d", "0.0"), ("d", "'NaN'::DOUBLE"),
                        ("de", "-3.02"), ("da", "DATE '2035-01-03'"), ("ts", "TIMESTAMP '2024-05-14 10:20:00.003'"),
                        ("tu", "TIMESTAMP '1970-05-14 10:00:00.000003'"), ("ok", "true"), ("m['a']", 12), ("m['b']", -30)]
                       for op in ("=", "<>", "<", ">=")]
            filters += ["n IS NULL", "ok IS NOT NULL", "n IN (983, 12, 5)", "s IN ('é3', 'none')", "m['zz'] = 1",
                        "starts_with(s, 'é1')", "n NOT IN (983, 12)", "n = 983 OR s = 'é30'", "NOT (n < 0 AND ok)"]
            queries = [f"SELECT count(*) AS c, sum(id)::VARCHAR AS i FROM {table} WHERE {f};" for f in filters]
            with_index = list(filter(None, self.kelda.sql("\n".join(queries))))
            without = list(filter(None, self.kelda.sql("\n".join(["SET kelda_disable_pruning = true;"] + queries))))
            for text, a, b in zip(filters, with_index, without, strict=True):
                check_equal(json.loads(a), json.loads(b), f"rows where {text}")
            if not any(json.loads(a)["c"] for a in with_index):
                raise Failure("no filter found a row")

    def schema_json(self, table):
        database, name = table.split(".")
        with open(f"{self.warehouse}/{database}.db/{name}/schema/schema-0", encoding="utf-8") as file:
            schema = json.load(file)
        return {k: schema[k] for k in ("version", "id", "fields", "highestFieldId", "partitionKeys", "primaryKeys")}

    def schema(self, family):
        """The same definition gives the same schema file, and each engine uses the other's table."""
        fields = FAMILIES[family]
        rows = values.random_rows(random.Random(family + "d"), fields, 5)
        self.java.create(f"ddl.java_{family}", fields)
        self.kelda.create(f"ddl.kelda_{family}", fields)
        got, want = self.schema_json(f"ddl.kelda_{family}"), self.schema_json(f"ddl.java_{family}")
        if got != want:
            raise Failure(f"schema file: got {json.dumps(got)}, want {json.dumps(want)}"[:1500])
        self.java.write(f"ddl.kelda_{family}", rows)
        self.kelda.write(f"ddl.java_{family}", rows, fields)
        for table in (f"ddl.kelda_{family}", f"ddl.java_{family}"):
            self.agree(table, fields, rows, ["java", "kelda"])

    def schema_of_pypaimon(self):
        fields = [["id", "INT"], ["s", "STRING"], ["d", "DECIMAL(12, 2)"], ["t", "TIMESTAMP(6)"], ["dt", "STRING"]]
        rows = values.random_rows(random.Random("pys"), fields, 20)
        self.python.create("ddl.of_pypaimon", fields, ["dt"])
        self.kelda.write("ddl.of_pypaimon", rows, fields)
        self.agree("ddl.of_pypaimon", fields, rows, ["python", "java", "kelda"])

    # ------------------------------------------------------------ partitions

    def directories(self, table):
        database, name = table.split(".")
        root = f"{self.warehouse}/{database}.db/{name}"
        return sorted(os.path.relpath(folder, root) for folder, _, _ in os.walk(root) if "bucket-" in folder)

    def partitioned(self, compression):
        rng = random.Random(compression)
        rows = values.random_rows(rng, MIXED, 80)
        for r in rows:
            r["dt"] = rng.choice(["2024-01-01", "a b", "x=y/z", "", None, "日本"])
            r["h"] = rng.choice([0, -1, 23, None])
        options = {"file.compression": compression}
        for writer in ("java", "kelda", "python"):
            self.java.create(f"part.{writer}_{compression}", MIXED, ["dt", "h"], options)
        self.java.write(f"part.java_{compression}", rows)
        self.kelda.write(f"part.kelda_{compression}", rows, MIXED)
        self.python.write(f"part.python_{compression}", rows)
        for writer in ("java", "kelda", "python"):
            self.agree(f"part.{writer}_{compression}", MIXED, rows, ["java", "kelda", "python"])
        check_equal(self.directories(f"part.kelda_{compression}"), self.directories(f"part.java_{compression}"),
                    "partition directories")

    def partition_types(self):
        types = ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(12, 3)", "CHAR(5)",
                 "VARCHAR(9)", "STRING", "DATE", "TIMESTAMP(3)", "TIMESTAMP(6)"]
        for i, kind in enumerate(types):
            fields = [["id", "INT"], ["p", kind]]
            for legacy in ("true", "false"):
                rows = values.random_rows(random.Random(f"{kind}{legacy}"), fields, 12)
                name = f"types_{i}_{legacy}"
                self.java.create(f"part.java_{name}", fields, ["p"], {"partition.legacy-name": legacy})
                self.java.create(f"part.kelda_{name}", fields, ["p"], {"partition.legacy-name": legacy})
                self.java.write(f"part.java_{name}", rows)
                self.kelda.write(f"part.kelda_{name}", rows, fields)
                check_equal(self.directories(f"part.kelda_{name}"), self.directories(f"part.java_{name}"),
                            f"directories of {kind}, legacy {legacy}")
                want = values.canonical_rows(self.java.read(f"part.java_{name}"), fields)
                for reader in (self.kelda, self.java):
                    for writer in ("java", "kelda"):
                        got = values.canonical_rows(reader.read(f"part.{writer}_{name}"), fields)
                        check_equal(got, want, f"{kind}, legacy {legacy}, written by {writer}")

    # ------------------------------------------------------------ together

    def turns(self, partition=()):
        """Ten commits each on one table, with manifests merging; then every snapshot as each engine sees it."""
        table = "turns.t" + "_".join(partition)
        rng = random.Random(table)
        options = {"manifest.merge-min-count": "3"}
        self.java.create(table, MIXED, partition, options)
        rows = []
        for turn in range(20):
            more = values.random_rows(rng, MIXED, 5)
            for r in more:
                r["dt"] = rng.choice(["a", "b", "c"])
            if turn % 2 == 0:
                self.java.write(table, more)
            else:
                self.kelda.write(table, more, MIXED)
            rows += more
            self.agree(table, MIXED, rows, ["java", "kelda"])
        snapshots = [line.split() for line in self.java.call("snapshots", table)]
        if [int(s[0]) for s in snapshots] != list(range(1, 21)) or int(snapshots[-1][3]) != len(rows):
            raise Failure(f"snapshots {snapshots}")
        for number in range(1, 21):
            want = values.canonical_rows(rows[:number * 7], MIXED)
            for reader in (self.java, self.kelda):
                got = values.canonical_rows(reader.read(table, number), MIXED)
                check_equal(got, want, f"snapshot {number}")
        self.agree(table, MIXED, rows, ["python"])

    BUCKETED = [["n", "BIGINT"], ["k", "BIGINT"], ["s", "STRING"], ["d", "DECIMAL(20, 3)"], ["t", "TIMESTAMP(6)"], ["dt", "STRING"]]

    def buckets(self, function):
        """Java and Kelda take turns on a table in buckets, both merging small files; each finds rows by their bucket key."""
        table, key = f"buckets.{function}", {"default": "s,k,d,t", "mod": "k", "hive": "k,s,d"}[function]
        rng = random.Random(function)
        self.java.create(table, self.BUCKETED, ["dt"], {"bucket": "3", "bucket-key": key, "bucket-function.type": function})
        rows = []
        for turn in range(14):
            more = [{"n": turn * 100 + i, "k": rng.choice([None, rng.randrange(-50, 50)]), "s": rng.choice([None, "", "ab", "seven77", "more than seven"]),
                     "d": rng.choice([None, "0.000", "-1.500", "12345678901234567.890"]),
                     "t": rng.choice([None, "1969-12-31T23:59:59.999999", "2024-05-14T10:20:30.000001"]),
                     "dt": rng.choice(["a", "b"])} for i in range(12)]
            if turn % 2 == 0:
                self.java.write(table, more)
            else:
                self.kelda.write(table, more, self.BUCKETED)
            rows += more
            self.agree(table, self.BUCKETED, rows, ["java", "kelda"])
            if turn == 9:
                self.kelda.sql(f"CALL sys.compact(table => '{table}');\n")
                self.agree(table, self.BUCKETED, rows, ["java", "kelda"])
        by_bucket = {}
        for f in self.java.files(table):
            by_bucket.setdefault((json.dumps(f["partition"]), f["bucket"]), []).append((f["minSequenceNumber"], f["maxSequenceNumber"]))
        for where, ranges in by_bucket.items():
            ranges.sort()
            if any(a[1] >= b[0] for a, b in zip(ranges, ranges[1:])) or len(ranges) > 5:
                raise Failure(f"files of {where}: {ranges}")
        kinds = {line.split()[1] for line in self.java.call("snapshots", table)}
        check_equal(kinds, {"APPEND", "COMPACT"}, "kinds of snapshots")
        names = key.split(",")
        wanted = {tuple(r[c] for c in names) for r in rows}
        queries = []
        for values_ in sorted(wanted, key=str):
            tests = [f"{c} IS NULL" if v is None else f"{c} = " + (str(v) if c == "k" else f"'{v}'") for c, v in zip(names, values_)]
            queries.append(f"SELECT list(n ORDER BY n) AS n FROM {table} WHERE {' AND '.join(tests)};")
        got = [json.loads(line)["n"] for line in self.kelda.sql("\n".join(queries)) if line]
        for values_, found in zip(sorted(wanted, key=str), got, strict=True):
            check_equal(found, [r["n"] for r in rows if tuple(r[c] for c in names) == values_], f"rows of key {values_}")
        *lost, sums = map(json.loads, self.java.call("filtered", table, "100", "3"))
        # Decimals of more than 18 digits apart: Java looks for them in Parquet's dictionaries by other bytes.
        check_equal([f for f in lost if "(d, " not in f["filter"]], [], "filters with which Java loses rows")

    def rolling(self):
        """One INSERT that rolls over many files: sequence numbers and statistics fit together, Java reads all rows."""
        fields = [["k", "BIGINT"], ["s", "STRING"]]
        rows = 200000
        self.java.create("rolling.t", fields, [], {"target-file-size": "256 kb"})
        self.kelda.sql(f"INSERT INTO rolling.t SELECT i, md5(i::VARCHAR) FROM range({rows}) r(i);\n")
        files = self.java.files("rolling.t")
        if len(files) < 5 or sum(f["rowCount"] for f in files) != rows:
            raise Failure(f"{len(files)} files with {sum(f['rowCount'] for f in files)} rows")
        for f in files:
            if f["maxSequenceNumber"] - f["minSequenceNumber"] + 1 != f["rowCount"]:
                raise Failure(f"sequence numbers of {f['fileName']}: {f}")
        want = values.canonical_rows(self.java.read("rolling.t"), fields)
        if [json.loads(line)[0] for line in want] != sorted(range(rows), key=str):
            keys = {json.loads(line)[0] for line in want}
            raise Failure(f"Java reads {len(want)} rows with {len(keys)} keys, want {rows}")
        check_equal(values.canonical_rows(self.kelda.read("rolling.t"), fields), want, "Kelda reads")

    def race(self):
        """Java and Kelda commit to one table at the same time; no row is lost or doubled."""
        fields = [["k", "INT"], ["w", "STRING"]]
        self.java.create("race.t", fields)
        count = 25
        failures = []

        def insert():
            try:
                for k in range(count):
                    self.kelda.sql(f"INSERT INTO race.t VALUES ({k}, 'kelda');\n")
            except Exception as error:
                failures.append(str(error))

        threads = [threading.Thread(target=insert) for _ in range(2)]
        for thread in threads:
            thread.start()
        self.java.call("race", "race.t", "java", "0", str(2 * count))
        for thread in threads:
            thread.join()
        if failures:
            raise Failure(failures[0])
        rows = [{"k": k, "w": "kelda"} for k in range(count)] * 2 + [{"k": k, "w": "java"} for k in range(2 * count)]
        self.agree("race.t", fields, rows, ["java", "kelda"])
        snapshots = self.java.call("snapshots", "race.t")
        if len(snapshots) != 4 * count:
            raise Failure(f"{len(snapshots)} snapshots, want {4 * count}")


def prepare():
    for script in ("build_java.sh", "build_python.sh"):
        subprocess.run([os.path.join(engines.HERE, script)], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kelda", default=os.path.join(engines.ROOT, "build", "dev", "kelda"))
    parser.add_argument("--only", default="", help="cases whose name starts so")
    parser.add_argument("--keep", action="store_true", help="leave the warehouse and print where it is")
    options = parser.parse_args()
    if not os.path.exists(options.kelda):
        sys.exit(f"error: {options.kelda} does not exist; build it or give --kelda PROGRAM")
    prepare()
    scratch = tempfile.mkdtemp(prefix="kelda-interop-")
    suite = Suite(options.kelda, scratch)
    passed = failed = 0
    try:
        for name, case in suite.cases.items():
            if not name.startswith(options.only):
                continue
            start = time.monotonic()
            try:
                case()
                passed += 1
                print(f"ok {name} ({time.monotonic() - start:.1f} s)", flush=True)
            except (Failure, engines.EngineError, subprocess.TimeoutExpired, ValueError) as error:
                failed += 1
                print(f"fail {name}: {error}", flush=True)
            except Exception:
                failed += 1
                print(f"fail {name}: {traceback.format_exc()}", flush=True)
    finally:
        suite.close()
        if options.keep:
            print(f"warehouse: {suite.warehouse}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())

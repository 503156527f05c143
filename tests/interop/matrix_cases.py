"""The tables of the interop matrix: what each holds, how it comes about, and what a peer cannot do with it.

A table is a list of steps, each of one engine: ("java", "create"), ("kelda", "write", rows),
("kelda", "alter", changes, fields), ("java", "delete", by, rest), ("kelda", "compact"). A cell of the matrix is
a table of one writer as one reader sees it.
"""

import json
import random

import values

FORMATS = ["parquet", "orc", "avro"]
COMPRESSIONS = {"parquet": ["zstd", "snappy", "gzip", "lz4", "none"], "orc": ["zstd", "snappy", "zlib", "lz4", "none"],
                "avro": ["zstd", "snappy", "deflate", "null"]}
COLUMNS = [("java", "kelda"), ("kelda", "java"), ("python", "kelda"), ("kelda", "python")]


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


def decimals(first, last):
    return [f"DECIMAL({p}, {p * 7 % (p + 1)})" for p in range(first, last + 1)]


TYPES = {
    "BOOLEAN": ["BOOLEAN"],
    "TINYINT": ["TINYINT"],
    "SMALLINT": ["SMALLINT"],
    "INT": ["INT"],
    "BIGINT": ["BIGINT"],
    "FLOAT": ["FLOAT"],
    "DOUBLE": ["DOUBLE"],
    "DECIMAL(1..9)": decimals(1, 9),
    "DECIMAL(10..18)": decimals(10, 18),
    "DECIMAL(19..38)": decimals(19, 38),
    "CHAR": ["CHAR(1)", "CHAR(5)", "CHAR(255)"],
    "VARCHAR": ["VARCHAR(1)", "VARCHAR(10)", "VARCHAR(300)"],
    "STRING": ["STRING"],
    "BINARY": ["BINARY(1)", "BINARY(4)", "BINARY(200)"],
    "VARBINARY": ["VARBINARY(1)", "VARBINARY(7)", "VARBINARY(1000)"],
    "BYTES": ["BYTES"],
    "DATE": ["DATE"],
    "TIME(0..3)": [f"TIME({p})" for p in range(4)],
    "TIME(4..9)": [f"TIME({p})" for p in range(4, 10)],
    "TIMESTAMP(0..3)": [f"TIMESTAMP({p})" for p in range(4)],
    "TIMESTAMP(4..6)": [f"TIMESTAMP({p})" for p in range(4, 7)],
    "TIMESTAMP(7..9)": [f"TIMESTAMP({p})" for p in range(7, 10)],
    "TIMESTAMP_LTZ(0..3)": [ltz(p) for p in range(4)],
    "TIMESTAMP_LTZ(4..6)": [ltz(p) for p in range(4, 7)],
    "TIMESTAMP_LTZ(7..9)": [ltz(p) for p in range(7, 10)],
    "NOT NULL": ["BOOLEAN NOT NULL", "BIGINT NOT NULL", "DOUBLE NOT NULL", "DECIMAL(20, 4) NOT NULL", "STRING NOT NULL",
                 "DATE NOT NULL", "TIMESTAMP(6) NOT NULL", "BYTES NOT NULL"],
    "ARRAY of numbers": [array(t) for t in ("BOOLEAN", "TINYINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "BIGINT NOT NULL")],
    "ARRAY of texts": [array(t) for t in ("STRING", "BYTES", "VARCHAR(3)", "STRING NOT NULL")],
    "ARRAY of DECIMAL": [array(t) for t in ("DECIMAL(9, 2)", "DECIMAL(18, 0)", "DECIMAL(38, 10)")],
    "ARRAY of DATE, TIME": [array("DATE"), array("TIME(3)")],
    "ARRAY of TIMESTAMP": [array(t) for t in ("TIMESTAMP(3)", "TIMESTAMP(6)", ltz(3), ltz(6))],
    "ARRAY of ARRAY": [array(array("INT")), array(array(array("STRING")))],
    "MAP of STRING": [mapping("STRING", t) for t in ("INT", "STRING", "DOUBLE", "DECIMAL(20, 3)", "TIMESTAMP(6)")],
    "MAP of other keys": [mapping("INT", "STRING"), mapping("BIGINT", "INT"), mapping("DATE", "BOOLEAN")],
    "MAP of ARRAY": [mapping("STRING", array("DECIMAL(10, 2)")), mapping("INT", array("STRING"))],
    "MAP of MAP": [mapping("STRING", mapping("INT", "STRING")), mapping("STRING", mapping("STRING", array("INT")))],
    "ROW": [row(a="INT", b="STRING", c="DECIMAL(20, 2)", d="TIMESTAMP(3)", e="BOOLEAN", f="BYTES")],
    "ROW of ROW": [row(a=row(b=row(c="DOUBLE", d="DATE"), e="STRING"))],
    "ROW of ARRAY, MAP": [row(x=array("INT"), y=mapping("STRING", "INT"), z=array(array("DATE")))],
    "ROW of NOT NULL": [row(a="INT NOT NULL", b="STRING")],
    "ARRAY of ROW": [array(row(k="STRING", v=ltz(3))), array(row(a=array(row(b="INT"))))],
    "MAP of ROW": [mapping("STRING", row(a="INT", b=array("STRING")))],
    "MULTISET of texts": [multiset("STRING"), multiset("VARCHAR(5)")],
    "MULTISET of others": [multiset("INT"), multiset("DATE")],
    "ARRAY of MULTISET": [array(multiset("STRING")), row(m=multiset("STRING"))],
    "all in one": ["BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(9, 3)", "DECIMAL(38, 10)",
                   "CHAR(5)", "VARCHAR(10)", "STRING", "BINARY(4)", "BYTES", "DATE", "TIME(3)", "TIMESTAMP(3)", "TIMESTAMP(6)",
                   ltz(3), ltz(6), array("STRING"), mapping("STRING", "BIGINT"), row(a="INT", b=row(c="STRING"))],
}

PARTITIONS = {
    "BOOLEAN": ["BOOLEAN"], "TINYINT": ["TINYINT"], "SMALLINT": ["SMALLINT"], "INT": ["INT"], "BIGINT": ["BIGINT"],
    "FLOAT": ["FLOAT"], "DOUBLE": ["DOUBLE"], "DECIMAL": ["DECIMAL(12, 3)"], "big DECIMAL": ["DECIMAL(30, 5)"],
    "CHAR": ["CHAR(3)"], "VARCHAR": ["VARCHAR(9)"], "STRING": ["STRING"], "DATE": ["DATE"], "TIMESTAMP(3)": ["TIMESTAMP(3)"],
    "TIMESTAMP(6)": ["TIMESTAMP(6)"], "STRING, INT": ["STRING", "INT"], "DATE, BOOLEAN": ["DATE", "BOOLEAN"],
}
SPECIAL_TEXTS = ["a b", "x=y/z", None, "日本", "%:?*\"'", " ", "{a}[b]", "__DEFAULT_PARTITION_"]

BUCKETS = {
    "default: INT": ["INT"], "default: BIGINT": ["BIGINT"], "default: STRING": ["STRING"], "default: DECIMAL": ["DECIMAL(10, 2)"],
    "default: big DECIMAL": ["DECIMAL(30, 5)"], "default: DATE": ["DATE"], "default: DOUBLE": ["DOUBLE"],
    "default: TIMESTAMP(3)": ["TIMESTAMP(3)"], "default: TIMESTAMP(6)": ["TIMESTAMP(6)"], "default: BOOLEAN": ["BOOLEAN"],
    "default: many": ["STRING", "BIGINT", "DECIMAL(20, 3)", "TIMESTAMP(6)"],
    "mod: INT": ["INT"], "mod: BIGINT": ["BIGINT"],
    "hive: INT": ["INT"], "hive: BIGINT": ["BIGINT"], "hive: STRING": ["STRING"], "hive: DATE": ["DATE"],
    "hive: many": ["BIGINT", "STRING", "DECIMAL(20, 3)"],
}

INDEXED = [["id", "BIGINT"], ["n", "INT"], ["s", "STRING"], ["de", "DECIMAL(10, 2)"], ["da", "DATE"], ["ok", "BOOLEAN"]]
INDEXES = {"bloom-filter": "n,s,da", "bitmap": "n,s,ok,da", "bsi": "n,de,da", "range-bitmap": "n,s,de,ok"}

# ---------------------------------------------------------------- values


def instants(digits):
    """Ends of what the type and SQL hold, and places where calendars and signs change."""
    tail = "." + "9" * digits if digits else ""
    out = ["1970-01-01T00:00:00", f"1969-12-31T23:59:59{tail}", f"1582-09-30T23:59:59{tail}", "1582-10-15T00:00:00",
           f"1883-11-18T12:03:58{tail}", f"2024-02-29T23:59:59{tail}"]
    if digits > 6:
        # SQL counts nanoseconds in 64 bits.
        fine = [t for t in out if t[:4] != "1582"]
        return fine + ["1677-09-21T00:12:44" + tail, "2262-04-11T23:47:16." + "854775806"[:digits]]
    return out + ["0001-01-01T00:00:00", f"9999-12-31T23:59:59{tail}"]


def edges(kind):
    """The values at the ends of a type, no null."""
    root, numbers = kind.root, kind.numbers
    if root == "BOOLEAN":
        return [True, False]
    if root in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        top = 2 ** ({"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}[root] - 1)
        return [0, -1, 1, top - 1, -top, top // 2]
    if root == "FLOAT":
        return [0.0, -0.0, 1.5, "NaN", "Infinity", "-Infinity", 3.4028234663852886e38, 1.401298464324817e-45]
    if root == "DOUBLE":
        return [0.0, -0.0, 0.1, "NaN", "Infinity", "-Infinity", 1.7976931348623157e308, 5e-324, 2.2250738585072014e-308]
    if root == "DECIMAL":
        precision, scale = numbers
        digits = ["0".rjust(scale + 1, "0"), "1".rjust(scale + 1, "0"), "9" * precision]
        texts = [(d[:len(d) - scale] or "0") + ("." + d[len(d) - scale:] if scale else "") for d in digits]
        return texts + ["-" + t for t in texts[1:]]
    if root == "CHAR":
        return [c * numbers[0] for c in ("a", "é", "日")]
    if root in ("VARCHAR", "STRING"):
        length = numbers[0] if numbers else 300
        return ["", " ", "x" * length, "日" * length, "😀", "'\"\\\t%"[:length]]
    if root == "BINARY":
        return ["00" * numbers[0], "ff" * numbers[0], bytes(range(numbers[0])).hex()]
    if root in ("VARBINARY", "BYTES"):
        length = numbers[0] if numbers else 256
        return ["", "00", "ff" * length, bytes(i % 256 for i in range(length)).hex()]
    if root == "DATE":
        return ["1970-01-01", "1969-12-31", "0001-01-01", "9999-12-31", "1582-10-04", "1582-10-10", "1582-10-15", "2024-02-29"]
    if root == "TIME":
        digits = min(numbers[0] if numbers else 0, 3)
        return ["00:00:00.000", "23:59:59." + ("9" * digits).ljust(3, "0"), "12:00:00." + "001"[3 - digits:].ljust(3, "0")]
    if root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        zone = "Z" if root == "TIMESTAMP_LTZ" else ""
        precision = numbers[0] if numbers else 6
        texts = instants(precision)
        if zone and precision > 6:
            # SQL holds local-zone timestamps in microseconds.
            texts = [t[:26] for t in texts]
        return [t + zone for t in texts]
    return nested_edges(kind)


def nested_edges(kind):
    if kind.root == "ARRAY":
        inner = edges(kind.children[0])
        some = [[], inner[:1], inner, inner[::-1][:3]]
        return some + ([[None], [None, inner[0], None]] if kind.children[0].nullable else [])
    if kind.is_map():
        keys = list({json.dumps(k): k for k in edges(kind.children[0])}.values())
        if kind.root == "MULTISET":
            return [[], [[keys[0], 1]], [[k, i + 1] for i, k in enumerate(keys)]]
        inner = edges(kind.children[1])
        null = [[[keys[0], None]]] if kind.children[1].nullable else []
        return [[], [[keys[0], inner[0]]], [[k, inner[i % len(inner)]] for i, k in enumerate(keys)]] + null
    members = [edges(c) for c in kind.children]
    count = max(len(m) for m in members)
    out = [{n: m[i % len(m)] for n, m in zip(kind.names, members)} for i in range(count)]
    return out + [{n: None if c.nullable else m[0] for n, m, c in zip(kind.names, members, kind.children)}]


def rows_of(fields, seed, count=10, first=0):
    """The ends of every type, random rows, a row of nulls and one without; `id` counts from `first`."""
    rng = random.Random(seed)
    kinds = [(f[0], values.Type(f[1])) for f in fields]
    ends = {name: edges(kind) for name, kind in kinds}
    rows = [{name: e[i % len(e)] for name, e in ends.items()} for i in range(max(len(e) for e in ends.values()))]
    rows += values.random_rows(rng, fields, count)
    for i, r in enumerate(rows):
        r["id"] = first + i
    return rows


def tamed(value, kind, all_of_pyarrow):
    """The value, or another where ORC has none of the kind: no fraction in the last second before 1970, no day of the
    Julian calendar (ODD_IN_ORC has those). With `all_of_pyarrow` also nothing that its ORC cannot do: fractions before 1970, years beyond 64-bit nanoseconds."""
    if value is None:
        return None
    if kind.root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        zone = "Z" if value.endswith("Z") else ""
        whole, _, fraction = value.removesuffix("Z").partition(".")
        if all_of_pyarrow and not 1678 <= int(whole[:4]) <= 2261:
            whole = "2000" + whole[4:]
        if whole < "1582-10-15":
            whole = "1600" + whole[4:]
        if whole < "1970" and (all_of_pyarrow or whole == "1969-12-31T23:59:59"):
            fraction = ""
        return whole + ("." + fraction if fraction else "") + zone
    inner = lambda v, at: tamed(v, kind.children[at], all_of_pyarrow)
    if kind.root == "ARRAY":
        return [inner(v, 0) for v in value]
    if kind.is_map():
        return [[inner(k, 0), inner(v, 1)] for k, v in value]
    if kind.root == "ROW":
        return {n: inner(value[n], i) for i, n in enumerate(kind.names)}
    return value


def tamed_rows(rows, fields, all_of_pyarrow):
    kinds = [(f[0], values.Type(f[1])) for f in fields]
    return [{name: tamed(r[name], kind, all_of_pyarrow) for name, kind in kinds} for r in rows]


# Rows that mean other things in ORC; which tables there are right when Java reads its own alike.
ODD_IN_ORC = {
    "CHAR, spaces at its end": ([["id", "INT"], ["a", "CHAR(4)"], ["b", "CHAR(1)"]],
                                [{"id": 1, "a": "ab  ", "b": " "}, {"id": 2, "a": "    ", "b": "x"}, {"id": 3, "a": " abc", "b": None}],
                                ("java", "kelda")),
    "timestamps just before 1970": ([["id", "INT"], ["a", "TIMESTAMP(3)"], ["b", "TIMESTAMP(6)"], ["c", ltz(6)]],
                                    [{"id": i, "a": f"1969-12-31T23:59:59.{m}", "b": f"1969-12-31T23:59:59.{m}{u}",
                                      "c": f"1969-12-31T23:59:59.{m}{u}Z"} for i, (m, u) in enumerate([("999", "999"), ("001", "000"), ("500", "001")])],
                                    ("java",)),
    # Java writes them to ORC through the Julian calendar and reads them without; what Kelda writes, it reads.
    "timestamps before October 1582": ([["id", "INT"], ["a", "TIMESTAMP(3)"], ["b", "TIMESTAMP(6)"], ["c", ltz(3)]],
                                       [{"id": i, "a": f"{d}T23:59:59.120", "b": f"{d}T12:00:00.123456", "c": f"{d}T00:00:00.999Z"}
                                        for i, d in enumerate(["0001-01-01", "0004-02-29", "1000-06-30", "1500-03-01", "1582-10-04",
                                                               "1582-10-05", "1582-10-10", "1582-10-14", "1582-10-15", "9999-12-31"])],
                                       ("java",)),
}

# ---------------------------------------------------------------- histories of columns

def added(*path, kind, **place):
    return {"add": list(path), "type": kind, **place}


def dropped(*path):
    return {"drop": list(path)}


def renamed(*path, to):
    return {"rename": list(path), "to": to}


def retyped(*path, kind):
    return {"retype": list(path), "type": kind}


def moved(name, **place):
    return {"move": [name], **place}


NESTED = [["id", "INT"], ["r", row(a="INT", b="STRING")], ["l", array(row(x="INT", y="STRING"))],
          ["m", mapping("STRING", row(v="INT", w="DATE"))]]
FLAT = [["id", "INT"], ["a", "INT"], ["b", "STRING"], ["c", "DOUBLE"]]
# Name: columns at first, changes before the second and before the third write.
HISTORIES = {
    "add columns": (FLAT, [added("d", kind="DECIMAL(10, 2)")],
                    [added("e", kind="STRING", after="a"), added("f", kind=array("INT"), first=True)]),
    "add members": (NESTED, [added("r", "c", kind="DOUBLE"), added("l", "element", "z", kind="DATE")],
                    [added("r", "d", kind="STRING", after="a"), added("m", "value", "u", kind="BIGINT")]),
    "drop columns": (FLAT, [dropped("b")], [dropped("a")]),
    "drop members": (NESTED, [dropped("r", "a"), dropped("l", "element", "y")], [dropped("m", "value", "v")]),
    "drop and add again": (FLAT, [dropped("b"), added("b", kind="BIGINT")], [dropped("b"), added("b", kind="STRING", after="id")]),
    "rename columns": (FLAT, [renamed("a", to="aa")], [renamed("b", to="a"), renamed("aa", to="b")]),
    "rename members": (NESTED, [renamed("r", "a", to="aa"), renamed("l", "element", "x", to="xx")],
                       [renamed("r", "b", to="a"), renamed("m", "value", "w", to="ww")]),
    "reorder columns": (FLAT, [moved("c", first=True)], [moved("id", after="b"), moved("a", first=True)]),
    "wider integers": ([["id", "INT"], ["a", "TINYINT"], ["b", "SMALLINT"], ["c", "INT"], ["d", "INT"]],
                       [retyped("a", kind="SMALLINT"), retyped("c", kind="BIGINT")],
                       [retyped("a", kind="BIGINT"), retyped("b", kind="INT"), retyped("d", kind="DECIMAL(20, 2)")]),
    "wider fractions": ([["id", "INT"], ["a", "FLOAT"], ["b", "DECIMAL(5, 2)"], ["c", "INT"]],
                        [retyped("a", kind="DOUBLE"), retyped("b", kind="DECIMAL(12, 4)")],
                        [retyped("b", kind="DECIMAL(38, 6)"), retyped("c", kind="DOUBLE")]),
    "narrower numbers": ([["id", "INT"], ["a", "BIGINT"], ["b", "INT"], ["c", "DECIMAL(12, 4)"]],
                         [retyped("a", kind="INT")], [retyped("b", kind="TINYINT"), retyped("c", kind="DECIMAL(12, 2)")]),
    "to STRING": ([["id", "INT"], ["a", "INT"], ["b", "DATE"], ["c", "TIMESTAMP(3)"], ["d", "DECIMAL(10, 2)"], ["e", "BOOLEAN"]],
                  [retyped("a", kind="STRING"), retyped("b", kind="STRING")],
                  [retyped("c", kind="STRING"), retyped("d", kind="STRING"), retyped("e", kind="STRING")]),
    "longer texts": ([["id", "INT"], ["a", "CHAR(3)"], ["b", "VARCHAR(5)"], ["c", "BINARY(4)"]],
                     [retyped("a", kind="VARCHAR(9)"), retyped("b", kind="STRING")],
                     [retyped("a", kind="STRING"), retyped("c", kind="BYTES")]),
    "dates and times": ([["id", "INT"], ["a", "DATE"], ["b", "TIMESTAMP(3)"], ["c", "TIMESTAMP(6)"]],
                        [retyped("a", kind="TIMESTAMP(6)"), retyped("b", kind="TIMESTAMP(6)")],
                        [retyped("c", kind="TIMESTAMP(3)")]),
    "types of members": (NESTED, [retyped("r", "a", kind="BIGINT"), retyped("l", "element", "x", kind="DOUBLE")],
                         [retyped("m", "value", "v", kind="BIGINT")]),
    "types of elements": ([["id", "INT"], ["l", array("INT")], ["m", mapping("STRING", "INT")]],
                          [retyped("l", "element", kind="BIGINT")], [retyped("m", "value", kind="DOUBLE")]),
    "everything at once": (FLAT + NESTED[1:], [added("d", kind="DATE", after="id"), renamed("a", to="a2"), retyped("a2", kind="BIGINT"),
                                               added("r", "c", kind="INT")],
                           [dropped("b"), moved("c", first=True), renamed("r", "c", to="d"), dropped("l"), added("l", kind="STRING")]),
}


def place_of(change, name, names):
    if "first" in change:
        return 0
    return names.index(change["after"]) + 1 if "after" in change else len(names)


def change_fields(fields, path, change):
    """Fields as [name, type] after the change of `path`; a path goes through ROW members, `element`, `key` and `value`."""
    names = [f[0] for f in fields]
    if len(path) > 1:
        at = names.index(path[0])
        return fields[:at] + [[path[0], change_type(fields[at][1], path[1:], change)]] + fields[at + 1:]
    if "add" in change:
        at = place_of(change, path[0], names)
        return fields[:at] + [[path[0], change["type"]]] + fields[at:]
    at = names.index(path[0])
    rest = fields[:at] + fields[at + 1:]
    if "drop" in change:
        return rest
    if "move" in change:
        to = place_of(change, path[0], [f[0] for f in rest])
        return rest[:to] + [fields[at]] + rest[to:]
    changed = [change["to"], fields[at][1]] if "rename" in change else [path[0], change["type"]]
    return fields[:at] + [changed] + fields[at + 1:]


def change_type(kind, path, change):
    if kind["type"] in ("ARRAY", "MAP"):
        inner = change_type(kind[path[0]], path[1:], change) if len(path) > 1 else change["type"]
        return {**kind, path[0]: inner}
    members = change_fields([[f["name"], f["type"]] for f in kind["fields"]], path, change)
    return row(**dict(members))


def change_all(fields, changes):
    for change in changes:
        path = next(change[verb] for verb in ("add", "drop", "rename", "retype", "move") if verb in change)
        fields = change_fields(fields, path, change)
    return fields


def sql_change(table, change):
    """The change as Kelda's SQL has it."""
    path = next(change[verb] for verb in ("add", "drop", "rename", "retype", "move") if verb in change)
    where = ".".join(path)
    place = f" AFTER {change['after']}" if "after" in change else " FIRST" if "first" in change else ""
    kind = values.ddl_type(change["type"]) if "type" in change else ""
    text = {"add": f"ADD COLUMN {where} {kind}{place}", "drop": f"DROP COLUMN {where}",
            "rename": f"RENAME COLUMN {where} TO {change.get('to')}", "retype": f"ALTER COLUMN {where} TYPE {kind}",
            "move": f"ALTER COLUMN {where}{place}"}
    return f"ALTER TABLE {table} " + next(text[verb] for verb in text if verb in change)

"""Paimon values in Python: random rows, SQL literals, and one comparable form for every engine's JSON.

A type is what Paimon's schema files hold: a text like "DECIMAL(10, 2) NOT NULL", or an object like
{"type": "ARRAY", "element": "INT"}. A row is a dict in the JSON form of tests/data/README.md.
"""

import datetime
import json
import re
import struct

EPOCH = datetime.date(1970, 1, 1)
TEXTS = ["", " ", "a", "be", "Cd", "0", "42", "-", "é", "ß", "日本", "😀", "x_y", "\"q\"", "/", "Ω", "'", "\\", "\t",
         "a=b", "%", "#"]


class Type:
    """A parsed type: root, numbers in parentheses, nullable, children."""

    def __init__(self, spec):
        text = spec["type"] if isinstance(spec, dict) else spec
        self.nullable = not text.endswith("NOT NULL")
        text = text.removesuffix("NOT NULL").strip()
        match = re.fullmatch(r"([A-Z]+)(?:\(([0-9, ]+)\))?( WITH LOCAL TIME ZONE)?", text)
        self.root = match[1] + ("_LTZ" if match[3] else "")
        self.numbers = [int(n) for n in match[2].split(",")] if match[2] else []
        if self.root == "ARRAY":
            self.children = [Type(spec["element"])]
        elif self.root == "MULTISET":
            self.children = [Type(spec["element"]), Type("INT NOT NULL")]
        elif self.root == "MAP":
            self.children = [Type(spec["key"]), Type(spec["value"])]
        elif self.root == "ROW":
            self.names = [f["name"] for f in spec["fields"]]
            self.children = [Type(f["type"]) for f in spec["fields"]]
        else:
            self.children = []

    def is_map(self):
        return self.root in ("MAP", "MULTISET")


# ---------------------------------------------------------------- comparison


def canonical(value, kind):
    """The same thing for every spelling of a value: Java's, pypaimon's and Kelda's JSON."""
    if value is None:
        return None
    if kind.root in ("FLOAT", "DOUBLE"):
        return struct.pack(">f" if kind.root == "FLOAT" else ">d", float(value)).hex()
    if kind.root in ("TIME", "TIMESTAMP", "TIMESTAMP_LTZ"):
        zone = "Z" if value.endswith("Z") else ""
        value = value.removesuffix("Z")
        return (value.rstrip("0").rstrip(".") if "." in value else value) + zone
    if kind.is_map():
        pairs = [(e["key"], e["value"]) if isinstance(e, dict) else e for e in value]
        key, item = kind.children
        return sorted(([canonical(k, key), canonical(v, item)] for k, v in pairs), key=json.dumps)
    if kind.root == "ARRAY":
        return [canonical(e, kind.children[0]) for e in value]
    if kind.root == "ROW":
        if list(value) != kind.names:
            raise ValueError(f"members {list(value)}, expected {kind.names}")
        return [canonical(value[n], c) for n, c in zip(kind.names, kind.children)]
    return value


def canonical_rows(lines, fields):
    """Sorted comparable texts of JSON lines; `fields` are [name, type] pairs."""
    kinds = [(f[0], Type(f[1])) for f in fields]
    out = []
    for line in lines:
        row = json.loads(line) if isinstance(line, str) else line
        if list(row) != [name for name, _ in kinds]:
            raise ValueError(f"columns {list(row)}, expected {[name for name, _ in kinds]}")
        out.append(json.dumps([canonical(row[name], kind) for name, kind in kinds], ensure_ascii=False))
    return sorted(out)


# ---------------------------------------------------------------- random values


def random_instant(random, digits, digits_max):
    seconds = random.choice([0, -1, random.randrange(-2208988800, 4102444800)])
    date = EPOCH + datetime.timedelta(days=seconds // 86400)
    clock = seconds % 86400
    text = f"{date.isoformat()}T{clock // 3600:02}:{clock // 60 % 60:02}:{clock % 60:02}"
    digits = min(digits, digits_max)
    if digits:
        text += "." + f"{random.randrange(10 ** digits):0{digits}}"
    return text


def random_text(random, length, exact=False):
    if exact:
        return "".join(random.choice("abcxyz") for _ in range(length))
    text = "".join(random.choice(TEXTS) for _ in range(random.randrange(5)))
    return text[:length]


def random_integer(random, bits):
    edge = 2 ** (bits - 1)
    return random.choice([0, 1, -1, edge - 1, -edge, random.randrange(-edge, edge), random.randrange(100)])


def random_decimal(random, precision, scale):
    digits = random.choice([precision, random.randint(1, precision)])
    unscaled = random.choice([10 ** digits - 1, random.randrange(10 ** digits), 0])
    text = str(unscaled).rjust(scale + 1, "0")
    if scale:
        text = text[:-scale] + "." + text[-scale:]
    return ("-" if unscaled and random.random() < 0.5 else "") + text


def random_value(random, kind, nulls, digits_max=9):
    if kind.nullable and random.random() < nulls:
        return None
    root, numbers = kind.root, kind.numbers
    nested = lambda child, nulls: random_value(random, child, nulls, digits_max)
    if root == "BOOLEAN":
        return random.random() < 0.5
    if root in ("TINYINT", "SMALLINT", "INT", "BIGINT"):
        return random_integer(random, {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}[root])
    if root == "FLOAT":
        return random.choice(["NaN", "Infinity", "-Infinity", -0.0, 0.0, 1.5, random.randrange(-10**6, 10**6) / 8])
    if root == "DOUBLE":
        return random.choice(["NaN", "Infinity", "-Infinity", -0.0, 5e-324, 1.7976931348623157e308, random.random()])
    if root == "DECIMAL":
        return random_decimal(random, numbers[0], numbers[1])
    if root in ("CHAR", "VARCHAR", "STRING"):
        return random_text(random, numbers[0] if numbers else 40, root == "CHAR")
    if root in ("BINARY", "VARBINARY", "BYTES"):
        length = numbers[0] if root == "BINARY" else random.randrange((numbers[0] if numbers else 20) + 1)
        return random.randbytes(length).hex()
    if root == "DATE":
        return (EPOCH + datetime.timedelta(days=random.randrange(-25567, 47482))).isoformat()
    if root == "TIME":
        millis = random.randrange(86400000)
        millis -= millis % 10 ** (3 - min(3, numbers[0] if numbers else 0))
        seconds = millis // 1000
        return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{millis % 1000:03}"
    if root in ("TIMESTAMP", "TIMESTAMP_LTZ"):
        limit = min(6, digits_max) if root == "TIMESTAMP_LTZ" else digits_max
        return random_instant(random, numbers[0] if numbers else 6, limit) + ("Z" if root == "TIMESTAMP_LTZ" else "")
    if root == "ARRAY":
        return [nested(kind.children[0], nulls) for _ in range(random.randrange(4))]
    if kind.is_map():
        keys = {json.dumps(k): k for k in (nested(kind.children[0], 0) for _ in range(random.randrange(4)))
                if k is not None}
        if root == "MULTISET":
            return [[k, random.randint(1, 3)] for k in keys.values()]
        return [[k, nested(kind.children[1], nulls)] for k in keys.values()]
    if root == "ROW":
        return {n: nested(c, nulls) for n, c in zip(kind.names, kind.children)}
    raise ValueError(root)


def random_rows(random, fields, count, nulls=0.2, digits_max=9):
    kinds = [(f[0], Type(f[1])) for f in fields]
    rows = [{name: random_value(random, kind, nulls, digits_max) for name, kind in kinds} for _ in range(count)]
    # One row with nothing in it, one with everything.
    rows.append({name: random_value(random, kind, 1.0, digits_max) for name, kind in kinds})
    rows.append({name: random_value(random, kind, 0.0, digits_max) for name, kind in kinds})
    return rows


def json_lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


# ---------------------------------------------------------------- SQL


def sql_type(kind):
    """The type of DuckDB's dialect that holds the values of `kind`."""
    root, numbers = kind.root, kind.numbers
    if root == "DECIMAL":
        return f"DECIMAL({numbers[0]}, {numbers[1]})"
    if root in ("CHAR", "VARCHAR", "STRING"):
        return "VARCHAR"
    if root in ("BINARY", "VARBINARY", "BYTES"):
        return "BLOB"
    if root == "INT":
        return "INTEGER"
    if root == "TIMESTAMP":
        return "TIMESTAMP_NS" if numbers and numbers[0] > 6 else "TIMESTAMP"
    if root == "TIMESTAMP_LTZ":
        return "TIMESTAMPTZ"
    if root == "ARRAY":
        return sql_type(kind.children[0]) + "[]"
    if kind.is_map():
        return f"MAP({sql_type(kind.children[0])}, {sql_type(kind.children[1])})"
    if root == "ROW":
        return "STRUCT(" + ", ".join(f'"{n}" {sql_type(c)}' for n, c in zip(kind.names, kind.children)) + ")"
    return root


def sql_literal(value, kind):
    if value is None:
        return f"CAST(NULL AS {sql_type(kind)})"
    if kind.root in ("BINARY", "VARBINARY", "BYTES"):
        return f"unhex('{value}')"
    if kind.root == "ARRAY":
        text = "[" + ", ".join(sql_literal(e, kind.children[0]) for e in value) + "]"
    elif kind.is_map():
        keys = ", ".join(sql_literal(k, kind.children[0]) for k, _ in value)
        items = ", ".join(sql_literal(v, kind.children[1]) for _, v in value)
        text = f"map([{keys}], [{items}])"
    elif kind.root == "ROW":
        text = "{" + ", ".join(f"'{n}': {sql_literal(value[n], c)}" for n, c in zip(kind.names, kind.children)) + "}"
    else:
        text = "'" + str(value).replace("'", "''") + "'"
    return f"CAST({text} AS {sql_type(kind)})"


def sql_insert(table, fields, rows):
    kinds = [(f[0], Type(f[1])) for f in fields]
    tuples = ("(" + ", ".join(sql_literal(row[name], kind) for name, kind in kinds) + ")" for row in rows)
    return f"INSERT INTO {table} VALUES\n" + ",\n".join(tuples) + ";\n"


def ddl_type(spec):
    """The type in the spelling of CREATE TABLE statements of Spark and Flink."""
    kind = Type(spec)
    suffix = "" if kind.nullable else " NOT NULL"
    if isinstance(spec, str):
        text = spec.removesuffix("NOT NULL").strip()
        match = re.fullmatch(r"TIMESTAMP\((\d)\) WITH LOCAL TIME ZONE", text)
        return (f"TIMESTAMP_LTZ({match[1]})" if match else text) + suffix
    if kind.root == "ARRAY" or kind.root == "MULTISET":
        return f"{kind.root}<{ddl_type(spec['element'])}>{suffix}"
    if kind.root == "MAP":
        return f"MAP<{ddl_type(spec['key'])}, {ddl_type(spec['value'])}>{suffix}"
    return "ROW<" + ", ".join(f"{f['name']} {ddl_type(f['type'])}" for f in spec["fields"]) + ">" + suffix


def sql_create(table, fields, partition=(), options=None):
    text = f"CREATE TABLE {table} (" + ", ".join(f'"{f[0]}" {ddl_type(f[1])}' for f in fields) + ")"
    if partition:
        text += " PARTITIONED BY (" + ", ".join(partition) + ")"
    if options:
        text += " WITH (" + ", ".join(f"'{k}' = '{v}'" for k, v in options.items()) + ")"
    return text

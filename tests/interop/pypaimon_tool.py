#!/usr/bin/env python3
"""pypaimon as a command; runs in the venv that build_python.sh makes.

    create WAREHOUSE db.table SPEC.json     {"fields": [[name, arrow type], ...], "partition": [], "options": {}}
    write  WAREHOUSE db.table ROWS.jsonl    one commit
    read   WAREHOUSE db.table [SNAPSHOT]    sorted rows, in the form of tests/data/README.md
    serve                                   a JSON array of these words a line, a JSON object as reply
"""

import datetime
import decimal
import json
import re
import struct
import sys
import traceback

import pyarrow as pa
from pypaimon import CatalogFactory, Schema

EPOCH = datetime.date(1970, 1, 1)
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def open_table(warehouse, name, options=None):
    catalog = CatalogFactory.create({"warehouse": warehouse})
    table = catalog.get_table(name)
    return table.copy(options) if options else table


def arrow_schema(table):
    from pypaimon.schema.data_types import PyarrowFieldParser

    return PyarrowFieldParser.from_paimon_schema(table.fields)


def number(value, width):
    """The fewest digits that read back in `width` bytes."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if width == 4:
        for digits in range(1, 10):
            short = float(f"{value:.{digits - 1}e}")
            if struct.pack("f", short) == struct.pack("f", value):
                return short
    return value


def date_text(days):
    return (EPOCH + datetime.timedelta(days=days)).isoformat()


def clock_text(seconds):
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def to_json(scalar, kind):
    """One Arrow scalar as the value that json.dumps prints; maps become sorted pairs."""
    if not scalar.is_valid:
        return None
    if pa.types.is_floating(kind):
        return number(scalar.as_py(), kind.bit_width // 8)
    if pa.types.is_decimal(kind):
        return format(scalar.as_py(), "f")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return scalar.as_py().hex()
    if pa.types.is_date(kind):
        return date_text(scalar.value)
    if pa.types.is_time(kind):
        millis = scalar.value * 1000 // UNITS[kind.unit]
        return f"{clock_text(millis // 1000)}.{millis % 1000:03}"
    if pa.types.is_timestamp(kind):
        seconds, rest = divmod(scalar.value, UNITS[kind.unit])
        days, seconds = divmod(seconds, 86400)
        fraction = f"{rest * (10**9 // UNITS[kind.unit]):09}".rstrip("0")
        text = f"{date_text(days)}T{clock_text(seconds)}" + (f".{fraction}" if fraction else "")
        return text + ("Z" if kind.tz else "")
    if pa.types.is_map(kind):
        pairs = [[to_json(e["key"], kind.key_type), to_json(e["value"], kind.item_type)]
                 for e in scalar.values]
        return sorted(pairs, key=json.dumps)
    if pa.types.is_list(kind):
        return [to_json(e, kind.value_type) for e in scalar.values]
    if pa.types.is_struct(kind):
        return {f.name: to_json(scalar[f.name], f.type) for f in kind}
    return scalar.as_py()


def parse_instant(text, unit):
    date, clock = text.rstrip("Z").split("T")
    days = (datetime.date.fromisoformat(date) - EPOCH).days
    whole, _, fraction = clock.partition(".")
    hours, minutes, seconds = (int(p) for p in whole.split(":"))
    nanos = int(fraction.ljust(9, "0")) if fraction else 0
    total = (days * 86400 + hours * 3600 + minutes * 60 + seconds) * 10**9 + nanos
    return total // (10**9 // UNITS[unit])


def storage(value, kind):
    """The Python value from which pyarrow builds `kind` without a loss."""
    if value is None:
        return None
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_decimal(kind):
        return decimal.Decimal(value)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return bytes.fromhex(value)
    if pa.types.is_date(kind):
        return datetime.date.fromisoformat(value)
    if pa.types.is_time(kind):
        return parse_instant("1970-01-01T" + value, kind.unit)
    if pa.types.is_timestamp(kind):
        return parse_instant(value, kind.unit)
    if pa.types.is_map(kind):
        return [(storage(k, kind.key_type), storage(v, kind.item_type)) for k, v in value]
    if pa.types.is_list(kind):
        return [storage(e, kind.value_type) for e in value]
    if pa.types.is_struct(kind):
        return {f.name: storage(value.get(f.name), f.type) for f in kind}
    return value


def arrow_type(text):
    """The Arrow type for a Paimon type's text, as far as tables are created here."""
    from pypaimon.schema.data_types import DataTypeParser, PyarrowFieldParser

    return PyarrowFieldParser.from_paimon_type(DataTypeParser.parse_data_type(text))


def create(warehouse, name, spec_path):
    with open(spec_path, encoding="utf-8") as file:
        spec = json.load(file)
    fields = [pa.field(f[0], arrow_type(f[1]),
                       nullable=not (isinstance(f[1], str) and f[1].endswith("NOT NULL")))
              for f in spec["fields"]]
    catalog = CatalogFactory.create({"warehouse": warehouse})
    catalog.create_database(name.split(".")[0], True)
    schema = Schema.from_pyarrow_schema(pa.schema(fields), partition_keys=spec.get("partition"),
                                        options=spec.get("options"))
    catalog.create_table(name, schema, False)
    return []


def write(warehouse, name, rows_path):
    table = open_table(warehouse, name)
    schema = arrow_schema(table)
    with open(rows_path, encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    columns = [pa.array([storage(row.get(f.name), f.type) for row in rows], f.type) for f in schema]
    builder = table.new_batch_write_builder()
    writer = builder.new_write()
    commit = builder.new_commit()
    writer.write_arrow(pa.Table.from_arrays(columns, schema=schema))
    commit.commit(writer.prepare_commit())
    writer.close()
    commit.close()
    return []


def read(warehouse, name, snapshot=None):
    table = open_table(warehouse, name, {"scan.snapshot-id": snapshot} if snapshot else None)
    builder = table.new_read_builder()
    data = builder.new_read().to_arrow(builder.new_scan().plan().splits())
    if data is None:
        return []
    columns = [(f.name, f.type, data.column(f.name)) for f in data.schema]
    lines = []
    for i in range(data.num_rows):
        row = {name: to_json(column[i], kind) for name, kind, column in columns}
        lines.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")))
    return sorted(lines, key=lambda line: line.encode())


COMMANDS = {"create": create, "write": write, "read": read}


def serve():
    for line in sys.stdin:
        words = json.loads(line)
        try:
            reply = {"lines": COMMANDS[words[0]](*words[1:])}
        except Exception:
            reply = {"error": traceback.format_exc()}
        print(json.dumps(reply), flush=True)


def main(words):
    if words == ["serve"]:
        serve()
    elif words and words[0] in COMMANDS:
        for line in COMMANDS[words[0]](*words[1:]):
            print(line)
    else:
        sys.exit(re.sub(r"^", "  ", __doc__, flags=re.MULTILINE))


if __name__ == "__main__":
    main(sys.argv[1:])

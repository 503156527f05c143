"""What the peers cannot do, with the reason: such cells are `-` in the matrix.

A rule is (pattern of the row, writer > reader, formats, reason); `*` stands for any. pypaimon is 2.1.0.
"""

import re

RULES = [
    (r".*MULTISET.*", "python > *", "*", "pypaimon knows no MULTISET"),
    (r".*MULTISET.*", "* > python", "*", "pypaimon knows no MULTISET"),
    (r"MULTISET of others", "*", "avro", "Java ends with an exception when it writes MULTISET of other types than text to Avro"),
    (r"TIME\(4\.\.9\)", "*", "avro", "Java refuses tables in Avro with TIME of more than 3 digits"),
    (r"TIMESTAMP(_LTZ)?\(7\.\.9\)", "*", "avro", "Java refuses tables in Avro with timestamps of more than 6 digits"),
    (r"timestamps just before 1970", "kelda > *", "orc", "ORC has no fractions of this second: Java reads those after 1970, Kelda refuses to write them"),
    (r"timestamps just before 1970", "python > *", "orc", "pyarrow writes negative nanoseconds, Java refuses the file too"),
    (r"compression none", "python > *", "orc", "pypaimon hands the word on to pyarrow, which calls it uncompressed"),
    (r"ARRAY of (numbers|texts|DECIMAL|DATE, TIME|TIMESTAMP|ARRAY)|history: add columns", "python > *", "avro",
     "pypaimon writes no null elements to Avro"),
    (r"ARRAY of ROW", "python > *", "avro", "pypaimon names records inside arrays alike in Avro"),
    (r"MAP of .*|ROW of ARRAY, MAP|all in one|history: (add|drop|rename|types of) (members|elements)|history: everything.*", "python > *",
     "avro", "pypaimon writes no MAP to Avro"),
    (r"ARRAY of DATE, TIME", "python > *", "orc", "pypaimon writes no TIME inside arrays to ORC"),
    (r"ROW of NOT NULL", "* > python", "orc", "pypaimon expects NOT NULL in ORC files, which do not have it"),
    (r"history.*: dates and times", "* > python", "parquet avro", "pypaimon cuts digits of timestamps before 1970 the other way"),
    (r"history.*: to STRING", "* > python", "orc", "pypaimon takes all timestamps in ORC for TIMESTAMP(9)"),
    (r"timestamps before October 1582", "* > python", "orc", "pyarrow holds timestamps of ORC files in 64-bit nanoseconds"),
    (r"timestamps before October 1582", "python > *", "orc", "pyarrow writes negative nanoseconds, Java refuses the file too"),
    (r"row tracking", "*", "avro", "Java finds no row ids in Avro files: its reader ends with an exception"),
    (r"partition (FLOAT|DOUBLE)", "python > *", "*", "pypaimon names the folders of NaN and Infinity nan and inf"),
    (r"partition (FLOAT|DOUBLE)", "* > python", "*", "pypaimon names the folders of NaN and Infinity nan and inf"),
    (r"index .*", "python > *", "*", "pypaimon writes no file indexes"),
    (r"deletion vectors.*", "python > *", "*", "pypaimon deletes rows of data-evolution tables only"),
]


def matches(rule, writer, reader, form):
    wanted = rule[1].split(" > ") if rule[1] != "*" else ["*", "*"]
    return wanted[0] in ("*", writer) and wanted[1] in ("*", reader) and (rule[2] == "*" or form in rule[2].split())


def reason(feature, column, form):
    """None: it has to work."""
    for rule in RULES:
        if re.fullmatch(rule[0], feature) and matches(rule, *column, form):
            return rule[3]
    return None

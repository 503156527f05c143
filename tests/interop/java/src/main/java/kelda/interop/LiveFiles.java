package kelda.interop;

import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.StringJoiner;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryArray;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.stats.SimpleStats;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.RowType;

/** The live data files of the newest snapshot of an append table, decoded, one JSON object each. */
final class LiveFiles {
    private LiveFiles() {}

    static List<String> of(FileStoreTable table) {
        List<String> out = new ArrayList<>();
        Snapshot snapshot = table.snapshotManager().latestSnapshot();
        if (snapshot != null) {
            for (ManifestEntry e : table.store().newScan().withSnapshot(snapshot).plan().files()) {
                out.add(entry(table, e));
            }
        }
        out.sort(JsonForm.BYTES);
        return out;
    }

    private static String entry(FileStoreTable table, ManifestEntry e) {
        DataFileMeta f = e.file();
        StringJoiner out = new StringJoiner(",", "{", "}");
        out.add("\"partition\":" + JsonForm.row(e.partition(), table.store().partitionType()));
        out.add("\"bucket\":" + e.bucket());
        out.add("\"totalBuckets\":" + e.totalBuckets());
        out.add("\"level\":" + f.level());
        out.add("\"fileName\":" + JsonForm.quote(f.fileName()));
        out.add("\"fileSize\":" + f.fileSize());
        out.add("\"rowCount\":" + f.rowCount());
        out.add("\"deleteRowCount\":" + f.deleteRowCount().map(String::valueOf).orElse("null"));
        out.add("\"schemaId\":" + f.schemaId());
        out.add("\"minSequenceNumber\":" + f.minSequenceNumber());
        out.add("\"maxSequenceNumber\":" + f.maxSequenceNumber());
        out.add("\"fileSource\":" + f.fileSource().map(s -> JsonForm.quote(s.toString())).orElse("null"));
        RowType columns = statsColumns(table, f);
        if (f.valueStats().minValues().getFieldCount() == columns.getFieldCount()) {
            out.add("\"valueStats\":" + stats(f.valueStats(), columns));
        }
        out.add("\"valueStatsCols\":" + names(f.valueStatsCols()));
        out.add("\"extraFiles\":" + names(f.extraFiles()));
        byte[] index = f.embeddedIndex();
        out.add("\"embeddedIndex\":" + (index == null ? "null" : JsonForm.quote(HexFormat.of().formatHex(index))));
        out.add("\"firstRowId\":" + f.firstRowId());
        out.add("\"writeCols\":" + names(f.writeCols()));
        return out.toString();
    }

    /** The columns that the file's statistics describe, all nullable: a bound may be unknown. */
    private static RowType statsColumns(FileStoreTable table, DataFileMeta f) {
        List<String> only = f.valueStatsCols() != null ? f.valueStatsCols() : f.writeCols();
        List<DataField> fields = new ArrayList<>();
        for (DataField field : table.schemaManager().schema(f.schemaId()).fields()) {
            if (only == null || only.contains(field.name())) {
                fields.add(field.newType(field.type().copy(true)));
            }
        }
        return new RowType(fields);
    }

    private static String stats(SimpleStats s, RowType columns) {
        BinaryArray counts = s.nullCounts();
        StringJoiner nulls = new StringJoiner(",", "[", "]");
        for (int i = 0; i < counts.size(); i++) {
            nulls.add(counts.isNullAt(i) ? "null" : Long.toString(counts.getLong(i)));
        }
        return "{\"min\":" + JsonForm.row(s.minValues(), columns) + ",\"max\":" + JsonForm.row(s.maxValues(), columns)
                + ",\"nullCounts\":" + nulls + "}";
    }

    private static String names(List<String> names) {
        if (names == null) {
            return "null";
        }
        StringJoiner out = new StringJoiner(",", "[", "]");
        names.forEach(n -> out.add(JsonForm.quote(n)));
        return out.toString();
    }
}

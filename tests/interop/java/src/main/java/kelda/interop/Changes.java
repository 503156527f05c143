package kelda.interop;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.Snapshot;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.deletionvectors.Bitmap64DeletionVector;
import org.apache.paimon.deletionvectors.BitmapDeletionVector;
import org.apache.paimon.deletionvectors.DeletionVector;
import org.apache.paimon.deletionvectors.append.AppendDeleteFileMaintainer;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.index.IndexFileMeta;
import org.apache.paimon.io.CompactIncrement;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.io.DataIncrement;
import org.apache.paimon.manifest.FileKind;
import org.apache.paimon.manifest.IndexManifestEntry;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.SchemaChange;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.CommitMessage;
import org.apache.paimon.table.sink.CommitMessageImpl;
import org.apache.paimon.table.sink.TableCommitImpl;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataTypeJsonParser;

/** Changes of a table that are no writes of rows: of its columns, and rows deleted by deletion vectors. */
final class Changes {
    private Changes() {}

    /** Each change is an object with one of add, drop, rename, retype, move, which names a path of fields. */
    static List<SchemaChange> schema(JsonNode changes) {
        List<SchemaChange> out = new ArrayList<>();
        changes.forEach(c -> out.add(change(c)));
        return out;
    }

    private static SchemaChange change(JsonNode c) {
        if (c.has("add")) {
            return SchemaChange.addColumn(path(c.get("add")), DataTypeJsonParser.parseDataType(c.get("type")), null, place(c, "add"));
        }
        if (c.has("drop")) {
            return SchemaChange.dropColumn(path(c.get("drop")));
        }
        if (c.has("rename")) {
            return SchemaChange.renameColumn(path(c.get("rename")), c.get("to").asText());
        }
        if (c.has("retype")) {
            return SchemaChange.updateColumnType(path(c.get("retype")), DataTypeJsonParser.parseDataType(c.get("type")), true);
        }
        if (c.has("move")) {
            return SchemaChange.updateColumnPosition(place(c, "move"));
        }
        throw new IllegalArgumentException("unknown change " + c);
    }

    private static String[] path(JsonNode names) {
        String[] out = new String[names.size()];
        for (int i = 0; i < out.length; i++) {
            out[i] = names.get(i).asText();
        }
        return out;
    }

    /** Null: at the end. */
    private static SchemaChange.Move place(JsonNode c, String key) {
        String name = c.get(key).get(c.get(key).size() - 1).asText();
        if (c.has("after")) {
            return SchemaChange.Move.after(name, c.get("after").asText());
        }
        return c.has("first") ? SchemaChange.Move.first(name) : null;
    }

    /** Deletes the rows of an append table without buckets whose number in the first column leaves `rest` when divided by `by`. */
    static List<String> delete(FileStoreTable table, int by, int rest) throws Exception {
        Snapshot snapshot = table.snapshotManager().latestSnapshot();
        Map<BinaryRow, AppendDeleteFileMaintainer> partitions = new LinkedHashMap<>();
        for (Split s : table.newSnapshotReader().withSnapshot(snapshot).read().splits()) {
            DataSplit split = (DataSplit) s;
            AppendDeleteFileMaintainer vectors =
                    partitions.computeIfAbsent(
                            split.partition(),
                            p -> BaseAppendDeleteFileMaintainer.forUnawareAppend(table.store().newIndexFileHandler(), snapshot, p));
            for (DataFileMeta file : split.dataFiles()) {
                DeletionVector vector = positions(table, split, file, by, rest);
                if (vector.isEmpty()) {
                    continue;
                }
                if (vectors.getDeletionFile(file.fileName()) != null) {
                    vector.merge(vectors.getDeletionVector(file.fileName()));
                }
                vectors.notifyNewDeletionVector(file.fileName(), vector);
            }
        }
        List<CommitMessage> messages = new ArrayList<>();
        for (AppendDeleteFileMaintainer vectors : partitions.values()) {
            List<IndexFileMeta> added = new ArrayList<>();
            List<IndexFileMeta> gone = new ArrayList<>();
            for (IndexManifestEntry e : vectors.persist()) {
                (e.kind() == FileKind.ADD ? added : gone).add(e.indexFile());
            }
            messages.add(
                    new CommitMessageImpl(
                            vectors.getPartition(), vectors.getBucket(), null,
                            new DataIncrement(List.of(), List.of(), List.of(), added, gone), CompactIncrement.emptyIncrement()));
        }
        try (TableCommitImpl c = table.newCommit("java")) {
            c.commit(Long.MAX_VALUE, messages);
        }
        return List.of();
    }

    /** Rows of one file, as it is on disk, by their position. */
    private static DeletionVector positions(FileStoreTable table, DataSplit split, DataFileMeta file, int by, int rest) throws Exception {
        DataSplit alone =
                DataSplit.builder()
                        .withSnapshot(split.snapshotId())
                        .withPartition(split.partition())
                        .withBucket(split.bucket())
                        .withBucketPath(split.bucketPath())
                        .withTotalBuckets(split.totalBuckets())
                        .withDataFiles(List.of(file))
                        .isStreaming(false)
                        .rawConvertible(true)
                        .build();
        DeletionVector out = table.coreOptions().deletionVectorBitmap64() ? new Bitmap64DeletionVector() : new BitmapDeletionVector();
        long[] position = {0};
        try (RecordReader<InternalRow> rows = table.newReadBuilder().newRead().createReader(alone)) {
            rows.forEachRemaining(
                    row -> {
                        if (Math.floorMod(row.getInt(0), by) == rest) {
                            out.delete(position[0]);
                        }
                        position[0]++;
                    });
        }
        return out;
    }
}

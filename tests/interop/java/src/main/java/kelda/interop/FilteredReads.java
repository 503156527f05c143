package kelda.interop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.serializer.InternalRowSerializer;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.DataSplit;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.types.DataTypeRoot;

/** Reads with filters, pushed down to file indexes, against the filter applied to a full read. */
final class FilteredReads {
    private final FileStoreTable table;
    private long files;
    private long rows;

    private FilteredReads(FileStoreTable table) {
        this.table = table;
    }

    /**
     * Asks for `count` random filters on the columns behind the first, a BIGINT that tells the rows apart. One line for each
     * that loses rows, then one with the sums: files planned, rows read and rows matched of all.
     */
    static List<String> compare(FileStoreTable table, int count, long seed) throws Exception {
        List<InternalRow> all = new FilteredReads(table).read(null);
        FilteredReads filtered = new FilteredReads(table);
        List<String> out = new ArrayList<>();
        Random random = new Random(seed);
        long matched = 0;
        for (int i = 0; i < count; i++) {
            Predicate filter = filtered.filter(all, random);
            if (filter == null) {
                continue;
            }
            TreeSet<Long> want = matching(all, filter);
            TreeSet<Long> got = matching(filtered.read(filter), filter);
            matched += want.size();
            if (!want.equals(got)) {
                out.add("{\"filter\":" + JsonForm.quote(filter.toString()) + ",\"want\":" + want.size() + ",\"got\":" + got.size() + "}");
            }
        }
        out.add("{\"files\":" + filtered.files + ",\"rows\":" + filtered.rows + ",\"matched\":" + matched + "}");
        return out;
    }

    private static TreeSet<Long> matching(List<InternalRow> rows, Predicate filter) {
        TreeSet<Long> ids = new TreeSet<>();
        for (InternalRow row : rows) {
            if (filter.test(row)) {
                ids.add(row.getLong(0));
            }
        }
        return ids;
    }

    /** Null when the column drawn has no value to compare with. */
    private Predicate filter(List<InternalRow> rows, Random random) {
        int column = 1 + random.nextInt(table.rowType().getFieldCount() - 1);
        if (table.rowType().getTypeAt(column).getTypeRoot() == DataTypeRoot.MAP) {
            return null;
        }
        InternalRow.FieldGetter values = InternalRow.createFieldGetter(table.rowType().getTypeAt(column), column);
        Object a = values.getFieldOrNull(rows.get(random.nextInt(rows.size())));
        Object b = values.getFieldOrNull(rows.get(random.nextInt(rows.size())));
        if (a == null || b == null) {
            return null;
        }
        PredicateBuilder build = new PredicateBuilder(table.rowType());
        switch (random.nextInt(9)) {
            case 0:
                return build.lessThan(column, a);
            case 1:
                return build.greaterOrEqual(column, a);
            case 2:
                return build.in(column, Arrays.asList(a, b));
            case 3:
                return build.isNull(column);
            case 4:
                return build.notEqual(column, a);
            case 5:
                return build.notIn(column, Arrays.asList(a, b));
            case 6:
                return PredicateBuilder.and(build.greaterThan(column, a), build.isNotNull(column));
            default:
                return build.equal(column, a);
        }
    }

    private List<InternalRow> read(Predicate filter) throws Exception {
        ReadBuilder builder = table.newReadBuilder();
        if (filter != null) {
            builder = builder.withFilter(filter);
        }
        List<Split> splits = builder.newScan().plan().splits();
        for (Split split : splits) {
            files += ((DataSplit) split).dataFiles().size();
        }
        InternalRowSerializer serializer = new InternalRowSerializer(table.rowType());
        List<InternalRow> out = new ArrayList<>();
        try (RecordReader<InternalRow> reader = builder.newRead().createReader(splits)) {
            reader.forEachRemaining(row -> out.add(serializer.copy(row)));
        }
        rows += out.size();
        return out;
    }
}

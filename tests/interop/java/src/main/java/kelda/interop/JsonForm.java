package kelda.interop;

import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.paimon.data.BinaryString;
import org.apache.paimon.data.Decimal;
import org.apache.paimon.data.GenericArray;
import org.apache.paimon.data.GenericMap;
import org.apache.paimon.data.GenericRow;
import org.apache.paimon.data.InternalArray;
import org.apache.paimon.data.InternalMap;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.data.Timestamp;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.types.ArrayType;
import org.apache.paimon.types.DataField;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;
import org.apache.paimon.types.DecimalType;
import org.apache.paimon.types.LocalZonedTimestampType;
import org.apache.paimon.types.MapType;
import org.apache.paimon.types.MultisetType;
import org.apache.paimon.types.RowType;
import org.apache.paimon.types.TimestampType;

/** Rows as JSON text and back, in the form that tests/data/README.md describes. */
final class JsonForm {
    /** Order of lines and of map entries: unsigned UTF-8 bytes. */
    static final Comparator<String> BYTES =
            (a, b) ->
                    Arrays.compareUnsigned(
                            a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));

    private JsonForm() {}

    static String row(InternalRow row, RowType type) {
        List<String> members = new ArrayList<>();
        for (int i = 0; i < type.getFieldCount(); i++) {
            DataField field = type.getFields().get(i);
            Object v = InternalRow.createFieldGetter(field.type(), i).getFieldOrNull(row);
            members.add(quote(field.name()) + ":" + text(v, field.type()));
        }
        return "{" + String.join(",", members) + "}";
    }

    static String text(Object v, DataType type) {
        if (v == null) {
            return "null";
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN, TINYINT, SMALLINT, INTEGER, BIGINT:
                return v.toString();
            case FLOAT:
                return number(v.toString(), (Float) v, s -> s.floatValue() == (Float) v);
            case DOUBLE:
                return number(v.toString(), (Double) v, s -> s.doubleValue() == (Double) v);
            case DECIMAL:
                return quote(((Decimal) v).toBigDecimal().toPlainString());
            case CHAR, VARCHAR:
                return quote(v.toString());
            case BINARY, VARBINARY:
                return quote(HexFormat.of().formatHex((byte[]) v));
            case DATE:
                return quote(LocalDate.ofEpochDay((Integer) v).toString());
            case TIME_WITHOUT_TIME_ZONE:
                LocalTime time = LocalTime.ofNanoOfDay((Integer) v * 1_000_000L);
                return quote(clock(time) + String.format(".%03d", time.getNano() / 1_000_000));
            case TIMESTAMP_WITHOUT_TIME_ZONE:
                return quote(instant((Timestamp) v, ((TimestampType) type).getPrecision()));
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return quote(instant((Timestamp) v, ((LocalZonedTimestampType) type).getPrecision()) + "Z");
            case ARRAY:
                return "[" + String.join(",", elements((InternalArray) v, ((ArrayType) type).getElementType())) + "]";
            case MAP:
                return pairs((InternalMap) v, ((MapType) type).getKeyType(), ((MapType) type).getValueType());
            case MULTISET:
                return pairs((InternalMap) v, ((MultisetType) type).getElementType(), DataTypes.INT());
            case ROW:
                return row((InternalRow) v, (RowType) type);
            default:
                throw new UnsupportedOperationException("no JSON form for " + type);
        }
    }

    private static List<String> elements(InternalArray array, DataType type) {
        InternalArray.ElementGetter getter = InternalArray.createElementGetter(type);
        List<String> out = new ArrayList<>();
        for (int i = 0; i < array.size(); i++) {
            out.add(text(getter.getElementOrNull(array, i), type));
        }
        return out;
    }

    private static String pairs(InternalMap map, DataType key, DataType value) {
        List<String> k = elements(map.keyArray(), key);
        List<String> v = elements(map.valueArray(), value);
        List<String> out = new ArrayList<>();
        for (int i = 0; i < k.size(); i++) {
            out.add("[" + k.get(i) + "," + v.get(i) + "]");
        }
        out.sort(BYTES);
        return "[" + String.join(",", out) + "]";
    }

    private static String clock(LocalTime t) {
        return String.format("%02d:%02d:%02d", t.getHour(), t.getMinute(), t.getSecond());
    }

    private static String instant(Timestamp v, int precision) {
        LocalDateTime at = v.toLocalDateTime();
        StringBuilder fraction = new StringBuilder(String.format("%09d", at.getNano()));
        while (fraction.length() > precision && fraction.charAt(fraction.length() - 1) == '0') {
            fraction.setLength(fraction.length() - 1);
        }
        return at.toLocalDate() + "T" + clock(at.toLocalTime()) + (fraction.length() == 0 ? "" : "." + fraction);
    }

    private interface ReadsBack {
        boolean test(BigDecimal digits);
    }

    /** The fewest digits that read back; Float.toString of JDK 17 does not always give them. */
    private static String number(String plain, double v, ReadsBack readsBack) {
        if (Double.isNaN(v) || Double.isInfinite(v)) {
            return quote(plain);
        }
        if (v == 0) {
            return plain;
        }
        BigDecimal exact = new BigDecimal(v);
        int precision = 1;
        BigDecimal digits = exact.round(new MathContext(precision));
        while (!readsBack.test(digits)) {
            digits = exact.round(new MathContext(++precision));
        }
        digits = digits.stripTrailingZeros();
        int exponent = digits.precision() - digits.scale() - 1;
        if (exponent >= -4 && exponent < 16) {
            return digits.setScale(Math.max(1, digits.scale())).toPlainString();
        }
        String mantissa = digits.movePointLeft(exponent).stripTrailingZeros().toPlainString();
        return mantissa + String.format("e%s%02d", exponent < 0 ? "-" : "+", Math.abs(exponent));
    }

    static String quote(String s) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : s.toCharArray()) {
            int named = "\b\t\n\f\r\"\\".indexOf(c);
            if (named >= 0) {
                out.append('\\').append("btnfr\"\\".charAt(named));
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    static Object parse(JsonNode n, DataType type) {
        if (n == null || n.isNull()) {
            return null;
        }
        switch (type.getTypeRoot()) {
            case BOOLEAN:
                return n.booleanValue();
            case TINYINT:
                return (byte) n.intValue();
            case SMALLINT:
                return (short) n.intValue();
            case INTEGER:
                return n.intValue();
            case BIGINT:
                return n.longValue();
            case FLOAT:
                return Float.valueOf(n.asText());
            case DOUBLE:
                return Double.valueOf(n.asText());
            case DECIMAL:
                DecimalType d = (DecimalType) type;
                return Decimal.fromBigDecimal(new BigDecimal(n.asText()), d.getPrecision(), d.getScale());
            case CHAR, VARCHAR:
                return BinaryString.fromString(n.asText());
            case BINARY, VARBINARY:
                return HexFormat.of().parseHex(n.asText());
            case DATE:
                return (int) LocalDate.parse(n.asText()).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE:
                return (int) (LocalTime.parse(n.asText()).toNanoOfDay() / 1_000_000);
            case TIMESTAMP_WITHOUT_TIME_ZONE, TIMESTAMP_WITH_LOCAL_TIME_ZONE:
                return Timestamp.fromLocalDateTime(LocalDateTime.parse(n.asText().replace("Z", "")));
            case ARRAY:
                List<Object> items = new ArrayList<>();
                n.forEach(e -> items.add(parse(e, ((ArrayType) type).getElementType())));
                return new GenericArray(items.toArray());
            case MAP:
                return map(n, ((MapType) type).getKeyType(), ((MapType) type).getValueType());
            case MULTISET:
                return map(n, ((MultisetType) type).getElementType(), DataTypes.INT());
            case ROW:
                return parseRow(n, (RowType) type);
            default:
                throw new UnsupportedOperationException("no JSON form for " + type);
        }
    }

    static GenericRow parseRow(JsonNode n, RowType type) {
        GenericRow row = new GenericRow(type.getFieldCount());
        for (int i = 0; i < type.getFieldCount(); i++) {
            row.setField(i, parse(n.get(type.getFieldNames().get(i)), type.getTypeAt(i)));
        }
        return row;
    }

    private static GenericMap map(JsonNode n, DataType key, DataType value) {
        Map<Object, Object> out = new LinkedHashMap<>();
        n.forEach(pair -> out.put(parse(pair.get(0), key), parse(pair.get(1), value)));
        return new GenericMap(out);
    }
}

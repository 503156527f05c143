#include <random>

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/util/decimal.h>

#include "kelda/avro/arrow_schema.h"
#include "kelda/avro/test_support.h"
#include "kelda/base/status.h"

// Random schemas and data: what is written comes back, whatever is projected; damaged files are
// errors, never crashes.

namespace kelda::avro {

namespace {

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  int64_t Below(int64_t limit) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit));
  }

  std::string Record(int depth) {
    const int64_t fields = 1 + Below(5);
    std::string json =
        R"({"type":"record","name":"r)" + std::to_string(names_++) + R"(","fields":[)";
    for (int64_t i = 0; i < fields; ++i) {
      if (i > 0) json += ',';
      json += R"({"name":"c)" + std::to_string(i) + R"(","type":)" + Value(depth) + "}";
    }
    return json + "]}";
  }

  std::shared_ptr<arrow::Array> Array(const std::shared_ptr<arrow::Field>& field, int64_t length) {
    std::unique_ptr<arrow::ArrayBuilder> builder;
    EXPECT_TRUE(arrow::MakeBuilder(arrow::default_memory_pool(), field->type(), &builder).ok());
    for (int64_t i = 0; i < length; ++i) Append(builder.get(), *field->type(), field->nullable());
    return builder->Finish().ValueOrDie();
  }

 private:
  std::string Value(int depth) {
    std::string type = NonNull(depth);
    switch (Below(4)) {
      case 0:
        return type;
      case 1:
        return "[" + type + ",\"null\"]";
      default:
        return "[\"null\"," + type + "]";
    }
  }

  std::string NonNull(int depth) {
    if (depth > 0 && Below(3) == 0) {
      switch (Below(4)) {
        case 0:
          return Record(depth - 1);
        case 1:
          return R"({"type":"map","values":)" + Value(depth - 1) + "}";
        case 2:
          return R"({"type":"array","items":{"type":"record","name":"r)" +
                 std::to_string(names_++) + R"(","fields":[{"name":"key","type":)" + NonNull(0) +
                 R"(},{"name":"value","type":)" + Value(depth - 1) + R"(}]},"logicalType":"map"})";
        default:
          return R"({"type":"array","items":)" + Value(depth - 1) + "}";
      }
    }
    static const char* const kLeaves[] = {
        "\"boolean\"",
        "\"int\"",
        "\"long\"",
        "\"float\"",
        "\"double\"",
        "\"bytes\"",
        "\"string\"",
        R"({"type":"int","logicalType":"date"})",
        R"({"type":"int","logicalType":"time-millis"})",
        R"({"type":"long","logicalType":"time-micros"})",
        R"({"type":"long","logicalType":"timestamp-millis"})",
        R"({"type":"long","logicalType":"local-timestamp-micros"})",
        R"({"type":"bytes","logicalType":"decimal","precision":38,"scale":5})",
        R"({"type":"bytes","logicalType":"decimal","precision":4,"scale":4})",
    };
    const int64_t kind = Below(std::size(kLeaves) + 1);
    if (kind < static_cast<int64_t>(std::size(kLeaves))) return kLeaves[kind];
    return R"({"type":"fixed","name":"x)" + std::to_string(names_++) + R"(","size":)" +
           std::to_string(Below(20)) + "}";
  }

  int64_t Integer() {
    const int64_t value = static_cast<int64_t>(random_());
    return Below(8) == 0 ? (Below(2) == 0 ? INT64_MIN : INT64_MAX) : value >> Below(64);
  }

  std::string Text(bool is_utf8) {
    std::string text;
    for (int64_t i = Below(12); i > 0; --i) {
      if (is_utf8) {
        text += std::array<const char*, 4>{"a", "ß", "日", "😀"}[Below(4)];
      } else {
        text += static_cast<char>(Below(256));
      }
    }
    return text;
  }

  template <typename Builder, typename Value>
  static void Put(arrow::ArrayBuilder* builder, const Value& value) {
    EXPECT_TRUE(static_cast<Builder*>(builder)->Append(value).ok());
  }

  void Append(arrow::ArrayBuilder* builder, const arrow::DataType& type, bool nullable) {
    if (nullable && Below(3) == 0) {
      EXPECT_TRUE(builder->AppendNull().ok());
      return;
    }
    switch (type.id()) {
      case arrow::Type::BOOL:
        return Put<arrow::BooleanBuilder>(builder, Below(2) == 0);
      case arrow::Type::INT32:
        return Put<arrow::Int32Builder>(builder, static_cast<int32_t>(Integer()));
      case arrow::Type::DATE32:
        return Put<arrow::Date32Builder>(builder, static_cast<int32_t>(Integer()));
      case arrow::Type::TIME32:
        return Put<arrow::Time32Builder>(builder, static_cast<int32_t>(Below(86'400'000)));
      case arrow::Type::TIME64:
        return Put<arrow::Time64Builder>(builder, Below(86'400'000'000));
      case arrow::Type::INT64:
        return Put<arrow::Int64Builder>(builder, Integer());
      case arrow::Type::TIMESTAMP:
        return Put<arrow::TimestampBuilder>(builder, Integer());
      case arrow::Type::FLOAT:
        return Put<arrow::FloatBuilder>(builder, static_cast<float>(Integer()));
      case arrow::Type::DOUBLE:
        return Put<arrow::DoubleBuilder>(builder, static_cast<double>(Integer()));
      case arrow::Type::STRING:
        return Put<arrow::StringBuilder>(builder, Text(true));
      case arrow::Type::BINARY:
        return Put<arrow::BinaryBuilder>(builder, Text(false));
      case arrow::Type::FIXED_SIZE_BINARY:
        return Put<arrow::FixedSizeBinaryBuilder>(
            builder, std::string(static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width(),
                                 static_cast<char>(Below(256))));
      case arrow::Type::DECIMAL128:
        return AppendDecimal(builder, static_cast<const arrow::Decimal128Type&>(type).precision());
      default:
        return AppendNested(builder, type);
    }
  }

  void AppendDecimal(arrow::ArrayBuilder* builder, int32_t precision) {
    // Random number of digits, so that every encoded length occurs.
    arrow::Decimal128 value(0);
    for (int64_t digits = Below(precision + 1); digits > 0; --digits)
      value = value * 10 + Below(10);
    Put<arrow::Decimal128Builder>(builder, Below(2) == 0 ? value : -value);
  }

  void AppendNested(arrow::ArrayBuilder* builder, const arrow::DataType& type) {
    if (type.id() == arrow::Type::STRUCT) {
      auto* record = static_cast<arrow::StructBuilder*>(builder);
      EXPECT_TRUE(record->Append().ok());
      for (int i = 0; i < type.num_fields(); ++i) {
        Append(record->field_builder(i), *type.field(i)->type(), type.field(i)->nullable());
      }
    } else if (type.id() == arrow::Type::MAP) {
      auto* map = static_cast<arrow::MapBuilder*>(builder);
      const auto& map_type = static_cast<const arrow::MapType&>(type);
      EXPECT_TRUE(map->Append().ok());
      for (int64_t i = Below(4); i > 0; --i) {
        Append(map->key_builder(), *map_type.key_type(), false);
        Append(map->item_builder(), *map_type.item_type(), map_type.item_field()->nullable());
      }
    } else {
      ASSERT_EQ(type.id(), arrow::Type::LIST);
      auto* list = static_cast<arrow::ListBuilder*>(builder);
      EXPECT_TRUE(list->Append().ok());
      for (int64_t i = Below(4); i > 0; --i) {
        Append(list->value_builder(), *type.field(0)->type(), type.field(0)->nullable());
      }
    }
  }

  std::mt19937_64 random_;
  int names_ = 0;
};

struct Sample {
  std::string schema_json;
  std::shared_ptr<arrow::RecordBatch> batch;
};

Sample MakeSample(uint64_t seed, int64_t rows) {
  Generator generator(seed);
  Sample sample;
  sample.schema_json = generator.Record(3);
  const auto parsed = ParseSchema(sample.schema_json).ValueOrDie();
  const auto schema = ToArrowSchema(*parsed).ValueOrDie();
  arrow::ArrayVector columns;
  for (const auto& field : schema->fields()) columns.push_back(generator.Array(field, rows));
  sample.batch = arrow::RecordBatch::Make(schema, rows, columns);
  return sample;
}

std::shared_ptr<arrow::RecordBatch> OneBatch(const arrow::Table& table) {
  return table.CombineChunksToBatch().ValueOrDie();
}

TEST(PropertyTest, WhatIsWrittenComesBack) {
  const char* const codecs[] = {"null", "deflate", "snappy", "zstandard"};
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Sample sample = MakeSample(seed, 1 + seed % 60);
    ASSERT_OK_AND_ASSIGN(const std::string file, WriteBatch(sample.batch, sample.schema_json,
                                                            codecs[seed % 4], 1 + seed * 7 % 900));
    ASSERT_OK_AND_ASSIGN(auto table, ReadBytes(file));
    ASSERT_TRUE(OneBatch(*table)->Equals(*sample.batch))
        << sample.schema_json << OneBatch(*table)->ToString() << sample.batch->ToString();

    // Slices are written from their own first row.
    const int64_t begin = sample.batch->num_rows() / 3;
    const auto slice = sample.batch->Slice(begin);
    ASSERT_OK_AND_ASSIGN(const std::string part, WriteBatch(slice, sample.schema_json));
    ASSERT_OK_AND_ASSIGN(auto part_table, ReadBytes(part));
    ASSERT_TRUE(OneBatch(*part_table)->Equals(*slice)) << sample.schema_json;
  }
}

TEST(PropertyTest, ProjectionAndOrderDoNotChangeValues) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Sample sample = MakeSample(seed, 20);
    ASSERT_OK_AND_ASSIGN(const std::string file,
                         WriteBatch(sample.batch, sample.schema_json, "null", 100));
    Generator choice(seed + 1'000'000);
    ReadOptions options;
    arrow::FieldVector wanted;
    std::vector<int> columns;
    for (int i = sample.batch->num_columns() - 1; i >= 0; --i) {  // in reverse order
      if (choice.Below(2) == 0) continue;
      wanted.push_back(sample.batch->schema()->field(i));
      columns.push_back(i);
    }
    wanted.push_back(arrow::field("missing", arrow::int32()));
    options.output = arrow::schema(wanted);
    ASSERT_OK_AND_ASSIGN(auto table, ReadBytes(file, options));
    const auto batch = OneBatch(*table);
    for (size_t i = 0; i < columns.size(); ++i) {
      ASSERT_TRUE(batch->column(static_cast<int>(i))->Equals(sample.batch->column(columns[i])));
    }
    ASSERT_EQ(batch->column(batch->num_columns() - 1)->null_count(), 20);
  }
}

/// Reading must succeed or fail with an error that names the file; results must be valid.
void ExpectNoHarm(const std::string& file) {
  ReadOptions options;
  options.block_size_max_bytes = 1 << 20;
  options.batch_values_max = 1 << 20;
  const auto table = ReadBytes(file, options);
  if (!table.ok()) {
    EXPECT_THAT(table.status().ToString(), ::testing::HasSubstr("Avro file 'test.avro'"));
  }
}

TEST(PropertyTest, EveryTruncationIsNoticed) {
  for (const char* codec : {"null", "zstandard"}) {
    const Sample sample = MakeSample(7, 40);
    ASSERT_OK_AND_ASSIGN(const std::string file,
                         WriteBatch(sample.batch, sample.schema_json, codec, 200));
    // Only where a block ends is a shorter file a good file.
    std::vector<size_t> good;
    for (size_t size = 0; size < file.size(); ++size) {
      const auto table = ReadBytes(file.substr(0, size));
      if (table.ok()) {
        good.push_back(size);
      } else {
        ASSERT_TRUE(IsCorruption(table.status())) << table.status().ToString();
      }
    }
    const std::string marker(reinterpret_cast<const char*>(kTestMarker.data()), kTestMarker.size());
    std::vector<size_t> ends;
    for (size_t at = file.find(marker); at != std::string::npos; at = file.find(marker, at + 1)) {
      ends.push_back(at + marker.size());
    }
    ASSERT_GT(ends.size(), 3u);
    ends.pop_back();
    EXPECT_EQ(good, ends);
  }
}

TEST(PropertyTest, FlippedBitsDoNoHarm) {
  for (const char* codec : {"null", "deflate", "snappy", "zstandard"}) {
    for (uint64_t seed : {3, 7}) {
      const Sample sample = MakeSample(seed, 6);
      ASSERT_OK_AND_ASSIGN(const std::string file,
                           WriteBatch(sample.batch, sample.schema_json, codec, 200));
      for (size_t bit = 0; bit < file.size() * 8; ++bit) {
        std::string damaged = file;
        damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
        ExpectNoHarm(damaged);
      }
    }
  }
}

}  // namespace

}  // namespace kelda::avro

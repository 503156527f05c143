#include "kelda/avro/paimon_schemas.h"

namespace kelda::avro {

// clang-format off
constinit const std::string_view kManifestListSchema =
    R"({"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[)"
    R"({"name":"_VERSION","type":"int"},{"name":"_FILE_NAME","type":"string"},)"
    R"({"name":"_FILE_SIZE","type":"long"},{"name":"_NUM_ADDED_FILES","type":"long"},)"
    R"({"name":"_NUM_DELETED_FILES","type":"long"},)"
    R"({"name":"_PARTITION_STATS","type":{"type":"record","name":"record__PARTITION_STATS",)"
    R"("fields":[)"
    R"({"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},)"
    R"({"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],)"
    R"("default":null}]}},)"
    R"({"name":"_SCHEMA_ID","type":"long"},{"name":"_MIN_BUCKET","type":["null","int"],)"
    R"("default":null},)"
    R"({"name":"_MAX_BUCKET","type":["null","int"],"default":null},)"
    R"({"name":"_MIN_LEVEL","type":["null","int"],"default":null},)"
    R"({"name":"_MAX_LEVEL","type":["null","int"],"default":null},)"
    R"({"name":"_MIN_ROW_ID","type":["null","long"],"default":null},)"
    R"({"name":"_MAX_ROW_ID","type":["null","long"],"default":null}]})";

constinit const std::string_view kManifestSchema =
    R"({"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[)"
    R"({"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},)"
    R"({"name":"_PARTITION","type":"bytes"},{"name":"_BUCKET","type":"int"},)"
    R"({"name":"_TOTAL_BUCKETS","type":"int"},)"
    R"({"name":"_FILE","type":{"type":"record","name":"record__FILE","fields":[)"
    R"({"name":"_FILE_NAME","type":"string"},{"name":"_FILE_SIZE","type":"long"},)"
    R"({"name":"_ROW_COUNT","type":"long"},{"name":"_MIN_KEY","type":"bytes"},)"
    R"({"name":"_MAX_KEY","type":"bytes"},)"
    R"({"name":"_KEY_STATS","type":{"type":"record","name":"record__FILE__KEY_STATS","fields":[)"
    R"({"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},)"
    R"({"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],)"
    R"("default":null}]}},)"
    R"({"name":"_VALUE_STATS","type":{"type":"record","name":"record__FILE__VALUE_STATS",)"
    R"("fields":[)"
    R"({"name":"_MIN_VALUES","type":"bytes"},{"name":"_MAX_VALUES","type":"bytes"},)"
    R"({"name":"_NULL_COUNTS","type":["null",{"type":"array","items":["null","long"]}],)"
    R"("default":null}]}},)"
    R"({"name":"_MIN_SEQUENCE_NUMBER","type":"long"},{"name":"_MAX_SEQUENCE_NUMBER",)"
    R"("type":"long"},)"
    R"({"name":"_SCHEMA_ID","type":"long"},{"name":"_LEVEL","type":"int"},)"
    R"({"name":"_EXTRA_FILES","type":{"type":"array","items":"string"}},)"
    R"({"name":"_CREATION_TIME","type":["null",{"type":"long","logicalType":"timestamp-millis"}],)"
    R"("default":null},)"
    R"({"name":"_DELETE_ROW_COUNT","type":["null","long"],"default":null},)"
    R"({"name":"_EMBEDDED_FILE_INDEX","type":["null","bytes"],"default":null},)"
    R"({"name":"_FILE_SOURCE","type":["null","int"],"default":null},)"
    R"({"name":"_VALUE_STATS_COLS","type":["null",{"type":"array","items":"string"}],)"
    R"("default":null},)"
    R"({"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},)"
    R"({"name":"_FIRST_ROW_ID","type":["null","long"],"default":null},)"
    R"({"name":"_WRITE_COLS","type":["null",{"type":"array","items":"string"}],)"
    R"("default":null}]}}]})";

constinit const std::string_view kIndexManifestSchema =
    R"({"type":"record","name":"record","namespace":"org.apache.paimon.avro.generated","fields":[)"
    R"({"name":"_VERSION","type":"int"},{"name":"_KIND","type":"int"},)"
    R"({"name":"_PARTITION","type":"bytes"},{"name":"_BUCKET","type":"int"},)"
    R"({"name":"_INDEX_TYPE","type":"string"},{"name":"_FILE_NAME","type":"string"},)"
    R"({"name":"_FILE_SIZE","type":"long"},{"name":"_ROW_COUNT","type":"long"},)"
    R"({"name":"_DELETIONS_VECTORS_RANGES","type":["null",{"type":"array","items":["null",)"
    R"({"type":"record","name":"record__DELETIONS_VECTORS_RANGES","fields":[)"
    R"({"name":"f0","type":"string"},{"name":"f1","type":"int"},{"name":"f2","type":"int"},)"
    R"({"name":"_CARDINALITY","type":["null","long"],"default":null}]}]}],"default":null},)"
    R"({"name":"_EXTERNAL_PATH","type":["null","string"],"default":null},)"
    R"({"name":"_GLOBAL_INDEX","type":["null",{"type":"record","name":"record__GLOBAL_INDEX",)"
    R"("fields":[)"
    R"({"name":"_ROW_RANGE_START","type":"long"},{"name":"_ROW_RANGE_END","type":"long"},)"
    R"({"name":"_INDEX_FIELD_ID","type":"int"},)"
    R"({"name":"_EXTRA_FIELD_IDS","type":["null",{"type":"array","items":"int"}],"default":null},)"
    R"({"name":"_INDEX_META","type":["null","bytes"],"default":null}]}],"default":null}]})";
// clang-format on

}  // namespace kelda::avro

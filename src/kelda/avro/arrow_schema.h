#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "kelda/avro/schema.h"

namespace kelda::avro {

/// Which fields of nested records are wanted, by dotted path of field names: {"_KIND",
/// "_FILE._FILE_NAME"}. Arrays and maps are passed through without a path component; a path to a
/// record means all of it.
class Projection {
 public:
  /// All fields.
  Projection() = default;
  /// Exactly these; an empty list means no field.
  static Projection Of(const std::vector<std::string>& paths);

  bool all() const { return all_; }
  /// Projection inside field `name`, null if the field is not wanted.
  const Projection* Find(const std::string& name) const;
  const std::map<std::string, Projection>& fields() const { return fields_; }

 private:
  bool all_ = true;
  std::map<std::string, Projection> fields_;
};

/// Arrow form of an Avro schema whose root is a record or [null, record]:
///   null, boolean, int32, int64, float, double; string and enum utf8; bytes binary; fixed
///   fixed_size_binary; decimal decimal128; date date32; time-millis/-micros time32[ms]/time64[us];
///   timestamp-* timestamp without zone and local-timestamp-* timestamp in zone "UTC", because
///   Paimon swaps the names (spec 01 §4.3); array list<element>, or map<key, value> when its
///   logical type is map; map map<utf8, value>; record struct; [null, T] and [T, null] a nullable
///   T. Other unions are NotImplemented, unless not wanted.
/// Only fields of `projection` are there, in file order; a path that names no field is KeyError.
arrow::Result<std::shared_ptr<arrow::Schema>> ToArrowSchema(const Schema& root,
                                                            const Projection& projection = {});

/// `schema` with only the fields of `projection`, at every depth. A path that names no field is
/// KeyError.
arrow::Result<std::shared_ptr<arrow::Schema>> ProjectSchema(
    const std::shared_ptr<arrow::Schema>& schema, const Projection& projection);

/// The record of a root schema and how a datum begins; NotImplemented for roots that are not record
/// or [null, record].
arrow::Result<NullableView> RootRecord(const Schema& root);

}  // namespace kelda::avro

#include <algorithm>
#include <cstring>

#include <arrow/array.h>

#include "kelda/base/bytes.h"
#include "kelda/format/orc/column_writer.h"

namespace kelda {
namespace {

using Stream = OrcStripeParts::Stream;
using Form = OrcStatistics::Form;

/// Texts with numbers in the order of their first appearance.
class TextDictionary {
 public:
  uint32_t count() const { return static_cast<uint32_t>(ends_.size()); }
  std::string_view operator[](uint32_t id) const {
    const uint64_t start = id == 0 ? 0 : ends_[id - 1];
    return std::string_view(bytes_).substr(start, ends_[id] - start);
  }
  const std::string& bytes() const { return bytes_; }
  int64_t memory() const {
    return static_cast<int64_t>(bytes_.capacity() + ends_.capacity() * 8 + slots_.capacity() * 8);
  }
  bool full() const { return count() >= kCountMax; }

  uint32_t Find(std::string_view text) {
    if (count() * 2 >= slots_.size()) Grow();
    const uint32_t hash = Hash(text);
    size_t at = hash & (slots_.size() - 1);
    while (slots_[at].id != kFree) {
      if (slots_[at].hash == hash && (*this)[slots_[at].id] == text) return slots_[at].id;
      at = (at + 1) & (slots_.size() - 1);
    }
    const uint32_t id = count();
    slots_[at] = {hash, id};
    bytes_ += text;
    ends_.push_back(bytes_.size());
    return id;
  }
  void Clear() {
    bytes_ = {};
    ends_ = {};
    slots_ = {};
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  static constexpr uint32_t kCountMax = 1u << 30;
  struct Slot {
    uint32_t hash;
    uint32_t id;
  };

  static uint64_t Mix(uint64_t a, uint64_t b) {
    const auto product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  static uint32_t Hash(std::string_view text) {
    constexpr uint64_t kFirst = 0x9e3779b97f4a7c15;
    constexpr uint64_t kSecond = 0xd6e8feb86659fd93;
    uint64_t hash = kFirst ^ text.size();
    const char* in = text.data();
    size_t left = text.size();
    for (; left >= 8; left -= 8, in += 8) hash = Mix(hash ^ LoadLE<uint64_t>(in), kSecond);
    uint64_t last = 0;
    std::memcpy(&last, in, left);
    hash = Mix(hash ^ last, kFirst);
    return static_cast<uint32_t>(hash ^ hash >> 32);
  }
  void Grow() {
    std::vector<Slot> old = std::move(slots_);
    slots_.assign(std::max<size_t>(old.size() * 2, 1024), {0, kFree});
    for (const Slot& slot : old) {
      if (slot.id == kFree) continue;
      size_t at = slot.hash & (slots_.size() - 1);
      while (slots_[at].id != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::string bytes_;
  std::vector<uint64_t> ends_;
  std::vector<Slot> slots_;
};

/// Text and binary columns. Texts start each stripe with a dictionary and give it up when it does
/// not pay.
class TextWriter : public ColumnWriter {
 public:
  TextWriter(const OrcWriteSettings& settings, OrcCodec* codec, uint32_t column,
             const DataType& type, const std::shared_ptr<arrow::DataType>& arrow_type,
             bool dictionary)
      : ColumnWriter(settings, codec, column,
                     OrcStatistics(type.IsString() ? Form::kText : Form::kBinary, arrow_type)),
        text_(type.IsString()),
        char_length_(type.root() == TypeRoot::kChar ? type.length() : 0),
        wants_dictionary_(dictionary),
        dictionary_(dictionary),
        data_(codec),
        lengths_stream_(codec) {}

 protected:
  arrow::Status AppendValues(const arrow::Array& values, int64_t first, int64_t n) override {
    const auto& texts = static_cast<const arrow::BinaryArray&>(values);
    if (dictionary_) {
      AppendToDictionary(texts, first, n);
      return arrow::Status::OK();
    }
    if (start_.empty()) AddDirectPosition(&start_);
    if (char_length_ > 0) {
      for (int64_t i = first; i < first + n; ++i) {
        CountText(TrimText(texts.GetView(i)));
        ARROW_RETURN_NOT_OK(AppendDirect(PadText(texts.GetView(i), char_length_)));
      }
      return arrow::Status::OK();
    }
    for (int64_t i = first; i < first + n; ++i) lengths_.push_back(texts.value_length(i));
    const int32_t start = texts.value_offset(first);
    const int32_t size = texts.value_offset(first + n) - start;
    if (text_) {
      for (int64_t i = first; i < first + n; ++i) group_.WidenText(texts.GetView(i));
    }
    group_.AddBytes(n, size);
    return data_.Append(texts.raw_data() + start, static_cast<size_t>(size));
  }

  arrow::Status EncodeRowGroup(std::vector<uint64_t>*) override {
    if (dictionary_) {
      group_ends_.push_back(ids_.size());
      ++group_number_;
      const double most = settings_.dictionary_threshold * static_cast<double>(ids_.size());
      if (static_cast<double>(entries_.count()) > most || entries_.full()) return GiveUp();
      return arrow::Status::OK();
    }
    if (start_.empty()) AddDirectPosition(&start_);
    positions_.push_back(std::move(start_));
    start_.clear();
    return EncodeLengths();
  }

  /// Positions of a dictionary's indexes come only now.
  arrow::Status BeforeStripeEnds(Positions* positions) override {
    if (dictionary_ && ids_.empty()) ARROW_RETURN_NOT_OK(GiveUp());
    dictionary_size_ = 0;
    if (dictionary_) ARROW_RETURN_NOT_OK(EncodeDictionary());
    *positions = std::move(positions_);
    positions_.clear();
    return arrow::Status::OK();
  }

  arrow::Status TakeStreams(std::vector<Stream>* out) override {
    ARROW_ASSIGN_OR_RAISE(auto data, data_.Take());
    ARROW_ASSIGN_OR_RAISE(auto lengths, lengths_stream_.Take());
    out->push_back({OrcStreamKind::kData, column_, std::move(data)});
    out->push_back({OrcStreamKind::kLength, column_, std::move(lengths)});
    if (dictionary_) {
      Stream entries{OrcStreamKind::kDictionaryData, column_, {}};
      ARROW_RETURN_NOT_OK(codec_->CompressAll(entries_.bytes(), &entries.bytes));
      out->push_back(std::move(entries));
    }
    entries_.Clear();
    ids_.clear();
    group_ends_.clear();
    stamps_.clear();
    group_number_ = 0;
    dictionary_ = wants_dictionary_;
    return arrow::Status::OK();
  }

  OrcColumnEncoding Encoding() const override {
    if (dictionary_) return {OrcEncoding::kDictionaryV2, dictionary_size_};
    return {OrcEncoding::kDirectV2, 0};
  }
  int64_t StreamBytes() const override {
    const auto pending = static_cast<int64_t>(lengths_.size());
    int64_t bytes = data_.size() + lengths_stream_.size() + pending;
    if (dictionary_) {
      const int64_t index_bytes = entries_.count() < 256 ? 1 : entries_.count() < 65536 ? 2 : 3;
      bytes += static_cast<int64_t>(entries_.bytes().size() + entries_.count()) +
               static_cast<int64_t>(ids_.size()) * index_bytes;
    }
    return bytes;
  }
  int64_t MemoryBytes() const override {
    return data_.memory() + lengths_stream_.memory() + entries_.memory() +
           static_cast<int64_t>(lengths_.capacity() * 8 + ids_.capacity() * 4 +
                                stamps_.capacity() * 4);
  }
  int32_t pad() const override { return char_length_; }

 private:
  void AppendToDictionary(const arrow::BinaryArray& texts, int64_t first, int64_t n) {
    int64_t bytes = 0;
    for (int64_t i = first; i < first + n; ++i) {
      std::string_view text = texts.GetView(i);
      if (char_length_ > 0) text = TrimText(text);
      bytes += static_cast<int64_t>(text.size());
      const uint32_t id = entries_.Find(text);
      ids_.push_back(id);
      if (id == stamps_.size()) {
        stamps_.push_back(group_number_);
        group_.WidenText(text);
      } else if (stamps_[id] != group_number_) {
        stamps_[id] = group_number_;
        group_.WidenText(text);
      }
    }
    group_.AddBytes(n, bytes);
  }

  void CountText(std::string_view text) { group_.AddText(text, 1); }

  arrow::Status AppendDirect(std::string_view stored) {
    lengths_.push_back(static_cast<int64_t>(stored.size()));
    return data_.Append(stored.data(), stored.size());
  }

  void AddDirectPosition(std::vector<uint64_t>* positions) const {
    data_.AddPosition(positions);
    lengths_stream_.AddPosition(positions);
    positions->push_back(0);
  }

  arrow::Status EncodeLengths() {
    ARROW_RETURN_NOT_OK(EncodeInts(lengths_.data(), static_cast<int64_t>(lengths_.size()), false,
                                   &lengths_stream_));
    lengths_.clear();
    return arrow::Status::OK();
  }

  /// Write the rows of the stripe so far without a dictionary, and those to come.
  arrow::Status GiveUp() {
    dictionary_ = false;
    std::vector<std::string> padded;
    for (uint32_t id = 0; char_length_ > 0 && id < entries_.count(); ++id) {
      padded.push_back(PadText(entries_[id], char_length_));
    }
    size_t row = 0;
    for (size_t end : group_ends_) {
      AddDirectPosition(&positions_.emplace_back());
      for (; row < end; ++row) {
        const uint32_t id = ids_[row];
        ARROW_RETURN_NOT_OK(AppendDirect(padded.empty() ? entries_[id] : padded[id]));
      }
      ARROW_RETURN_NOT_OK(EncodeLengths());
    }
    entries_.Clear();
    ids_ = {};
    stamps_ = {};
    group_ends_.clear();
    return arrow::Status::OK();
  }

  arrow::Status EncodeDictionary() {
    dictionary_size_ = entries_.count();
    std::vector<int64_t> numbers;
    size_t row = 0;
    for (size_t end : group_ends_) {
      auto& positions = positions_.emplace_back();
      data_.AddPosition(&positions);
      positions.push_back(0);
      numbers.assign(ids_.begin() + static_cast<int64_t>(row),
                     ids_.begin() + static_cast<int64_t>(end));
      ARROW_RETURN_NOT_OK(
          EncodeInts(numbers.data(), static_cast<int64_t>(numbers.size()), false, &data_));
      row = end;
    }
    if (char_length_ > 0) {
      TextDictionary padded;
      for (uint32_t id = 0; id < entries_.count(); ++id) {
        padded.Find(PadText(entries_[id], char_length_));
      }
      entries_ = std::move(padded);
    }
    numbers.clear();
    for (uint32_t id = 0; id < entries_.count(); ++id) {
      numbers.push_back(static_cast<int64_t>(entries_[id].size()));
    }
    return EncodeInts(numbers.data(), static_cast<int64_t>(numbers.size()), false,
                      &lengths_stream_);
  }

  const bool text_;
  const int32_t char_length_;  ///< of CHAR, else 0
  const bool wants_dictionary_;
  bool dictionary_;
  OutStream data_;
  OutStream lengths_stream_;
  std::vector<int64_t> lengths_;  ///< of the row group, when direct
  std::vector<uint64_t> start_;   ///< where the row group starts, when direct
  Positions positions_;           ///< of the finished row groups
  TextDictionary entries_;
  std::vector<uint32_t> ids_;       ///< of the values of the stripe
  std::vector<uint32_t> stamps_;    ///< the last row group with an entry
  std::vector<size_t> group_ends_;  ///< in ids_
  uint32_t group_number_ = 0;
  uint64_t dictionary_size_ = 0;
};

}  // namespace

std::unique_ptr<ColumnWriter> MakeTextWriter(const OrcWriteSettings& settings, OrcCodec* codec,
                                             const DataType& type,
                                             const std::shared_ptr<arrow::DataType>& arrow_type,
                                             const std::string& name, uint32_t column) {
  const bool dictionary = type.IsString() && settings.dictionary_threshold > 0 &&
                          !settings.direct_columns.contains(name);
  return std::make_unique<TextWriter>(settings, codec, column, type, arrow_type, dictionary);
}

}  // namespace kelda

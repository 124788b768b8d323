// SPDX-License-Identifier: MIT
// A stored response as one run of bytes, which may lie in the memory of another process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "proxy/conditional.hpp"
#include "proxy/freshness.hpp"

namespace proxy {

/// What a document is.
enum class DocumentKind : std::uint16_t {
  kResponse = 1,
  /// No response, but how variants are told apart: its body is the names of Vary.
  kVariants = 2,
};

/// The bytes of a document begin with this, in the byte order of the machine; then follow its key,
/// its fields and its body, without gaps:
///
///     | head, 96 bytes | key | fields, each line with CR LF | body |
struct DocumentHead {
  std::uint32_t magic = kMagic;
  DocumentKind kind = DocumentKind::kResponse;
  std::uint16_t status = 0;
  std::uint32_t key_size = 0;
  std::uint32_t fields_size = 0;
  std::uint64_t body_size = 0;
  Validity validity;
  /// Seconds since 1970; kNoDate when there is none.
  std::int64_t last_modified = kNoDate;
  /// Where the ETag is in the fields; its size is 0 when there is none.
  std::uint32_t etag_begin = 0;
  std::uint32_t etag_size = 0;
  /// Of kVariants: see variant_key().
  std::uint64_t generation = 0;
  /// Of HTTP/1, in which the response came.
  std::uint32_t minor_version = 1;
  std::uint32_t reserved = 0;

  static constexpr std::uint32_t kMagic = 0x32584350;
  static constexpr std::int64_t kNoDate = INT64_MIN;
};
static_assert(sizeof(Validity) == 40 && sizeof(DocumentHead) == 96);
static_assert(offsetof(DocumentHead, validity) == 24 && offsetof(DocumentHead, etag_begin) == 72);

class Document;
/// Documents do not change, and stay while anybody uses them.
using DocumentPtr = std::shared_ptr<const Document>;

/// A response, or a list of names, as it is stored. Any thread.
class Document {
 public:
  /// Nothing when the bytes are not one whole document of that key: whatever a store answers, no
  /// other document is taken for the one that was asked for.
  static DocumentPtr from_bytes(std::string bytes, std::string_view key);
  /// The same for bytes that stay where they are while `owner` lives.
  static DocumentPtr from_bytes(std::string_view bytes, std::shared_ptr<const void> owner,
                                std::string_view key);

  const DocumentHead& head() const noexcept { return head_; }
  std::string_view key() const noexcept { return part(sizeof head_, head_.key_size); }
  /// Without Content-Length, Age, and the fields that are for one connection.
  std::string_view fields() const noexcept {
    return part(sizeof head_ + head_.key_size, head_.fields_size);
  }
  std::string_view body() const noexcept {
    return part(bytes_.size() - head_.body_size, head_.body_size);
  }
  Validators validators() const noexcept;
  std::string_view bytes() const noexcept { return bytes_; }

 private:
  Document(std::string_view bytes, std::shared_ptr<const void> owner, const DocumentHead& head)
      : bytes_(bytes), owner_(std::move(owner)), head_(head) {}
  std::string_view part(std::size_t begin, std::size_t size) const noexcept {
    return bytes_.substr(begin, size);
  }

  std::string_view bytes_;
  std::shared_ptr<const void> owner_;
  DocumentHead head_;
};

/// Builds the bytes of a document: first what is before the body, then the body in pieces.
class DocumentBuilder {
 public:
  /// `fields` as forwarded_fields() makes them. `expected_body` is reserved.
  DocumentBuilder(std::string_view key, int status, std::string_view fields,
                  const Validity& validity, std::int64_t now, std::size_t expected_body);
  /// The document that says by which fields the variants of `key` are told apart.
  static DocumentPtr variants(std::string_view key, std::string_view names,
                              std::uint64_t generation);

  /// The response came in HTTP/1.`minor_version`; 1.1 unless this is called.
  void came_in(int minor_version) noexcept {
    head_.minor_version = static_cast<std::uint32_t>(minor_version);
  }
  void append(std::string_view body) { bytes_.append(body); }
  std::string_view body() const noexcept { return std::string_view(bytes_).substr(body_begin_); }
  /// Ends it. The builder is empty then.
  DocumentPtr finish();

 private:
  DocumentHead head_;
  std::string bytes_;
  std::size_t body_begin_ = 0;
};

}  // namespace proxy

// SPDX-License-Identifier: MIT
// Names for functions that are not addresses: the dense table of everything callable remotely.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dsfabric/call_context.hpp"

namespace dsfabric::detail {

/// How `count` callables of one type are run that lie one below the other, each at a multiple of 8:
/// the first one ends at `end`, or up to 7 bytes before it. `done` is how many were run, also when
/// one of them throws; that one counts.
using InvokeRun = void (*)(std::byte* end, std::uint32_t count, CallContext& context,
                           std::uint32_t& done);

/// Both ways for one type, the same for traces of simulations, whether it chooses itself where it
/// runs, and whether there must be a place for that (callable.hpp).
struct Invokers {
  /// Runs one callable.
  Invoke one;
  /// Runs several callables.
  InvokeRun run;
  /// The same, each in a CallSpan.
  Invoke shown_one;
  /// Several, each in a CallSpan.
  InvokeRun shown_run;
  /// The callable chooses where it runs (PlacedCallable).
  bool placed;
  /// There must be such a place (PlacedCallable::kNeedsPlace).
  bool needs_place;
};

/// The index of a function that came after the table was made, with a library that was loaded by
/// dlopen(3) after join(): it cannot be called, since its peers have not agreed on an index for it.
inline constexpr std::uint32_t kLateFunction = 0xffff'fffe;

/// Names that begin so belong to functions of the layers themselves. All programs have these, so
/// they do not make two programs fit together.
inline constexpr std::string_view kLayerNames = "cariama.layer.";

/// A callable type's place in the table. One static object a type, made before main by every
/// program that can send or run it. Users do not make one.
class FunctionSlot {
 public:
  /// Enters a type into the list that the table is made from: before main, or when a library is
  /// loaded.
  FunctionSlot(std::string_view name, bool named_by_user, Invokers run, std::uint32_t bytes);
  FunctionSlot(const FunctionSlot&) = delete;
  FunctionSlot& operator=(const FunctionSlot&) = delete;

  /// The index that travels. The first FunctionTable::instance() assigns it, in join(); a slot that
  /// is made later never gets one.
  std::uint32_t index() const noexcept { return index_; }
  /// The name that the user gave, or that of the type. Any thread, wait-free.
  std::string_view name() const noexcept { return name_; }
  /// Whether the type has a kCallName. Any thread, wait-free.
  bool named_by_user() const noexcept { return named_by_user_; }
  /// How it is run. Any thread, wait-free.
  const Invokers& invokers() const noexcept { return invokers_; }
  /// Bytes of the callable itself, the least that a record of this type carries.
  std::uint32_t bytes() const noexcept { return bytes_; }

 private:
  friend class FunctionTable;
  std::string_view name_;
  bool named_by_user_;
  Invokers invokers_;
  std::uint32_t bytes_;
  std::uint32_t index_ = kLateFunction;
};

/// Code in a way that means the same in another process: which file it is in (by its build id, not
/// by its path), and where in that file. Zeros: unknown.
struct CodePlace {
  /// Hash of the build id of the file.
  std::uint64_t file = 0;
  /// Bytes from the beginning of the file's mapping.
  std::uint64_t offset = 0;
  friend bool operator==(const CodePlace&, const CodePlace&) = default;
};

/// All slots of the program and of the libraries that it had loaded when the table was made, in an
/// order that every process of the same build finds by itself: by name, and among equal names
/// (functions local to different source files) by their place in the binary. So it works with PIE
/// and ASLR.
///
/// A function that the user named is the same as the one of that name and size elsewhere. Any other
/// function is the same only where it is the same code: in a file of the same build id, at the same
/// place. Names of types do not suffice, since two builds of one source have the same. Any thread,
/// once main has begun.
class FunctionTable {
 public:
  /// The table of this program, made at the first call. Any thread.
  static const FunctionTable& instance();

  /// Whether the code that asks belongs to the copy of this layer that made the table. A program
  /// and a library that it loads have a copy each when the static libraries are linked into both
  /// and the program exports nothing. Any thread, wait-free.
  bool is_of_this_copy() const noexcept;
  /// Number of functions. Any thread, wait-free.
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(entries_.size()); }
  /// What a receiver needs for index i < size(): one load away.
  struct Entry {
    /// Invokers::one.
    Invoke invoke;
    /// Invokers::run.
    InvokeRun invoke_run;
    /// FunctionSlot::bytes.
    std::uint32_t bytes;
    /// Invokers::placed.
    bool placed;
    /// Invokers::needs_place.
    bool needs_place;
  };
  /// For index < size(). Any thread, wait-free.
  const Entry& entry(std::uint32_t index) const noexcept { return entries_[index]; }
  /// By index; those of a run with a trace show each call there. Any thread, wait-free.
  std::span<const Entry> entries() const noexcept;
  /// For index < size(). Any thread, wait-free.
  const FunctionSlot& slot(std::uint32_t index) const noexcept { return *slots_[index]; }

  /// The name of function index < size() for errors. Any thread.
  std::string readable(std::uint32_t index) const;

  /// Equal at two processes when the same indices mean the same functions: in number, order, name,
  /// size and place.
  std::uint64_t digest() const noexcept { return digest_; }
  /// Empty, or a sentence that says why calls by name cannot work in this program: two functions
  /// have the same kCallName.
  const std::string& conflict() const noexcept { return conflict_; }
  /// All that the digest covers, to be compared when digests differ.
  std::vector<std::byte> describe() const;
  /// Empty when a table described by a peer means the same as this one; otherwise a sentence that
  /// names the first difference and what to do.
  std::string difference(std::span<const std::byte> described) const;
  /// For a peer of another binary: its index for each of ours, kAbsent where it has none. Functions
  /// are found by the name that both programs gave them (kCallName, callable.hpp), others by their
  /// place, in a shared library that both have loaded.
  std::vector<std::uint32_t> translate(std::span<const std::byte> described) const;
  /// The index of a function that the peer does not have.
  static constexpr std::uint32_t kAbsent = 0xffff'ffff;

 private:
  FunctionTable();

  const void* copy_;
  std::vector<const FunctionSlot*> slots_;
  std::vector<CodePlace> places_;
  std::vector<Entry> entries_;
  std::vector<Entry> shown_entries_;
  std::uint64_t digest_ = 0;
  std::string conflict_;
};

}  // namespace dsfabric::detail

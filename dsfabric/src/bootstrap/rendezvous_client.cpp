// SPDX-License-Identifier: MIT
// The process' side of the rendezvous that scripts/run starts.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/connect.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/mailbox.hpp"
#include "bootstrap/proof.hpp"
#include "dsfabric/elastic_job.hpp"
#include "dtutils/error.hpp"

namespace dsfabric {
namespace {

using namespace rendezvous;  // NOLINT: a source file of the same folder
using Clock = std::chrono::steady_clock;
using dtutils::Error;

/// The events of an elastic job come on the connection that everything else uses.
class Client final : public Bootstrap, private ElasticJob {
 public:
  Client(const Invitation& invitation, const BootstrapOptions& options)
      : address_(invitation.address),
        secret_(invitation.secret),
        rank_(invitation.rank),
        size_(invitation.size) {
    const std::string& build = invitation.elastic ? options.elastic_build : options.build;
    const auto by = Clock::now() + options.start_timeout;
    const auto connect_by = Clock::now() + std::min(options.start_timeout, kConnectTime);
    // Again, where the launcher has no room for one more, or drops the oldest
    // of too many.
    for (auto answer_by = by;; answer_by = Clock::now() + kConnectTime) {
      mailbox_ = connect_to(address_, connect_by);
      // An attempt that has begun in time may end later, so that the reason is told.
      const std::string reason = greet(std::max(by, answer_by), build);
      if (reason.empty()) return;
      if (Clock::now() >= by) {
        throw Error(name(), reason,
                    "look why the others have not come, and let strangers keep away from the port "
                    "of the launcher");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }

  std::uint32_t rank() const noexcept override { return rank_; }
  std::uint32_t size() const noexcept override { return size_; }
  std::string name() const override { return fmt::format("cariama-run at {}", address_); }

  std::vector<Bytes> all_gather(std::span<const std::byte> mine,
                                std::chrono::milliseconds limit) override {
    Writer body;
    body.u32(milliseconds(limit)).bytes(mine);
    return exchange(Type::kGather, body.take(), limit);
  }

  std::vector<Bytes> all_to_all(std::span<const Bytes> mine,
                                std::chrono::milliseconds limit) override {
    Writer body;
    body.u32(milliseconds(limit));
    for (const Bytes& part : mine) body.bytes(part);
    return exchange(Type::kScatter, body.take(), limit);
  }

  int failure_fd() const noexcept override { return mailbox_->news_fd(); }

  std::optional<std::uint32_t> next_failed() noexcept override try {
    if (capacity_ != 0) return std::nullopt;
    const auto obituary = mailbox_->next_news(Type::kFailed);
    if (!obituary) return std::nullopt;
    return Reader(obituary->body).u32().value_or(size_);
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }

  bool relays() const noexcept override { return true; }

  void send(std::uint32_t to, std::span<const std::byte> bytes) override {
    const std::uint32_t all = capacity_ != 0 ? capacity_ : size_;
    mailbox_->send(Type::kLetter, Writer().u32(to == all ? kAllOthers : to).bytes(bytes).take());
  }

  std::optional<Letter> next_letter() noexcept override try {
    while (const auto frame = mailbox_->next_news(Type::kLetter)) {
      Reader reader(frame->body);
      const auto from = reader.u32();
      const auto bytes = reader.bytes();
      if (bytes) return Letter{*from, {bytes->begin(), bytes->end()}};
    }
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }

  void goodbye() noexcept override {
    try {
      mailbox_->send(Type::kGoodbye, {});
    } catch (const std::bad_alloc&) {
      // The launcher then counts this process as failed, which is all that is
      // left to say.
    }
  }

  ElasticJob* elastic() noexcept override { return capacity_ != 0 ? this : nullptr; }

 private:
  std::uint32_t capacity() const noexcept override { return capacity_; }

  void introduce(std::span<const std::byte> bytes) override {
    mailbox_->send(Type::kIntroduce, Writer().bytes(bytes).take());
  }

  std::optional<JobEvent> next_event() noexcept override try {
    if (const auto frame = mailbox_->next_news(Type::kEvent)) {
      Reader reader(frame->body);
      const auto kind = reader.u32();
      const auto process = reader.u32();
      const auto bytes = reader.bytes();
      if (bytes) {
        return JobEvent{
            static_cast<JobEvent::Kind>(*kind), *process, {bytes->begin(), bytes->end()}};
      }
    }
    // Of the launcher alone: all others are events.
    if (!mailbox_->next_news(Type::kFailed)) return std::nullopt;
    return JobEvent{JobEvent::Kind::kFailed, capacity_, {}};
  } catch (const std::bad_alloc&) {
    return std::nullopt;
  }

  void accuse(std::uint32_t process, std::string_view reason) override {
    mailbox_->send(Type::kAccuse, Writer().u32(process).text(reason).take());
  }

  static constexpr std::chrono::milliseconds kConnectTime{5000};

  /// Empty: it is in. Else why it should come again.
  std::string greet(Clock::time_point by, const std::string& build) {
    constexpr const char* kDropped = "the launcher closed the connection before the greeting";
    const auto challenge = wait_open(by, "the launcher's challenge");
    if (!challenge) return kDropped;
    Reader reader(challenge->body);
    if (challenge->type == Type::kBusy) return reader.text().value_or(kDropped);
    const auto protocol = reader.u32();
    const auto nonce = reader.bytes();
    if (challenge->type != Type::kChallenge || !protocol) refuse_answer();
    Greeting greeting;
    // A launcher of another version says so itself, when it has our greeting.
    if (nonce && nonce->size() == sizeof(Nonce)) {
      std::ranges::copy(*nonce, greeting.launcher.begin());
    }
    greeting.process = make_nonce();
    greeting.rank = rank_;
    greeting.size = size_;
    greeting.build = build;
    mailbox_->send(Type::kHello, Writer()
                                     .u32(kProtocol)
                                     .bytes(greeting.process)
                                     .u32(rank_)
                                     .u32(size_)
                                     .text(build)
                                     .bytes(secret_.prove(HandshakeRole::kInitiator, greeting))
                                     .take());
    const auto answer = wait_open(by, "the launcher's welcome");
    if (!answer) return kDropped;
    if (answer->type == Type::kRefused) {
      throw Error(name(), Reader(answer->body).text().value_or("refused"),
                  "start all processes of a job with one command and one build");
    }
    if (answer->type == Type::kBusy) return Reader(answer->body).text().value_or(kDropped);
    Reader welcome(answer->body);
    const auto rank = welcome.u32();
    const auto size = welcome.u32();
    const auto capacity = welcome.u32();
    const auto proof = welcome.bytes();
    if (answer->type != Type::kWelcome || !proof) refuse_answer();
    greeting.rank = *rank;
    greeting.size = *size;
    if (!secret_.accepts(HandshakeRole::kResponder, greeting, *proof)) {
      throw Error(name(), "whoever answers there does not know the job secret",
                  "check that the address is that of the launcher");
    }
    rank_ = *rank;
    size_ = *size;
    capacity_ = *capacity;
    return {};
  }

  std::vector<Bytes> exchange(Type type, const Bytes& body, std::chrono::milliseconds limit) {
    if (body.size() > kMaxFrame) {
      throw Error(name(),
                  fmt::format("{} bytes are more than the {} that a process "
                              "can give to the others",
                              body.size(), kMaxFrame),
                  "give less, or in several exchanges");
    }
    mailbox_->send(type, body);
    // The launcher keeps the time, since it knows who is missing; the extra
    // covers its silence.
    const auto by = Clock::now() + limit + std::chrono::seconds(5);
    std::vector<Bytes> all;
    while (all.size() < size_) {
      const Frame answer = wait(by, "the exchange with all processes");
      Reader reader(answer.body);
      if (answer.type == Type::kMissing) {
        throw Error(name(), reader.text().value_or("some processes did not come"),
                    "check what these processes printed; raise "
                    "CARIAMA_START_TIMEOUT if they are slow");
      }
      const std::size_t before = all.size();
      if (answer.type != Type::kGathered || reader.u32() != before) refuse_answer();
      while (const auto bytes = reader.bytes()) all.emplace_back(bytes->begin(), bytes->end());
      if (all.size() == before || all.size() > size_) refuse_answer();
    }
    return all;
  }

  static std::uint32_t milliseconds(std::chrono::milliseconds limit) noexcept {
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(limit.count(), 1, 1'000'000'000));
  }

  /// The next frame that is no news.
  Frame wait(Clock::time_point by, const char* what) {
    if (auto frame = wait_open(by, what)) return std::move(*frame);
    throw Error(name(),
                fmt::format("the launcher closed the connection while this process "
                            "waited for {}",
                            what),
                "check what the launcher printed");
  }

  /// The same; empty when the launcher closes the connection.
  std::optional<Frame> wait_open(Clock::time_point by, const char* what) {
    Frame frame;
    const Mailbox::Outcome outcome = mailbox_->wait_for_answer(frame, by);
    if (outcome == Mailbox::Outcome::kFrame) return frame;
    if (outcome == Mailbox::Outcome::kClosed) return std::nullopt;
    throw Error(name(), fmt::format("no answer while waiting for {}", what),
                "check that the launcher still runs");
  }

  [[noreturn]] void refuse_answer() {
    throw Error(name(), "the launcher's answer makes no sense",
                "use a launcher and a program of the same version");
  }

  std::string address_;
  Secret secret_;
  std::uint32_t rank_;
  std::uint32_t size_;
  /// 0: the processes are fixed.
  std::uint32_t capacity_ = 0;
  std::unique_ptr<Mailbox> mailbox_;
};

}  // namespace

std::unique_ptr<Bootstrap> accept_invitation(const Invitation& invitation,
                                             const BootstrapOptions& options) {
  return std::make_unique<Client>(invitation, options);
}

}  // namespace dsfabric

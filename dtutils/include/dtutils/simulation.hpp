// SPDX-License-Identifier: MIT
// A simulated cluster in one process: nodes, threads, adapters and a network in virtual time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

namespace dtutils {

/// What things take in a simulation. The times make an 8-byte write between two nodes of one switch
/// arrive after 0.8 us, as adapters of the EDR generation do.
struct NetworkModel {
  /// All of them.
  using Time = std::chrono::nanoseconds;

  // --- the processor --------------------------------------------------------------------------
  /// To post one request: fill in the work request, copy what is inline, ring the doorbell
  /// (Kalia, Kaminsky, Andersen: Design Guidelines for High Performance RDMA Systems, ATC 2016).
  Time post{50};
  /// To poll in vain, and so the time between two looks of a waiter at first.
  Time poll{30};
  /// To read the clock.
  Time clock{20};

  // --- the adapter ----------------------------------------------------------------------------
  /// From the doorbell to the adapter's engine: one crossing of PCI Express (same source).
  Time doorbell{150};
  /// To fetch bytes that are not inline: a read over PCI Express, there and back.
  Time fetch{300};
  /// Between two requests that the adapter issues: 150 million a second.
  Time issue{7};
  /// In the adapter's pipeline, at each end.
  Time adapter{125};
  /// From the adapter into memory.
  Time land{150};
  /// More for an atomic at its target, which is a read and a write over PCI Express.
  Time atomic{250};
  /// Connections whose state the adapter keeps on chip; a request on another one fetches it first
  /// (Dragojevic et al.: FaRM, NSDI 2014, section 3).
  std::uint32_t cached_connections = 1024;
  /// What such a fetch takes.
  Time connection_miss{500};

  // --- the network ----------------------------------------------------------------------------
  /// A cable and a switch.
  Time hop{100};
  /// Nodes at one switch; more of them make a fat tree of two levels, with three switches between
  /// nodes that do not share one.
  std::uint32_t ports = 36;
  /// Bytes that a link carries in a microsecond: EDR, 4 x 24.24 Gb/s.
  std::uint32_t bytes_per_us = 12'120;
  /// Largest packet without its headers.
  std::uint32_t mtu = 4096;
  /// Headers of a packet: LRH, BTH, RETH and both check sums (InfiniBand Architecture 5.2).
  std::uint32_t header = 42;
  /// From the last byte of a message to the first of the next one on the same link, for what an
  /// adapter does once a message (the gap of LogP: Culler et al., PPoPP 1993). Adapters in hardware
  /// overlap it.
  Time gap{0};
};

/// How far a simulation strays from the straight path; all of it is drawn from the seed.
struct Disorder {
  /// Longest additional delay of a packet or an acknowledgement.
  std::chrono::nanoseconds jitter{0};
  /// One write in this many that is longer than a cache line lands in two parts; 0: none.
  std::uint32_t torn_writes = 0;
  /// One write in this many that is longer than a word, and no longer than a cache line, lands in
  /// two parts, the lower words first; 0: none.
  std::uint32_t torn_lines = 0;
  /// One send in this many is answered "not ready" once; 0: none.
  std::uint32_t not_ready = 0;
  /// One request in this many is lost on its way, and sent again after the time-out; 0: none.
  std::uint32_t lost = 0;
  /// What happens at the same time happens in any order.
  bool any_order = false;
  /// Once in this many times a thread is interrupted for up to 16 us where it begins a post, has
  /// posted, or has taken completions, as the kernel interrupts threads anywhere; 0: never.
  std::uint32_t interrupted = 0;
};

/// What a user may choose about a simulation.
struct SimulationOptions {
  /// Makes all choices.
  std::uint64_t seed = 1;
  /// What things take.
  NetworkModel model{};
  /// How far it strays.
  Disorder disorder{};
  /// Cores of each node, as programs are told.
  unsigned cores = 16;
  /// A run that has not ended after this virtual time is given up.
  std::chrono::nanoseconds time_limit = std::chrono::hours(1);
  /// A thread that runs for so long in real time without waiting hangs: the process is aborted,
  /// with a sentence that names the thread.
  std::chrono::seconds patience{60};
  /// Threads give way to each other by the operating system. That takes several times as long, and
  /// a debugger shows where each of them waits. Otherwise, where that is possible (x86-64, without
  /// sanitizers), one kernel thread runs them all, with the stack and the thread-local variables of
  /// each. The run is the same. setuid(2) and its like, which signal all threads, need this.
  bool visible_threads = false;
  /// A file for the timeline of the run: Chrome trace events in JSON, which ui.perfetto.dev and
  /// chrome://tracing open. Empty: none. It changes nothing in the run.
  std::string trace{};
};

/// How a run has ended.
struct SimulationReport {
  /// Empty: all threads have ended. Else what happened: what the first of the threads has thrown,
  /// or who still waits and for how long.
  std::string error;
  /// Of all events with their times, and of the bytes that moved, but for what looks like an
  /// address. The same seed and program give the same.
  std::uint64_t digest = 0;
  /// Things that happened in the network.
  std::uint64_t events = 0;
  /// Times that one thread gave way to another.
  std::uint64_t switches = 0;
  /// Virtual time that passed.
  std::chrono::nanoseconds time{0};
  /// Empty, or why the file of SimulationOptions::trace is not whole, as when the disk is full.
  std::string trace_error;
};

namespace sim {
class World;
}

/// A cluster in one process. Threads that it starts, and threads that those start by
/// JoinableThread, belong to its nodes: one of them runs at a time, the time is virtual, and the
/// device "sim" of a node is an adapter of the simulated network. The same seed makes the same run.
///
///     dtutils::Simulation simulation({.seed = 7});
///     for (std::uint32_t node = 0; node < 3; ++node) simulation.start(node, [&] { work(); });
///     const dtutils::SimulationReport report = simulation.run();
///
/// A thread runs until it waits, by any of the ways of wait.hpp or by polling in vain, so work
/// between two waits takes no time unless it says so by `compute`. What the program does must
/// depend on nothing but its input, the simulated time and what arrives: not on addresses, on
/// std::random_device, on the clocks of the machine, or on threads of the machine.
///
/// The nodes share the memory of the process. So what a program keeps in a variable of the process
/// (at namespace scope, or static) is shared by its nodes; thread_local is as usual.
class Simulation {
 public:
  /// Number of a node, from 0.
  using Node = std::uint32_t;
  /// A time that never comes.
  static constexpr std::chrono::nanoseconds kNever = std::chrono::nanoseconds::max();

  /// Throws Error if the file of the trace cannot be written. Setup only.
  explicit Simulation(const SimulationOptions& options = {});
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  ~Simulation();

  /// A new thread of the node will run `body`. Before run(), or in a simulated thread.
  void start(Node node, std::function<void()> body);
  /// Runs until the threads have ended, or none can go on. Threads of nodes that have crashed end
  /// last: they are woken with their network cut off, when all others have ended. Once only.
  SimulationReport run();
  /// The calling thread, which is simulated, handles an exception that its node ends with: run()
  /// reports the first of those. For who destroys objects behind it that take time, in which other
  /// nodes may throw because of it. What leaves a thread of start() is reported anyway.
  void caught();
  /// Makes the calling thread one of the node, and the one that runs. The simulation goes on
  /// whenever it waits, and must live as long as the process. Once only, instead of run().
  void enter(Node node);

  /// The simulation of the calling thread; nullptr outside.
  static Simulation* current() noexcept;
  /// The node of the calling thread, which is simulated.
  Node node() const noexcept;
  /// Virtual time since the beginning.
  std::chrono::nanoseconds time() const noexcept;
  /// The calling thread computes for so long. Others run meanwhile.
  void compute(std::chrono::nanoseconds time) noexcept;
  /// The next random number that follows from the seed.
  std::uint64_t random() noexcept;
  /// The caller has written to a descriptor that threads of another node may watch: for what
  /// connects nodes beside the network, as signaled_descriptor() is for threads of one.
  void signaled(Node node) noexcept;
  /// Takes part in the digest.
  void note(std::uint64_t value) noexcept;

  // --- the trace ------------------------------------------------------------------------------
  /// Whether there is one. All that follows does nothing when there is none, or the run is over.
  bool traced() const noexcept;
  /// Shows at the calling thread that something happened. Printable ASCII, of which `kind` is for
  /// filters.
  void mark(std::string_view kind, std::string_view name);
  /// Shows that something begins there; end_span(result) shows its end, from any thread. Spans hold
  /// others. The result is 0 when there is no trace.
  std::uint64_t begin_span(std::string_view kind, std::string_view name);
  /// See begin_span; nothing for 0.
  void end_span(std::uint64_t span);

  // --- faults; in a simulated thread, or before run() -----------------------------------------
  /// Calls `action` at that time since the beginning; it must not wait.
  void at(std::chrono::nanoseconds time, std::function<void()> action);
  /// The node stops for good, and nobody reaches its memory any more.
  void crash(Node node);
  /// Calls `upcall` with each node that crashes, when it does; it must not wait. For what connects
  /// nodes beside the network. Before run(), once only.
  void on_crash(std::function<void(Node)> upcall);
  /// Whether it has crashed. What a thread does that finds this true of its own node is no part of
  /// the run any more.
  bool crashed(Node node) const noexcept;
  /// The threads of the node stand still for so long from now, whatever was said before; its
  /// adapter goes on.
  void stop(Node node, std::chrono::nanoseconds how_long);
  /// What the node's processors do takes `factor` times as long.
  void slow_down(Node node, unsigned factor);
  /// Nothing passes between the two nodes for so long.
  void cut(Node one, Node other, std::chrono::nanoseconds how_long = kNever);
  /// What passes between the two nodes takes so much longer.
  void delay(Node one, Node other, std::chrono::nanoseconds more);
  /// Breaks one of the queue pairs that are connected now; false: there is none.
  bool break_a_queue_pair();
  /// The node can register only so many bytes more.
  void limit_memory(Node node, std::size_t bytes);

 private:
  std::unique_ptr<sim::World> world_;
};

}  // namespace dtutils

// SPDX-License-Identifier: MIT
// Umbrella of the bench harness: a bench includes this one header.
//
// A whole bench: a ping-pong over shared memory against half of the cache-line round trip.
//
//   struct Lines {
//     alignas(64) std::atomic<std::uint64_t> ping;
//     alignas(64) std::atomic<std::uint64_t> pong;
//   };
//
//   int main(int argc, char** argv) {
//     bench::SharedMemory memory(sizeof(Lines));      // shared: created before run()
//     auto* lines = memory.as<Lines>();
//     std::uint64_t count = 0;                        // after the fork each process has its own
//
//     bench::Suite suite(argc, argv, "example", "a ping-pong over shared memory");
//     suite.setup([&](bench::Channel& channel) { channel.barrier(); });  // open devices here
//     suite.add({.name = "ping_pong_vs_cacheline",
//                .size = 8,
//                .unit = bench::Unit::kNanoseconds,
//                .variants = {{.name = "one_way",
//                              .measure = [&](bench::Batch& batch) {     // process 0
//                                return batch.ns_each([&] {
//                                  for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
//                                    lines->ping.store(++count);
//                                    while (lines->pong.load() != count) {}
//                                  }
//                                }) / 2;
//                              },
//                              .assist = [&](bench::Batch& batch) {      // process 1
//                                for (std::uint64_t i = 0; i < batch.iterations(); ++i) {
//                                  ++count;
//                                  while (lines->ping.load() != count) {}
//                                  lines->pong.store(count);
//                                }
//                              }}},
//                .ratios = {{.over = "one_way", .under = bench::kHalfRoundTrip, .bar =
//                "<= 1.3"}}});
//     return suite.run();
//   }
//
// `example --help` lists the command line. Loops that wait for the other process need no deadline
// of their own: when it dies or a step takes longer than kStepLimit, the harness ends the bench.
#pragma once

#include "bench/harness/batch.hpp"
#include "bench/harness/case.hpp"
#include "bench/harness/channel.hpp"
#include "bench/harness/clock.hpp"
#include "bench/harness/external.hpp"
#include "bench/harness/pin.hpp"
#include "bench/harness/shared_memory.hpp"
#include "bench/harness/suite.hpp"

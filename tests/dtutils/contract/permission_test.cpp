// SPDX-License-Identifier: MIT
// A user who may not open the device is told which file it is and which command helps.
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "dtutils/error.hpp"
#include "support/catch.hpp"
#include "support/require.hpp"
#include "support/two_processes.hpp"

using namespace dtutils;
using namespace support;

namespace {

constexpr const char* kNodes = "/dev/infiniband";

/// Hides the device nodes behind copies for root only, for this process alone.
void close_device_nodes_to_others() {
  struct Node {
    std::filesystem::path path;
    dev_t device;
  };
  std::vector<Node> nodes;
  for (const auto& entry : std::filesystem::directory_iterator(kNodes)) {
    struct stat status {};
    require(::stat(entry.path().c_str(), &status) == 0, "cannot look at a device node");
    nodes.push_back({entry.path(), status.st_rdev});
  }
  require(::unshare(CLONE_NEWNS) == 0, "cannot leave the mount namespace");
  require(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "cannot be private");
  require(::mount("none", kNodes, "tmpfs", 0, nullptr) == 0, "cannot hide the nodes");
  for (const Node& node : nodes) {
    require(::mknod(node.path.c_str(), S_IFCHR | 0600, node.device) == 0, "cannot make a node");
  }
}

}  // namespace

TEST_CASE("missing_permission_on_the_device_nodes_is_explained") {
  if (!std::filesystem::exists(kNodes) || ::geteuid() != 0) {
    WARN("SKIPPED: needs a verbs device and root");
    return;
  }
  RemotePeer peer([](Wire&) {
    close_device_nodes_to_others();
    require(::setuid(65534) == 0, "cannot become another user");
    try {
      open_device_under_test();
      fail("the device was opened");
    } catch (const Error& error) {
      const std::string text = error.what();
      require_equal(error.code(), EACCES, text);
      require(text.find("may not open /dev/infiniband/uverbs") != std::string::npos, text);
      require(text.find("chmod") != std::string::npos, text);
    }
  });
  peer.join();
}

// SPDX-License-Identifier: MIT
// The sentences about a system that refuses RDMA name what is wrong and the command that mends it.
#include <cerrno>

#include "support/catch.hpp"
#include "support/matchers.hpp"
#include "verbs/explanations.hpp"

using dtutils::verbs::explain_absence;
using dtutils::verbs::remedy_for_open;
using dtutils::verbs::remedy_for_pinning;
using dtutils::verbs::size_in_words;
using support::contains;

TEST_CASE("absence_without_kernel_devices_hints_at_modules_and_soft_roce") {
  CHECK_THAT(explain_absence({}, ""), contains("the kernel has no RDMA device") &&
                                          contains("modprobe rdma_rxe") &&
                                          contains("rdma link add"));
}

TEST_CASE("absence_of_user_verbs_names_the_module") {
  CHECK_THAT(explain_absence({{"mlx5_0", "mlx5_1"}, false}, ""),
             contains("the kernel has mlx5_0, mlx5_1") && contains("modprobe ib_uverbs"));
}

TEST_CASE("absence_of_a_driver_names_the_package") {
  CHECK_THAT(explain_absence({{"rxe0"}, true}, "rxe0"),
             contains("no driver") && contains("install ibverbs-providers"));
}

TEST_CASE("absence_of_a_wrong_name_lists_the_right_ones") {
  CHECK_THAT(explain_absence({{"rxe0", "rxe1"}, true}, "mlx5_0"), contains("called rxe0, rxe1"));
}

TEST_CASE("missing_permission_names_the_node_and_the_command") {
  const std::string node = "/dev/infiniband/uverbs0";
  CHECK_THAT(remedy_for_open(EACCES, node), contains("may not open /dev/infiniband/uverbs0") &&
                                                contains("chmod a+rw /dev/infiniband/uverbs0"));
  CHECK_THAT(remedy_for_open(EPERM, node), contains("may not open"));
  CHECK_THAT(remedy_for_open(ENOENT, node),
             contains("modprobe ib_uverbs") && contains("--device /dev/infiniband"));
  CHECK_THAT(remedy_for_open(EMFILE, node), contains("ulimit -n"));
}

TEST_CASE("too_small_a_memlock_names_the_limit_and_the_command") {
  CHECK_THAT(remedy_for_pinning(ENOMEM, 1 << 20, 64 << 10), contains("may lock 64 KiB") &&
                                                                contains("ulimit -l unlimited") &&
                                                                contains("limits.conf"));
  CHECK_THAT(remedy_for_pinning(ENOMEM, 1 << 20, RLIM_INFINITY),
             contains("not limited") && contains("1 MiB"));
  CHECK_THAT(remedy_for_pinning(EFAULT, 4096, 64 << 10), contains("not mapped"));
  CHECK_THAT(remedy_for_pinning(EINVAL, 4096, 64 << 10), contains("local write"));
}

TEST_CASE("sizes_are_written_in_the_largest_whole_unit") {
  CHECK(size_in_words(0) == "0 bytes");
  CHECK(size_in_words(1023) == "1023 bytes");
  CHECK(size_in_words(65536) == "64 KiB");
  CHECK(size_in_words((2 << 20) + 1) == "2097153 bytes");
  CHECK(size_in_words(std::size_t{3} << 40) == "3072 GiB");
}

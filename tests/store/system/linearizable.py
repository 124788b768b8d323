# SPDX-License-Identifier: MIT
# Whether a history of reads and writes of one register is linearizable: the search of Wing and Gong.
"""An operation is (begin, end, kind, value): kind "w" wrote value, "r" read it (None: nothing was
there). `end` is INFINITE when its client never had an answer: then it took effect at any time after
its begin, or never. Values of writes differ from each other."""

INFINITE = float("inf")


def linearizable(history):
    """Depth first: at each step one of the operations takes effect that began before all others that
    are left have ended. What was tried (operations done, value) is not tried again (Lowe 2017)."""
    operations = sorted(history, key=lambda op: op[:2])
    # A read without an answer says nothing.
    operations = [op for op in operations if not (op[2] == "r" and op[1] == INFINITE)]
    count = len(operations)
    required = sum(1 << i for i, op in enumerate(operations) if op[1] != INFINITE)
    tried = set()
    # (done as bits, value of the register)
    stack = [(0, None)]
    while stack:
        done, value = stack.pop()
        if done & required == required:
            return True
        if (done, value) in tried:
            continue
        tried.add((done, value))
        first = (~done & (done + 1)).bit_length() - 1
        earliest = INFINITE
        candidates = []
        for i in range(first, count):
            begin, end, kind, operand = operations[i]
            if begin > earliest:
                break
            if done >> i & 1:
                continue
            candidates.append(i)
            earliest = min(earliest, end)
        for i in reversed(candidates):
            begin, end, kind, operand = operations[i]
            if begin > earliest:
                continue
            if kind == "w":
                stack.append((done | 1 << i, operand))
            elif operand == value:
                stack.append((done | 1 << i, value))
    return False

# SPDX-License-Identifier: MIT
# The checker of histories against histories whose answer is known, and against all orders.
import itertools
import random

from linearizable import INFINITE, linearizable


def by_all_orders(history):
    """The definition, for a few operations."""
    optional = [op for op in history if op[1] == INFINITE]
    certain = [op for op in history if op[1] != INFINITE]
    for size in range(len(optional) + 1):
        for more in itertools.combinations(optional, size):
            for order in itertools.permutations(certain + list(more)):
                value, fits = None, True
                for i, op in enumerate(order):
                    fits &= all(later[1] >= op[0] for later in order[i + 1:])
                    if op[2] == "w":
                        value = op[3]
                    else:
                        fits &= op[3] == value or op[1] == INFINITE
                if fits:
                    return True
    return False


KNOWN = [
    ([(0, 1, "w", 1), (2, 3, "r", 1)], True),
    ([(0, 1, "w", 1), (2, 3, "r", None)], False),
    ([(0, 5, "w", 1), (2, 3, "r", None)], True),
    ([(0, 5, "w", 1), (1, 2, "r", 1), (3, 4, "r", None)], False),
    ([(0, INFINITE, "w", 1), (8, 9, "r", 1)], True),
    ([(0, INFINITE, "w", 1), (8, 9, "r", None)], True),
    ([(0, INFINITE, "w", 1), (2, 3, "r", 1), (8, 9, "r", None)], False),
    ([(0, 1, "w", 1), (0, 1, "w", 2), (2, 3, "r", 1), (4, 5, "r", 2)], False),
    ([], True),
]
for history, answer in KNOWN:
    assert linearizable(history) == answer, (history, answer)

source = random.Random(5)
answers = [0, 0]
for _ in range(3000):
    history, values = [], [None]
    for i in range(source.randint(1, 5)):
        begin = source.randint(0, 8)
        end = INFINITE if source.random() < 0.15 else begin + source.randint(1, 4)
        if source.random() < 0.5:
            history.append((begin, end, "w", i))
            values.append(i)
        else:
            history.append((begin, end, "r", source.choice(values)))
    expected = by_all_orders(history)
    assert linearizable(history) == expected, history
    answers[expected] += 1
assert min(answers) > 300, answers
print("the checker agrees with all orders:", answers)

"""Ways to sort a list; all but the first are written in Python."""

from __future__ import annotations

from heapq import heapify, heappop


def built_in(values: list[float]) -> list[float]:
    return sorted(values)


def copied(values: list[float]) -> list[float]:
    """As ``sorted`` does it: a copy that is sorted in place."""
    ordered = list(values)
    ordered.sort()
    return ordered


def heap(values: list[float]) -> list[float]:
    """About twice as many comparisons as ``built_in``, and a step of Python's for each element."""
    waiting = list(values)
    heapify(waiting)
    return [heappop(waiting) for _ in range(len(waiting))]


def insertion(values: list[float]) -> list[float]:
    """In the mean n²/4 comparisons, and a move for each."""
    for i in range(1, len(values)):
        j, value = i, values[i]
        while j and values[j - 1] > value:
            values[j] = values[j - 1]
            j -= 1
        values[j] = value
    return values


def bubble(values: list[float]) -> list[float]:
    """n²/2 comparisons; in the mean as many exchanges as an insertion sort has moves."""
    for end in range(len(values) - 1, 0, -1):
        for j in range(end):
            if values[j] > values[j + 1]:
                values[j], values[j + 1] = values[j + 1], values[j]
    return values


def merge(values: list[float]) -> list[float]:
    """At most n log2 n comparisons."""
    if len(values) < 2:
        return values
    middle = len(values) // 2
    left, right = merge(values[:middle]), merge(values[middle:])
    merged, i, j = list[float](), 0, 0
    while i < len(left) and j < len(right):
        if left[i] <= right[j]:
            merged.append(left[i])
            i += 1
        else:
            merged.append(right[j])
            j += 1
    return merged + left[i:] + right[j:]


def my_method(values: list[float]) -> list[float]:
    """Version 2; version 1 is in ``before/sorts.py``."""
    return merge(values)

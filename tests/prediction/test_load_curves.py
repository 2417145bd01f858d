"""Load curves: what is predicted over loads, and where resources saturate."""

from __future__ import annotations

import itertools

import pytest

from hati.prediction import (
    ClosedWorkload,
    Component,
    Demand,
    LoadField,
    LoadRange,
    OpenWorkload,
    PredictedValue,
    Resource,
    Saturation,
    Scheduling,
    ServiceModel,
    predict,
    predict_over,
    saturation,
    with_load,
)

CPU = Resource("cpu", Scheduling.FCFS, cores=3)
DISK = Resource("disk", Scheduling.FCFS)
WEB = Component("web", (Demand("cpu", 0.02),))
MIX = (("web", 1.0),)
RATE = LoadRange("users", LoadField.RATE, 10.0, 190.0, "1/s")


def _open(*others: OpenWorkload) -> ServiceModel:
    return ServiceModel((CPU,), (WEB,), (OpenWorkload("users", 1.0, MIX), *others))


def test_a_queue_of_c_cores_saturates_at_c_over_the_demand() -> None:
    assert saturation(_open(), RATE) == Saturation("cpu", PredictedValue(pytest.approx(3 / 0.02)))


def test_other_workloads_take_their_cores_first() -> None:
    assert saturation(_open(OpenWorkload("batch", 50.0, MIX)), RATE) == Saturation(
        "cpu", PredictedValue(pytest.approx(2 / 0.02))
    )
    assert saturation(_open(OpenWorkload("batch", 500.0, MIX)), RATE) == Saturation("cpu", PredictedValue(0.0))


def test_the_first_resource_is_named() -> None:
    web = Component("web", (Demand("cpu", 0.02), Demand("disk", 0.01)))
    model = ServiceModel((CPU, DISK), (web,), (OpenWorkload("users", 1.0, MIX),))
    assert saturation(model, RATE) == Saturation("disk", PredictedValue(pytest.approx(100.0)))


def test_points_are_the_single_predictions_and_grow_until_the_overload() -> None:
    curve = predict_over(_open(), RATE, 19)
    assert [point.load for point in curve.points] == pytest.approx(range(10, 191, 10))
    assert all(point.prediction == predict(with_load(_open(), RATE, point.load)) for point in curve.points)
    answered = [point for point in curve.points if not point.prediction.overloads]
    assert [point.load for point in answered] == pytest.approx(range(10, 150, 10))
    times = [point.prediction.requests[0].response.value for point in answered]
    assert all(first < second for first, second in itertools.pairwise(times))


def test_populations_are_whole_and_saturate_nothing() -> None:
    model = ServiceModel((CPU,), (WEB,), (ClosedWorkload("users", 1, 1.0, MIX),))
    curve = predict_over(model, LoadRange("users", LoadField.POPULATION, 1.0, 4.0, "users"), 10)
    assert [point.load for point in curve.points] == [1.0, 2.0, 3.0, 4.0]
    assert curve.saturation is None
    assert all(point.prediction == predict(with_load(model, curve.over, point.load)) for point in curve.points)

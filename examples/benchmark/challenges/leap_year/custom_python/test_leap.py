import pytest

from calendar_rule import is_leap


@pytest.mark.parametrize("year, leap", [(1900, False), (2000, True), (2023, False), (2024, True)])
def test_is_leap(year, leap):
    assert is_leap(year) == leap

"""What `.ci/run` says of tests that failed and then passed alone."""

import json

import pytest

from tests.live.failed import main


@pytest.mark.parametrize(("stages", "code"), [(0, 0), (1, 0), (2, 1)])
def test_flakes_of_all_stages_are_named_and_three_fail(tmp_path, capsys, stages, code):
    noted = tmp_path / "v/cache/lastfailed"
    noted.parent.mkdir(parents=True)
    tests = [f"tests/test_{stage}.py::test_{each}" for stage in range(stages) for each in "ab"]
    for stage in range(stages):
        noted.write_text(json.dumps(dict.fromkeys(tests[2 * stage : 2 * stage + 2], True)))
        assert main(["--note"], tmp_path) == 0
    capsys.readouterr()
    assert main(["--flakes"], tmp_path) == code
    said = capsys.readouterr().out
    assert said.startswith(f"{len(tests)} flaky tests")
    assert all(test in said for test in tests)


def test_stage_that_failed_without_a_failed_test_is_not_run_again(tmp_path):
    assert main(["--note"], tmp_path) == 1

"""What the command's help says."""

import pytest

from localcluster.__main__ import main


@pytest.mark.parametrize("command", ["up", "run"])
def test_help_says_what_pods_see_of_the_machine(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "A hostPath volume is the machine's own folder" in told
    assert "A subPath follows symbolic links" in told

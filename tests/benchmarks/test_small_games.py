"""The table of small games: its figures are bounds that hold, its record can be read back."""

import msgspec
import pytest
from click.testing import CliRunner

from benchmarks.small_games import SmallGame, main


def test_table_and_record(tmp_path):
    path = tmp_path / "games.json"
    result = CliRunner().invoke(
        main, ["--quick", "--json", str(path), "kuhn_poker", "leduc_poker"], catch_exceptions=False
    )
    assert result.exit_code == 0
    assert "9,457" in result.output
    kuhn, leduc = msgspec.json.decode(path.read_bytes(), type=list[SmallGame])
    for row, value in ((kuhn, -1 / 18), (leduc, -0.085606)):
        assert row.nash_conv <= 1e-2
        assert abs(row.value - value) <= row.nash_conv / 2
    assert kuhn.uniform_nash_conv == pytest.approx(11 / 12)

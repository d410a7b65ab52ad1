import json

import pytest


def test_one_player_meets_every_bot(run, tmp_path):
    path = tmp_path / "reports.json"
    result = run("evaluate", "cautious", "--deals", 2, "--json", path)
    assert result.status == 0
    assert result.stderr == ""
    reports = json.loads(path.read_text())
    assert [report["b"] for report in reports] == [
        "random",
        "discard_only",
        "threshold",
        "bold",
        "champion",
    ]
    for report in reports:
        assert report["a"] == "cautious"
        assert report["b"] in result.stdout
        assert report["score_low"] <= report["score"] <= report["score_high"]
        assert f"{report['score']:+.3g} [{report['score_low']:+.3g}" in result.stdout
    assert "2 deals, each played from both seats" in result.stdout


def test_several_players_meet_each_other_in_a_matrix(run, tmp_path):
    path = tmp_path / "reports.json"
    result = run("evaluate", "random", "bold", "discard_only", "--deals", 2, "--json", path)
    assert result.status == 0
    pairs = [(report["a"], report["b"]) for report in json.loads(path.read_text())]
    assert pairs == [("random", "bold"), ("random", "discard_only"), ("bold", "discard_only")]
    header, best, *_ = [line.split() for line in result.stdout.splitlines() if "bold" in line]
    assert header == ["bold", "discard_only", "random", "mean"]
    assert best[0] == "bold"


def test_against_names_the_opponents(run, tmp_path):
    path = tmp_path / "reports.json"
    arguments = ("--against", "random", "--deals", 2, "--json", path)
    result = run("evaluate", "bold", "threshold", *arguments)
    assert result.status == 0
    pairs = [(report["a"], report["b"]) for report in json.loads(path.read_text())]
    assert pairs == [("bold", "random"), ("threshold", "random")]


def test_rounds_seed_and_game_are_passed_on(run, tmp_path):
    path = tmp_path / "reports.json"
    options = ("--rounds", 3, "--seed", 7, "--game", "lost_cities(colors=2)", "--json", path)
    result = run("evaluate", "bold", "--against", "random", "--deals", 2, *options)
    assert result.status == 0
    assert "per match of three rounds" in result.stdout
    (report,) = json.loads(path.read_text())
    assert (report["rounds"], report["seed"]) == (3, 7)
    assert report["game"].startswith("lost_cities(colors=2,")


def test_other_games_have_no_columns_of_expeditions(run):
    game = ("--game", "kuhn_poker")
    result = run("evaluate", "random", "--against", "random", "--deals", 2, *game)
    assert result.status == 0
    assert "colours" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "unknown player 'nobody'"),
        (["bold", "--against", "cautius"], "did you mean 'cautious'?"),
        (["bold", "--deals", "1"], "'--deals': 1 is not in the range x>=2"),
        (["bold", "--rounds", "2"], "'--rounds'"),
        (["bold", "--game", "checkers"], "unknown game 'checkers'"),
        (["bold", "--game", "kuhn_poker"], "unknown player 'bold'"),
        (["./"], "agent.safetensors: not a readable agent file"),
        ([], "Missing argument 'AGENT...'"),
        (["random", "--against", "bold", "--json", "no/such/folder/x.json"], "no/such/folder"),
    ],
)
def test_what_cannot_be_done_is_one_line(run, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("evaluate", "--deals", 2, *arguments)
    assert result.status != 0
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def test_a_player_without_opponents_is_told_to_name_some(run):
    result = run("evaluate", "random", "--game", "kuhn_poker", "--deals", 2)
    assert (result.status, result.stdout) == (2, "")
    assert "nobody else plays kuhn_poker: name opponents with --against" in result.stderr


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere/reports.json", "no folder nowhere; create it first"),
        (".", "is a folder; name a file"),
        ("/dev/null", "is a device; name a file"),
    ],
)
def test_where_to_write_is_looked_at_before_playing(run, tmp_path, monkeypatch, path, message):
    monkeypatch.chdir(tmp_path)
    result = run("evaluate", "random", "bold", "--deals", 100000000, "--json", path)
    assert (result.status, result.stdout) == (1, "")
    assert message in result.stderr

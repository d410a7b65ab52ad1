"""The service for programs: tables, friends, replays, restarts, and hostile requests."""

import asyncio
import json

import httpx
import pytest

from asynccfr.errors import AsyncCFRError
from asynccfr.games import load_game
from asynccfr.web.application import BODY_BYTES, application, document
from asynccfr.web.guard import Rules
from asynccfr.web.lounge import Limits, open_lounge
from asynccfr.web.store import FILE

LOCAL = Rules(token=None, local=True, rate=10_000, burst=10_000)
SECRET = Rules(token="open sesame", local=False, rate=10_000, burst=10_000)
NAME = str(load_game("lost_cities"))
NEW = {"game": NAME, "opponent": "bold"}


def client(lounge, rules=LOCAL):
    transport = httpx.ASGITransport(application(lounge, rules))
    return httpx.AsyncClient(transport=transport, base_url="http://localhost:1")


async def sit(http, **wanted):
    answer = await http.post("/api/new", json={**NEW, **wanted})
    assert answer.status_code == 201, answer.text
    return answer.json()


async def move(http, token, position, choice=0):
    body = {"position": position["position"], "action": position["choices"][choice]["action"]}
    return await http.post(f"/api/tables/{token}/actions", json=body)


async def play_to_the_end(http, token):
    position = (await http.get(f"/api/tables/{token}")).json()
    while position["turn"] == "you":
        position = (await move(http, token, position, -1)).json()
    return position


async def test_every_game_comes_with_its_rules(lounge):
    async with client(lounge) as http:
        games = (await http.get("/api/games")).json()
    assert len(games) > 1
    rules = {each["game"]: " ".join(each["rules"]) for each in games}
    assert len({*rules.values()}) == len(rules)
    assert all(len(text) > 40 for text in rules.values()), rules


async def test_a_match_of_three_rounds_adds_up(lounge):
    async with client(lounge) as http:
        token = (await sit(http, rounds=3, seat=1))["token"]
        for number in range(1, 4):
            position = await play_to_the_end(http, token)
            assert (position["round"], position["turn"]) == (number, "nobody")
            total = sum(position["results"])
            own = sum(each["own_score"] for each in position["board"]["colors"])
            other = sum(each["opponent_score"] for each in position["board"]["colors"])
            assert position["results"][-1] == own - other
            following = await http.post(f"/api/tables/{token}/next", json={})
            if number < 3:
                seat = following.json()["seat"]
                assert total == 0 or seat == (0 if total > 0 else 1)
        assert following.status_code == 409


async def test_a_replay_shows_the_round_and_can_be_played_on_from(lounge):
    async with client(lounge) as http:
        token = (await sit(http))["token"]
        last = await play_to_the_end(http, token)
        query = dict(httpx.URL(last["replay"]).params)
        query["actions"] = [int(each) for each in query["actions"].split("-")]
        query["seat"] = int(query["seat"])
        steps = (await http.post("/api/replay", json=query)).json()
        assert len(steps) == 1 + len(query["actions"])
        assert steps[-1]["text"] == last["text"]
        assert steps[-1]["log"] == last["log"]
        part = {**query, "actions": query["actions"][:20]}
        assert (await http.post("/api/replay", json=part)).status_code == 400
        on = await http.post("/api/play-on", json={"replay": part, "opponent": "bold"})
        position = (await http.get(f"/api/tables/{on.json()['token']}")).json()
        assert position["practice"]
        assert position["position"] >= 20
        await play_to_the_end(http, on.json()["token"])


async def test_taking_back_makes_the_table_practice(lounge):
    async with client(lounge) as http:
        token = (await sit(http))["token"]
        before = (await http.get(f"/api/tables/{token}")).json()
        await move(http, token, before)
        after = (await http.post(f"/api/tables/{token}/undo", json={})).json()
        assert (after["text"], after["practice"]) == (before["text"], True)
        assert (await http.post(f"/api/tables/{token}/undo", json={})).status_code == 409


async def test_a_friend_sits_down_once_and_nobody_asks_an_agent(lounge):
    async with client(lounge) as http:
        seat = await sit(http, opponent="friend")
        mine = (await http.get(f"/api/tables/{seat['token']}")).json()
        assert mine["waiting"]
        join = f"/api{seat['invitation']}"
        friend = (await http.post(join, json={})).json()
        assert (await http.post(join, json={})).status_code == 404
        theirs = (await http.get(f"/api/tables/{friend['token']}")).json()
        assert (mine["turn"], theirs["turn"]) == ("you", "opponent")
        assert not theirs["waiting"]
        assert (await move(http, friend["token"], mine)).status_code == 409
        assert (await move(http, seat["token"], mine)).status_code == 200
        for what in ("policy", "estimate"):
            assert (await http.get(f"/api/tables/{seat['token']}/{what}")).status_code == 403
        undo = await http.post(f"/api/tables/{seat['token']}/undo", json={})
        assert undo.status_code == 403


async def test_the_agent_is_asked(lounge):
    async with client(lounge) as http:
        token = (await sit(http))["token"]
        advice = (await http.get(f"/api/tables/{token}/policy")).json()
        assert advice["agent"] == "champion"
        assert sum(each["probability"] for each in advice["likely"]) == pytest.approx(1)
        position = (await http.get(f"/api/tables/{token}")).json()
        assert {each["action"] for each in advice["likely"]} == {
            each["action"] for each in position["choices"]
        }
        found = (await http.get(f"/api/tables/{token}/estimate")).json()
        assert found["low"] < found["mean"] < found["high"]
        assert found["playouts"] == 64


async def test_tables_survive_the_server_and_leave_its_memory(tmp_path):
    tokens, texts = [], []
    async with (
        open_lounge(tmp_path, load_game("lost_cities"), limits=Limits(in_memory=3)) as lounge,
        client(lounge) as http,
    ):
        for _ in range(10):
            tokens.append((await sit(http))["token"])
            position = (await http.get(f"/api/tables/{tokens[-1]}")).json()
            texts.append((await move(http, tokens[-1], position)).json())
        assert len(lounge.tables) == 3
    async with open_lounge(tmp_path, load_game("lost_cities")) as lounge, client(lounge) as http:
        for token, text in zip(tokens, texts, strict=True):
            assert (await http.get(f"/api/tables/{token}")).json() == text


async def test_old_tables_are_cleared(lounge):
    async with client(lounge) as http:
        token = (await sit(http))["token"]
        assert lounge.store.clear(before=0) == 0
        assert lounge.store.clear(before=2e10) == 1
        assert (await http.get(f"/api/tables/{token}")).status_code == 404


async def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / FILE).write_bytes(b"no database" * 100)
    with pytest.raises(AsyncCFRError, match="no file of tables"):
        async with open_lounge(tmp_path, load_game("lost_cities")):
            pass


async def test_full_servers_say_so(tmp_path):
    limits = Limits(tables=2)
    async with (
        open_lounge(tmp_path, load_game("lost_cities"), limits=limits) as lounge,
        client(lounge) as http,
    ):
        await sit(http)
        await sit(http)
        assert (await http.post("/api/new", json=NEW)).status_code == 503


JSON = {"content-type": "application/json"}
HOSTILE = [
    ("GET", "/api/tables/nobody", None, {}, 404),
    ("GET", "/api/tables/" + "x" * 5000, None, {}, 404),
    ("GET", "/api/tables/%00", None, {}, 404),
    ("GET", "/api/tables/'%20or%20''='", None, {}, 404),
    ("POST", "/api/tables/nobody/actions", b'{"position":0,"action":1}', JSON, 404),
    ("POST", "/api/tables/nobody/undo", b"{}", JSON, 404),
    ("POST", "/api/join/nobody", b"{}", JSON, 404),
    ("GET", "/static/../messages.py", None, {}, 404),
    ("GET", "/static/..%2f..%2ferrors.py", None, {}, 404),
    ("GET", "/static/%2e%2e/%2e%2e/errors.py", None, {}, 404),
    ("GET", "/static//etc/passwd", None, {}, 404),
    ("GET", "/static/%2fetc%2fpasswd", None, {}, 404),
    ("GET", "/../../etc/passwd", None, {}, 404),
    ("POST", "/api/new", b"", JSON, 400),
    ("POST", "/api/new", b"{", JSON, 400),
    ("POST", "/api/new", b"\xff\xfe", JSON, 400),
    ("POST", "/api/new", b"[" * 10_000, JSON, 400),
    ("POST", "/api/new", b"null", JSON, 400),
    ("POST", "/api/new", b'{"game":1,"opponent":"bold"}', JSON, 400),
    ("POST", "/api/new", b'{"game":"chess","opponent":"bold"}', JSON, 400),
    ("POST", "/api/new", b'{"game":"os:system","opponent":"bold"}', JSON, 400),
    ("POST", "/api/new", json.dumps({**NEW, "opponent": "/etc/passwd"}).encode(), JSON, 400),
    ("POST", "/api/new", json.dumps({**NEW, "rounds": 1000}).encode(), JSON, 400),
    ("POST", "/api/new", json.dumps({**NEW, "seat": 2}).encode(), JSON, 400),
    ("POST", "/api/new", json.dumps({**NEW, "seed": 1}).encode(), JSON, 400),
    ("POST", "/api/new", json.dumps(NEW).encode(), {"content-type": "text/plain"}, 415),
    ("POST", "/api/new", json.dumps(NEW).encode(), {}, 415),
    ("POST", "/api/new", b" " * (BODY_BYTES + 1), JSON, 413),
    ("POST", "/api/new", json.dumps(NEW).encode(), {**JSON, "origin": "http://evil"}, 403),
    ("POST", "/api/new", json.dumps(NEW).encode(), {**JSON, "origin": "null"}, 403),
    ("GET", "/api/games", None, {"host": "evil.example"}, 403),
    ("GET", "/api/games", None, {"host": "[::1"}, 403),
    ("PUT", "/api/new", b"{}", JSON, 405),
    ("DELETE", "/api/games", None, {}, 405),
    ("POST", "/", b"{}", JSON, 405),
]
SEEDS = ["-1", "1e9", "9" * 19, "9" * 40, "", "x", "\u0661"]
REPLAYS = [
    {"game": NAME, "seed": "1", "seat": 0, "actions": [0] * 3},
    {"game": NAME, "seed": "1", "seat": 0, "actions": [-1]},
    {"game": NAME, "seed": "1", "seat": 0, "actions": [2**40]},
    {"game": NAME, "seed": "1", "seat": 0, "actions": [2**80]},
    {"game": NAME, "seed": "1", "seat": 0, "actions": []},
    {"game": "kuhn_poker", "seed": "1", "seat": 0, "actions": [0, 0, 0, 0]},
    {"game": "nothing", "seed": "1", "seat": 0, "actions": [0]},
    *({"game": NAME, "seed": seed, "seat": 0, "actions": [0]} for seed in SEEDS),
]


async def test_hostile_requests_get_a_clear_status_and_change_nothing(lounge):
    replays = [("POST", "/api/replay", json.dumps(each).encode(), JSON, 400) for each in REPLAYS]
    async with client(lounge) as http:
        token = (await sit(http))["token"]
        kept = lounge.store.count()
        before = (await http.get(f"/api/tables/{token}")).text
        actions = [
            b'{"position":0,"action":-1}',
            b'{"position":0,"action":99999999999999999999999}',
            b'{"position":0,"text":"play everything"}',
            b'{"position":0}',
            b'{"position":7,"action":0}',
        ]
        path = f"/api/tables/{token}/actions"
        moves = [("POST", path, each, JSON, (400, 409)) for each in actions]
        requests = [*HOSTILE, *replays, *moves]
        assert len(requests) >= 50
        for method, path, body, headers, status in requests:
            answer = await http.request(method, path, content=body, headers=headers)
            expected = status if isinstance(status, tuple) else (status,)
            assert answer.status_code in expected, (method, path, body, answer.text)
            assert "Traceback" not in answer.text
            assert "root:" not in answer.text
        assert (await http.get(f"/api/tables/{token}")).text == before
        assert lounge.store.count() == kept


async def test_a_flood_is_refused_and_passes(lounge):
    rules = LOCAL._replace(rate=50, burst=5)
    async with client(lounge, rules) as http:
        statuses = [(await http.get("/api/games")).status_code for _ in range(8)]
        assert statuses.count(429) >= 2
        await asyncio.sleep(0.1)
        assert (await http.get("/api/games")).status_code == 200


async def test_beyond_this_machine_the_server_has_a_token(lounge):
    async with client(lounge, SECRET) as http:
        for path in ("/", "/api/games", "/api/statistics", "/?token=wrong"):
            assert (await http.get(path)).status_code == 401
        bearer = {"authorization": "Bearer open sesame"}
        assert (await http.get("/api/games", headers=bearer)).status_code == 200
        seat = (await http.post("/api/new", json=NEW, headers=bearer)).json()
        # A chair's address is its own secret.
        assert (await http.get(f"/api/tables/{seat['token']}")).status_code == 200


async def test_the_printed_address_becomes_a_cookie(lounge):
    rules = SECRET._replace(token="abc")
    async with client(lounge, rules) as http:
        answer = await http.get("/?token=abc")
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        assert (await http.get("/api/games")).status_code == 200


async def test_every_answer_has_the_guarding_headers(lounge):
    async with client(lounge) as http:
        for path in ("/", "/table/x", "/api/games", "/static/style.css", "/nothing"):
            headers = (await http.get(path)).headers
            assert "default-src 'self'" in headers["content-security-policy"]
            assert headers["referrer-policy"] == "no-referrer"


async def test_nothing_is_loaded_from_elsewhere(lounge):
    async with client(lounge) as http:
        for path in ("/", "/table/x", "/join/x", "/replay", "/api"):
            text = (await http.get(path)).text
            assert "http://" not in text
            assert "https://" not in text


def test_the_description_names_every_message():
    description = document()
    text = json.dumps(description)
    schemas = description["components"]["schemas"]
    for name in ("NewTable", "Action", "Position", "Board", "Problem", "Estimate"):
        assert name in schemas
        assert f"#/components/schemas/{name}" in text
    assert description["paths"]["/api/new"]["post"]["requestBody"]["required"]

"""The pages in a browser: by keyboard, by touch, by two people, and for those who cannot see."""

import re
import signal

import pytest

from tests.web.conftest import running

OVER = ("You win", "You lose", "A draw")


def turn(page):
    """Wait until the table asks for a move, or the round is over; what it says."""
    asked = re.compile("Your turn|Now draw|You win|You lose|A draw")
    page.locator("#turn").filter(has_text=asked).wait_for()
    return page.locator("#turn").inner_text()


def sit(page, server, opponent="bold", rounds="1", game=None):
    page.goto(server)
    page.wait_for_selector("#opponent option", state="attached")
    if game:
        page.select_option("#game", label=game)
    page.select_option("#opponent", opponent)
    page.select_option("#rounds", rounds)
    page.click("text=Sit down")
    page.wait_for_url("**/table/**")
    return turn(page)


def after_move(page, move):
    """Do something that moves, and wait until the answer is shown."""
    shown = page.locator("#felt").get_attribute("data-shown")
    with page.expect_response(lambda answer: "/actions" in answer.url) as answer:
        move()
    assert answer.value.ok, answer.value.text()
    page.wait_for_selector(f'#felt:not([data-shown="{shown}"])')
    return turn(page)


def type_move(page, text):
    page.keyboard.press("/")
    page.keyboard.press("Control+a")
    page.keyboard.type(text)
    return after_move(page, lambda: page.keyboard.press("Enter"))


def by_keyboard(page):
    page.locator("body").press("Escape")
    said = turn(page)
    while not said.startswith(OVER):
        said = type_move(page, "deck" if said.startswith("Now draw") else "1")
        page.locator("#typed").blur()
    return said


def test_a_match_of_three_by_keyboard_only(server, new_page):
    page = new_page()
    page.goto(server)
    page.wait_for_selector("#opponent option", state="attached")
    page.locator("#rounds").focus()
    page.keyboard.type("A match")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/table/**")
    for number in range(1, 4):
        by_keyboard(page)
        assert page.locator("#rounds tr").count() == number + 1
        if number < 3:
            page.locator("#next").press("Enter")
            page.wait_for_selector(f'#felt[data-shown^="{number + 1}."]')
    assert page.locator("#next").is_hidden()


def test_a_card_is_chosen_and_played_by_tab_and_enter(server, new_page):
    page = new_page()
    assert sit(page, server).startswith("Your turn")
    page.locator(".hand .card:not([disabled])").first.focus()
    page.keyboard.press("Enter")
    assert page.locator(".hand [aria-pressed=true]").count() == 1
    assert page.locator("#actions button:focus").count() == 1
    assert after_move(page, lambda: page.keyboard.press("Enter")) == "Now draw a card"


def test_a_round_by_touch_at_375_pixels(server, new_page):
    page = new_page(375, 812, has_touch=True, is_mobile=True)
    said = sit(page, server)
    while not said.startswith(OVER):
        if said.startswith("Now draw"):
            said = after_move(page, lambda: page.locator(".deck").tap())
        else:
            page.locator(".hand .card:not([disabled])").last.tap()
            said = after_move(page, lambda: page.locator("#actions button").first.tap())
    assert page.locator("#replay").is_visible()


def test_a_card_is_dragged_to_its_pile(server, new_page):
    page = new_page()
    sit(page, server)
    card = page.locator(".hand .card:not([disabled])").first
    color = card.get_attribute("data-card").split("-")[0]
    pile = page.locator(f"[data-drop=pile-{color}]")
    after_move(page, lambda: card.drag_to(pile))
    assert page.locator("#log li").last.inner_text().split()[1] == "discard"
    assert page.locator(f"[data-drop=pile-{color}][data-card]").count() == 1


def test_friends_in_two_browsers_see_each_others_moves(server, new_page):
    mine, theirs = new_page(), new_page(375, 812)
    mine.goto(server)
    mine.wait_for_selector("#opponent option", state="attached")
    mine.select_option("#opponent", "friend")
    mine.click("text=Sit down")
    mine.wait_for_selector("#own")
    theirs.goto(mine.locator("#invitation").input_value())
    mine.click("#own")
    assert turn(mine).startswith("Your turn")
    theirs.click("#sit")
    theirs.wait_for_url("**/table/**")
    theirs.wait_for_selector(".hand .card")
    mine.wait_for_selector("#waiting", state="hidden")
    assert mine.locator("#asking").is_hidden()
    type_move(mine, "1")
    mine.keyboard.type("deck")
    mine.keyboard.press("Enter")
    mine.locator("#turn").filter(has_text="friend is to move").wait_for()
    assert turn(theirs).startswith("Your turn")
    assert theirs.locator("#log li").count() == 2
    assert "friend" in theirs.locator("#live").inner_text()


def test_reloading_a_second_browser_and_a_killed_server_show_the_same(tmp_path, new_page):
    page, other = new_page(), new_page()
    with running(tmp_path, "--rate", "5000", end=signal.SIGKILL) as address:
        sit(page, address)
        type_move(page, "1")
        type_move(page, "deck")
        path = page.url.removeprefix(address)
        shown = page.locator("#text").text_content()
        page.reload()
        turn(page)
        other.goto(page.url)
        turn(other)
        assert page.locator("#text").text_content() == shown
        assert other.locator("#text").text_content() == shown
        page.goto("about:blank")
        other.goto("about:blank")
    with running(tmp_path, "--rate", "5000") as address:
        page.goto(address + path)
        turn(page)
        assert page.locator("#text").text_content() == shown
        type_move(page, "1")


def test_a_replay_is_opened_and_played_on_from(server, new_page):
    page = new_page()
    sit(page, server)
    by_keyboard(page)
    page.click("#replay")
    page.wait_for_selector(".hand .card")
    page.click("#first")
    assert page.locator("#step").inner_text().startswith("0 of ")
    page.click("#on")
    page.click("#on")
    page.select_option("#opponent", "bold")
    page.click("#play")
    page.wait_for_url("**/table/**")
    turn(page)
    assert page.locator("#practice").is_visible()


def test_other_games_are_played_by_their_choices(server, new_page):
    page = new_page(375, 812)
    said = sit(page, server, "random", game="Kuhn Poker")
    page.click("#rules")
    assert "Kuhn" in page.locator("dialog").inner_text()
    page.locator("dialog button").click()
    assert not page.locator("#tour").is_visible()
    while not said.startswith(OVER):
        said = after_move(page, lambda: page.locator("#actions button").first.click())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible_and_fits_320_pixels(server, new_page, scheme):
    axe_playwright = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = new_page(320, 640, color_scheme=scheme)

    def check():
        found = axe_playwright.Axe().run(page)
        assert found.violations_count == 0, found.generate_report()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    page.goto(server)
    page.wait_for_selector("#opponent option", state="attached")
    check()
    sit(page, server)
    check()
    page.locator(".hand .card:not([disabled])").first.click()
    check()
    page.click("#policy")
    page.wait_for_selector(".bars")
    check()
    page.click("#rules")
    check()
    page.keyboard.press("Escape")
    page.click("#tour")
    check()
    page.keyboard.press("Enter")
    check()
    page.locator("text=End the tour").click()
    by_keyboard(page)
    check()
    page.click("#replay")
    page.wait_for_selector(".hand .card")
    check()
    for path in ("/api", "/join/x"):
        page.goto(server + path)
        page.wait_for_timeout(200)
        check()

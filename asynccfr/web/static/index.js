// The lobby: set up a table, or return to one.

import { ask, cardFace, make, remembered, title } from "./common.js";

const at = (id) => document.getElementById(id);
const option = (value, text = value) => make("option", { value }, text);

for (const [n, rank] of [0, 3, 7, 8, 10].entries()) at("hero").append(cardFace("div", { color: n, rank }, { "--i": n }));

const games = await ask("GET", "/api/games").catch((error) => { at("problem").textContent = error.message; return []; });
at("game").append(...games.map((each) => option(each.game, title(each.game))));
const chooseGame = () => at("opponent").replaceChildren(
  ...(games.find((each) => each.game === at("game").value)?.opponents ?? []).map((each) => option(each, each === "friend" ? "a friend, at their own browser" : each)));
at("game").onchange = chooseGame;
chooseGame();

at("new").addEventListener("submit", async (event) => {
  event.preventDefault();
  try {
    const seat = await ask("POST", "/api/new", {
      game: at("game").value, opponent: at("opponent").value,
      rounds: Number(at("rounds").value), seat: Number(at("seat").value),
    });
    if (seat.invitation === null) { location.href = seat.url; return; }
    at("invitation").value = location.origin + seat.invitation;
    at("own").href = seat.url;
    at("new").classList.add("hidden");
    at("invited").classList.remove("hidden");
    at("invitation").focus();
    at("invitation").select();
  } catch (error) { at("problem").textContent = error.message; }
});

const tables = remembered();
at("none").classList.toggle("hidden", tables.length > 0);
at("tables").append(...tables.map((each) => make("li", {}, make("a", { href: each.url }, each.title))));

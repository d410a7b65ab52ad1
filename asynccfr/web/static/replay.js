// A round that is over, step by step.

import { drawBoard, drawHand, glide } from "./board.js";
import { ask, make, title } from "./common.js";

const at = (id) => document.getElementById(id);
const given = new URLSearchParams(location.search);
const replay = {
  game: given.get("game") ?? "", seed: given.get("seed") ?? "", seat: Number(given.get("seat") ?? 0),
  actions: (given.get("actions") ?? "").split("-").filter(Boolean).map(Number),
};
let step = 0;

try {
  const positions = await ask("POST", "/api/replay", replay);
  const last = positions.length - 1;
  const log = positions[last].log;
  const games = await ask("GET", "/api/games").catch(() => []);
  const opponents = games.find((each) => each.game === replay.game)?.opponents ?? [];
  at("opponent").append(...opponents.filter((each) => each !== "friend").map((each) => make("option", {}, each)));
  at("title").textContent = `A replay of ${title(replay.game)}`;
  at("slider").max = last;
  const show = (to) => glide(document.querySelector(".felt"), () => {
    step = Math.max(0, Math.min(last, to));
    const position = positions[step];
    at("slider").value = step;
    at("play").disabled = step === last;
    const move = step === 0 ? "The deal" : `${log[step - 1].who}: ${log[step - 1].text}`;
    at("step").textContent = `${step} of ${last}. ${move}`;
    at("text").textContent = position.text;
    if (position.board !== null) {
      at("board").replaceChildren(drawBoard(position.board, "opponent", null));
      at("hand").replaceChildren(drawHand(position.board, null, () => {}));
      at("hand").querySelectorAll("button").forEach((each) => { each.disabled = true; });
    } else at("board").replaceChildren(make("pre", { class: "panel" }, position.text));
    at("log").replaceChildren(...log.slice(0, step).map((each) => make("li", {}, make("span", {}, each.who), make("span", {}, each.text))));
    at("log").scrollTop = at("log").scrollHeight;
  });
  at("first").onclick = () => show(0);
  at("back").onclick = () => show(step - 1);
  at("on").onclick = () => show(step + 1);
  at("last").onclick = () => show(last);
  at("slider").oninput = () => show(Number(at("slider").value));
  at("play").onclick = async () => {
    try {
      const seat = await ask("POST", "/api/play-on", { replay: { ...replay, actions: replay.actions.slice(0, step) }, opponent: at("opponent").value });
      location.href = seat.url;
    } catch (error) { at("problem").textContent = error.message; }
  };
  show(last);
} catch (error) {
  at("step").textContent = "This replay cannot be shown.";
  at("problem").textContent = error.message;
}

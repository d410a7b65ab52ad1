// A table: the position as the server tells it, and the moves that a person makes.

import { draggable, drawBoard, drawHand, glide } from "./board.js";
import { ask, cardName, make, points, remember, title } from "./common.js";
import { explain, tour } from "./rules.js";

const token = location.pathname.split("/").at(-1);
const api = `/api/tables/${token}`;
const at = (id) => document.getElementById(id);
let position = null;
let selected = null;
let busy = false;

async function refresh() {
  show(await ask("GET", api));
}

/** Send a request that changes the table, and show what came of it. */
async function change(path, body) {
  if (busy) return;
  busy = true;
  at("problem").textContent = "";
  try {
    show(await ask("POST", api + path, body));
  } catch (error) {
    at("problem").textContent = error.message;
    await refresh().catch(() => {});
  } finally {
    busy = false;
  }
}

const act = (action) => change("/actions", { position: position.position, action });

function show(now) {
  const stale = position !== null && position.round === now.round && position.position === now.position
    && position.waiting === now.waiting && position.turn === now.turn;
  if (stale) return;
  const before = position;
  position = now;
  selected = null;
  at("advice").replaceChildren();
  announce(before, now);
  const focused = document.activeElement?.closest("#felt") ? true : false;
  glide(at("felt"), draw);
  if (focused) (document.querySelector("#felt .hand button:not(:disabled), #actions button") ?? at("typed")).focus();
  remember(location.pathname, `${title(now.game)} against ${now.opponent}`);
}

function draw() {
  const { board } = position;
  at("felt").dataset.shown = `${position.round}.${position.position}`;
  document.title = `${turnText()} · ${position.opponent} · asynccfr`;
  at("title").textContent = `${title(position.game)} against ${position.opponent}`;
  at("turn").textContent = turnText();
  at("practice").classList.toggle("hidden", !position.practice);
  at("waiting").classList.toggle("hidden", !position.waiting);
  at("undo").classList.toggle("hidden", !position.can_undo || !position.log.some((each) => each.who === "you"));
  at("asking").classList.toggle("hidden", !position.can_ask);
  at("next").classList.toggle("hidden", !(position.turn === "nobody" && position.round < position.rounds));
  at("tour").classList.toggle("hidden", board === null);
  at("replay").classList.toggle("hidden", position.replay === null);
  if (position.replay !== null) at("replay").href = position.replay;
  at("text").textContent = position.text;
  if (board !== null) {
    const hand = drawHand(board, selected, choose);
    draggable(hand, drop);
    at("board").replaceChildren(drawBoard(board, position.opponent, act));
    at("hand").replaceChildren(hand);
  } else {
    at("board").replaceChildren(make("pre", { class: "panel" }, position.text || "Nothing is known yet."));
    at("hand").replaceChildren();
  }
  drawActions();
  drawSide();
}

function turnText() {
  const { board, turn, results } = position;
  if (turn === "nobody") {
    const last = results.at(-1);
    return last === 0 ? "A draw." : `You ${last > 0 ? "win" : "lose"} by ${Math.abs(last)}.`;
  }
  if (turn === "opponent") return position.waiting ? "Waiting for your friend" : `${position.opponent} is to move`;
  if (board === null) return "Your turn";
  return board.phase === "card" ? "Your turn: play or discard a card" : "Now draw a card";
}

function drawActions() {
  const bar = at("actions");
  const button = (text, action, primary) =>
    make("button", { type: "button", class: primary ? "primary" : "", onclick: () => act(action) }, text);
  bar.replaceChildren();
  const { board, choices } = position;
  if (board === null) {
    bar.append(...choices.map((choice) => button(choice.name, choice.action)));
  } else if (selected !== null) {
    const card = board.hand[selected];
    if (card.play !== null) bar.append(button(`Play ${cardName(card)}`, card.play, true));
    if (card.discard !== null) bar.append(button(`Discard ${cardName(card)}`, card.discard, card.play === null));
  } else if (board.phase === "draw") {
    bar.append(...[...choices].reverse().map((choice, n) => button(choice.name[0].toUpperCase() + choice.name.slice(1), choice.action, n === 0)));
  } else if (position.turn === "you") {
    bar.append(make("span", { class: "chip" }, "Choose a card of your hand, or drag it"));
  }
}

function drawSide() {
  at("log").replaceChildren(...position.log.map((each) =>
    make("li", {}, make("span", {}, each.who === "you" ? "you" : position.opponent), make("span", {}, each.text))));
  at("log").scrollTop = at("log").scrollHeight;
  const rows = position.results.map((result, n) => make("tr", {}, make("td", {}, `Round ${n + 1}`), make("td", {}, points(result))));
  if (position.results.length < position.round) rows.push(make("tr", {}, make("td", {}, `Round ${position.round}`), make("td", {}, "in play")));
  if (position.rounds > 1) {
    const sum = position.results.reduce((a, b) => a + b, 0);
    rows.push(make("tr", {}, make("th", { scope: "row" }, `Match of ${position.rounds}`), make("td", {}, points(sum))));
  }
  at("rounds").replaceChildren(...rows);
}

/** Tell a screen reader what the others did, and whose turn it is. */
function announce(before, now) {
  const known = before !== null && before.round === now.round ? before.log.length : 0;
  const news = now.log.slice(before === null ? now.log.length : known)
    .filter((each) => each.who === "opponent").map((each) => `${now.opponent}: ${each.text}.`);
  const drawn = now.board?.drawn && before?.log.length !== now.log.length && now.log.at(-1)?.text.startsWith("draw")
    ? [`You hold a new card: ${cardName(now.board.drawn)}.`] : [];
  at("live").textContent = [...news, ...drawn, turnText()].join(" ");
}

function choose(index) {
  selected = selected === index ? null : index;
  document.querySelectorAll("#hand .card").forEach((card, n) => card.setAttribute("aria-pressed", String(n === selected)));
  drawActions();
  document.querySelector("#actions button")?.focus({ preventScroll: true });
}

function drop(index, place) {
  const card = position.board.hand[index];
  const action = place === `own-${card.color}` ? card.play : place === `pile-${card.color}` ? card.discard : null;
  if (action !== null) act(action);
  else at("problem").textContent = `${cardName(card)} cannot go there`;
}

/** Follow the table: what a friend does, or this person in another tab. */
function follow(delay = 500) {
  const socket = new WebSocket(`${location.origin.replace("http", "ws")}${api}/live`);
  socket.binaryType = "arraybuffer";
  const read = new TextDecoder();
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(read.decode(data));
    if (!message.error && !busy) show(message);
  };
  socket.onopen = () => { delay = 500; };
  socket.onclose = () => setTimeout(() => follow(Math.min(delay * 2, 10000)), delay);
}

async function advise() {
  const area = at("advice");
  area.replaceChildren("…");
  try {
    const advice = await ask("GET", `${api}/policy`);
    area.replaceChildren(make("p", {}, `What ${advice.agent} would play:`),
      make("ul", { class: "bars" }, ...advice.likely.filter((each, n) => n < 6 && each.probability > 0.001).map((each) =>
        make("li", {}, make("i", { style: `width:${100 * each.probability}%` }),
          make("span", {}, each.name), make("span", {}, `${Math.round(100 * each.probability)}%`)))));
  } catch (error) { area.replaceChildren(error.message); }
}

async function estimate() {
  const area = at("advice");
  area.replaceChildren("…");
  try {
    const found = await ask("GET", `${api}/estimate`);
    area.replaceChildren(make("p", {}, `${points(Math.round(found.mean))} points, 95% interval ${points(Math.round(found.low))} to ${points(Math.round(found.high))}: ` +
      `${found.playouts} deals of the cards you cannot see, played out by ${found.agent} in both seats.`));
  } catch (error) { area.replaceChildren(error.message); }
}

at("type").addEventListener("submit", (event) => {
  event.preventDefault();
  const text = at("typed").value.trim();
  if (text) change("/actions", { position: position.position, text }).then(() => { at("typed").value = ""; at("typed").focus(); });
});
at("undo").onclick = () => change("/undo");
at("next").onclick = () => change("/next");
at("policy").onclick = advise;
at("estimate").onclick = estimate;
at("rules").onclick = () => explain(position);
at("tour").onclick = tour;
addEventListener("keydown", (event) => {
  if (event.key === "/" && event.target.tagName !== "INPUT") { event.preventDefault(); at("typed").focus(); }
  if (event.key === "Escape" && selected !== null) { choose(selected); }
});
refresh().then(() => follow(), (error) => { at("turn").textContent = error.message; });

// Lost Cities' own layout: expeditions, piles and deck, drawn from a board as one seat knows it.

import { NAMES, cardFace, cardName, make, miniCard, points, rankName, symbol } from "./common.js";

/** Elements of the board; `act(action)` plays, null in a replay. `key` marks a card for gliding. */
export function drawBoard(board, opponent, act) {
  const top = (rank, color) => ({ color, rank });
  const sum = (side) => board.colors.reduce((total, each) => total + each[side], 0);
  const grid = make("div", { class: "board", "--columns": board.colors.length + 1 });
  grid.append(opponentRow(board, opponent));
  for (const [color, each] of board.colors.entries()) {
    grid.append(expedition(each.opponent, color, "theirs", `${opponent}, ${each.name}`, each.opponent_score));
  }
  grid.append(total(sum("opponent_score"), opponent));
  for (const [color, each] of board.colors.entries()) {
    const last = each.pile.at(-1);
    const label = last === undefined ? `${each.name} pile, empty`
      : `${each.name} pile, ${each.pile.length} cards, top ${rankName(last)}${each.forbidden ? ", just discarded" : ""}`;
    const legal = each.draw !== null && act !== null;
    const attributes = {
      "data-drop": `pile-${color}`, "data-from": `pile-${color}`,
      class: `${legal ? "legal" : ""} ${each.forbidden ? "blocked" : ""}`, title: label,
    };
    const press = legal ? { onclick: () => act(each.draw), "aria-label": `draw from the ${label}` }
      : { role: "img", "aria-label": label };
    const tag = legal ? "button" : "div";
    grid.append(last === undefined
      ? make(tag, { ...attributes, ...press, class: `slot ${attributes.class}` }, symbol(NAMES[color]))
      : cardFace(tag, top(last, color), { ...attributes, ...press, "data-card": `${color}-${last}` }));
  }
  const deckLegal = board.draw_deck !== null && act !== null;
  const deckLabel = `deck, ${board.deck} cards left`;
  grid.append(make(deckLegal ? "button" : "div", {
    class: `card back deck ${deckLegal ? "legal" : ""}`, "data-from": "deck", "data-tour": "deck",
    "aria-label": deckLegal ? `draw from the ${deckLabel}` : deckLabel,
    ...(deckLegal ? { onclick: () => act(board.draw_deck) } : { role: "img" }),
  }, make("span", { "aria-hidden": true }, String(board.deck), make("small", {}, "deck"))));
  for (const [color, each] of board.colors.entries()) {
    grid.append(expedition(each.own, color, "mine", `you, ${each.name}`, each.own_score));
  }
  grid.append(total(sum("own_score"), "you"));
  return grid;
}

function opponentRow(board, opponent) {
  const row = make("div", { class: "rowname", "data-from": "opponent" }, make("b", {}, opponent));
  if (board.shown !== null) {
    row.append("held", ...board.shown.map(miniCard));
    return row;
  }
  const backs = make("span", { class: "backs", "aria-hidden": true });
  for (let n = 0; n < board.unknown; n++) backs.append(make("i", { class: "back" }));
  row.append(backs, make("span", {}, `${board.unknown} unknown cards`));
  if (board.known.length) row.append("and, taken from piles:", ...board.known.map(miniCard));
  return row;
}

function expedition(ranks, color, side, owner, score) {
  const text = ranks.length ? `${ranks.map(rankName).join(", ")}; ${score} points` : "not opened";
  const stack = make("div", { class: `stack ${side}`, role: "img", "aria-label": `${owner}: ${text}`,
    ...(side === "mine" ? { "data-drop": `own-${color}` } : {}) });
  const shownScore = make("div", { class: "score", "aria-hidden": true },
    ranks.length ? make("b", {}, points(score)) : "");
  const cards = ranks.map((rank) => cardFace("div", { color, rank }, { "data-card": `${color}-${rank}` }));
  if (!cards.length) cards.push(make("div", { class: "slot" }, symbol(NAMES[color])));
  if (side === "theirs") stack.append(shownScore, ...cards);
  else stack.append(...cards, shownScore);
  return stack;
}

const total = (value, who) => make("div", { class: "total" }, make("b", {}, points(value)), make("span", {}, who));

/** The hand; `choose(card)` selects one, `selected` is its index. */
export function drawHand(board, selected, choose) {
  const hand = make("div", { class: "hand", role: "group", "aria-label": "Your hand", "data-tour": "hand",
    "--cards": Math.max(board.hand.length, 8) });
  const fresh = board.drawn === null ? -1 : board.hand.findLastIndex(
    (card) => card.color === board.drawn.color && card.rank === board.drawn.rank);
  for (const [index, card] of board.hand.entries()) {
    const can = card.play !== null || card.discard !== null;
    hand.append(cardFace("button", card, {
      type: "button", "data-card": `${card.color}-${card.rank}`, "data-index": index,
      class: index === fresh ? "fresh" : "", disabled: !can,
      "aria-pressed": String(index === selected),
      "aria-label": `${cardName(card)}${index === fresh ? ", just drawn" : ""}`,
      onclick: () => choose(index),
    }));
  }
  return hand;
}

/** Let cards glide from where they were before `change()`; new ones come from deck or opponent. */
export function glide(root, change) {
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const before = new Map();
  const rects = (name) => [...root.querySelectorAll(`[data-${name}]`)]
    .map((element) => [element.dataset[name], element, element.getBoundingClientRect()]);
  for (const [key, , rect] of rects("card")) before.set(key, [...(before.get(key) ?? []), rect]);
  change();
  if (still || !before.size) return;
  const places = new Map(rects("from").map(([key, , rect]) => [key, rect]));
  for (const [key, element, now] of rects("card")) {
    const own = element.closest(".hand") !== null;
    const from = before.get(key)?.shift() ?? places.get(own ? "deck" : "opponent");
    if (!from || (Math.abs(from.x - now.x) < 2 && Math.abs(from.y - now.y) < 2)) continue;
    element.animate(
      [{ transform: `translate(${from.x - now.x}px, ${from.y - now.y}px)`, zIndex: 20 }, { transform: "none", zIndex: 20 }],
      { duration: 320, easing: "cubic-bezier(.2,.8,.25,1)" });
  }
}

/** Drag cards of the hand onto an expedition or a pile: `drop(index, place)`. */
export function draggable(hand, drop) {
  hand.addEventListener("pointerdown", (down) => {
    const card = down.target.closest(".card");
    if (!card || card.disabled || down.button !== 0) return;
    let moved = false;
    const placeUnder = (event) => document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-drop]");
    const move = (event) => {
      const [x, y] = [event.clientX - down.clientX, event.clientY - down.clientY];
      if (!moved && Math.hypot(x, y) < 8) return;
      moved = true;
      card.classList.add("dragging");
      card.style.transform = `translate(${x}px, ${y}px) rotate(2deg)`;
      document.querySelectorAll(".drop").forEach((each) => each.classList.remove("drop"));
      placeUnder(event)?.classList.add("drop");
    };
    const end = (event) => {
      const place = event.type === "pointerup" ? placeUnder(event)?.dataset.drop : undefined;
      removeEventListener("pointermove", move);
      card.classList.remove("dragging");
      card.style.transform = "";
      document.querySelectorAll(".drop").forEach((each) => each.classList.remove("drop"));
      if (!moved) return;
      addEventListener("click", (click) => click.stopPropagation(), { capture: true, once: true });
      setTimeout(() => dispatchEvent(new Event("click")), 0);
      if (place) drop(Number(card.dataset.index), place);
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end, { once: true });
    addEventListener("pointercancel", end, { once: true });
  });
}

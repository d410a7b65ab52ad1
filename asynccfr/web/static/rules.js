// The rules in a dialog, and a tour of the table.

import { ask, make } from "./common.js";

const LOST_CITIES = `
<h2>Lost Cities in a minute</h2>
<p><b>A turn</b> is two steps. First <b>play</b> a card to your own expedition of its colour, or <b>discard</b> it on that colour's pile. Then <b>draw</b> from the deck, or the top of any pile except the card you just discarded.</p>
<p><b>Expeditions</b> go upwards only: each number must be higher than the last. Wagers (×) come before the first number.</p>
<p><b>Scoring.</b> An expedition you opened costs 20 points; add its numbers, then multiply by 1 plus its wagers. Eight cards or more, wagers counted, earn 20 on top, not multiplied. A colour you never opened is 0.</p>
<table class="plain"><thead><tr><th>Expedition</th><th>Points</th></tr></thead><tbody>
<tr><td>3, 5, 8, 10</td><td>26 − 20 = 6</td></tr>
<tr><td>×, 4, 7</td><td>(11 − 20) · 2 = −18</td></tr>
<tr><td>×, ×, 2, 3, 4, 6, 8, 9</td><td>(32 − 20) · 3 + 20 = 56</td></tr></tbody></table>
<p><b>The round ends</b> at once when the last card of the deck is drawn. So that it does end, only so many draws from piles are allowed in all; the rest come from the deck.</p>
<p><b>Keys.</b> Tab and Enter reach everything. Press / to type a move: <code>p r7</code> plays the red 7, <code>d b3</code> discards the blue 3, <code>deck</code> draws from the deck, <code>pile g</code> from the green pile.</p>`;

/** Lost Cities in words of its own; other games in those that they come with. */
export async function explain({ board, game }) {
  const dialog = make("dialog", { "aria-label": "Rules" });
  if (board !== null) dialog.innerHTML = LOST_CITIES;
  else {
    const { rules } = (await ask("GET", "/api/games")).find((each) => each.game === game);
    dialog.append(make("h2", {}, "Rules"), ...rules.map((each) => make("p", {}, each)));
  }
  dialog.append(make("form", { method: "dialog" }, make("button", { class: "primary" }, "Close")));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

const STEPS = [
  ["#hand", "Your hand, sorted by colour. A card just drawn is marked “new”. Choose a card, or drag it."],
  [".stack.mine", "Your expeditions: one a colour, numbers upwards only. The points under each are as they stand, and opening one costs 20."],
  ["[data-drop^=pile]", "The discard piles. What you discard, your opponent may take; you may take theirs."],
  ["[data-tour=deck]", "The deck, with the cards left. When the last one is drawn, the round ends at once."],
  [".rowname", "Your opponent: cards they took from a pile are known to you, and shown here while they hold them."],
  ["#side", "Rounds, moves, and what the agent would play, if you ask. Rules are one click away at the top."],
];

export function tour() {
  let step = 0;
  const text = make("p", { "aria-live": "polite" });
  const onward = make("button", { class: "primary", type: "button", onclick: () => go(step + 1) });
  const box = make("div", { class: "panel tour", role: "dialog", "aria-label": "Tour" }, text, onward,
    make("button", { type: "button", class: "quiet", onclick: () => go(STEPS.length) }, "End the tour"));
  const go = (next) => {
    document.querySelectorAll(".spot").forEach((each) => each.classList.remove("spot"));
    step = next;
    if (step >= STEPS.length) { box.remove(); return; }
    const target = document.querySelector(STEPS[step][0]);
    target?.classList.add("spot");
    target?.scrollIntoView({ block: "nearest" });
    text.textContent = `${step + 1} of ${STEPS.length}. ${STEPS[step][1]}`;
    onward.textContent = step + 1 === STEPS.length ? "Play" : "Next";
    onward.focus();
  };
  document.body.append(box);
  go(0);
}

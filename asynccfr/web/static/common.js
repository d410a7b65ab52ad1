// What all pages share: requests, symbols of the colours, cards.

export const NAMES = ["red", "green", "white", "blue", "yellow", "purple"];
const SHAPES = {
  red: "M12 2c1 4 6 6 6 12a6 6 0 0 1-12 0c0-2 1-4 2-5 0 2 1 3 2 3 1-3 0-6 2-10z",
  green: "M4 20C3 10 9 3 20 4c1 11-6 17-13 15L5 22zM8 16c2-4 5-6 8-8-4 1-7 4-8 8z",
  white: "M11 2h2v4l3-2 1 2-4 2v3l3-2 0-4 2 0 0 3 3-1 1 2-3 1 2 2-1 1-4-1-3 2 3 2 4-1 1 1-2 2 3 1-1 2-3-1v3h-2v-4l-3-2v3l4 2-1 2-3-2v4h-2v-4l-3 2-1-2 4-2v-3l-3 2v4H6v-3l-3 1-1-2 3-1-2-2 1-1 4 1 3-2-3-2-4 1-1-1 2-2-3-1 1-2 3 1V5h2v4l3 2V8L7 6l1-2 3 2z",
  blue: "M12 2c4 6 7 9 7 13a7 7 0 0 1-14 0c0-4 3-7 7-13z",
  yellow: "M12 7a5 5 0 1 1 0 10 5 5 0 0 1 0-10zM11 1h2v4h-2zM11 19h2v4h-2zM1 11h4v2H1zM19 11h4v2h-4zM4 5.500l1.400-1.400 2.800 2.800-1.400 1.400zM15.800 17.200l1.400-1.400 2.800 2.800-1.400 1.400zM4 18.500l2.800-2.800 1.400 1.400-2.800 2.800zM15.800 6.900l2.800-2.800L20 5.500l-2.800 2.800z",
  purple: "M6 3h12l4 6-10 13L2 9zM6.800 9 12 18l5.200-9z",
};

export function symbol(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(svg.namespaceURI, "path");
  path.setAttribute("d", SHAPES[name]);
  path.setAttribute("fill", "currentColor");
  path.setAttribute("fill-rule", "evenodd");
  svg.append(path);
  return svg;
}

/** An element: `make("p", {class: "x", onclick: f}, "text", child)`. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("--")) element.style.setProperty(name, value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

export const rankName = (rank) => (rank === 0 ? "wager" : String(rank));
export const cardName = (card) => `${NAMES[card.color]} ${rankName(card.rank)}`;
const short = (rank) => (rank === 0 ? "×" : String(rank));

export function cardFace(tag, card, attributes = {}) {
  const name = NAMES[card.color];
  const { class: more = "", ...rest } = attributes;
  return make(tag, { class: `card ${name} ${more}`, ...rest },
    make("span", { class: "corner", "aria-hidden": true }, short(card.rank), symbol(name)),
    make("span", { class: "middle", "aria-hidden": true }, symbol(name)),
    make("span", { class: "foot", "aria-hidden": true }, short(card.rank)));
}

export function miniCard(card) {
  return make("span", { class: `mini ${NAMES[card.color]}` }, symbol(NAMES[card.color]), short(card.rank),
    make("span", { class: "sr" }, ` ${cardName(card)}`));
}

/** The answer to a request; throws an Error with the server's reason. */
export async function ask(method, path, body) {
  const response = await fetch(path, {
    method,
    headers: method === "POST" ? { "content-type": "application/json" } : {},
    body: method === "POST" ? JSON.stringify(body ?? {}) : undefined,
  });
  const answer = await response.json().catch(() => ({ error: `status ${response.status}` }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

/** A game's name for people: its parameters are for programs. */
export const title = (game) => game.split("(")[0].replaceAll("_", " ").replace(/\b[a-z]/g, (first) => first.toUpperCase());

export const points = (value) => (value > 0 ? `+${value}` : String(value).replace("-", "−"));

/** Tables that this browser sat down at, the latest first. */
export function remembered() {
  try { return JSON.parse(localStorage.getItem("asynccfr.tables") ?? "[]"); } catch { return []; }
}

export function remember(url, title) {
  const others = remembered().filter((each) => each.url !== url);
  try {
    localStorage.setItem("asynccfr.tables", JSON.stringify([{ url, title }, ...others].slice(0, 12)));
  } catch { /* a browser that keeps nothing still plays */ }
}

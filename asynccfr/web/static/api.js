// The API's description, as a page.

import { ask, make } from "./common.js";

const api = await ask("GET", "/api/openapi.json");
const typeName = (schema) => schema.$ref?.split("/").at(-1)
  ?? (schema.anyOf ? schema.anyOf.map(typeName).join(" or ")
    : schema.enum ? schema.enum.map((each) => JSON.stringify(each)).join(" or ")
      : schema.type === "array" ? `list of ${typeName(schema.items ?? {})}` : schema.type ?? "anything");
const content = (part) => typeName(part.content["application/json"].schema);
const place = document.getElementById("endpoints");
for (const [path, operations] of Object.entries(api.paths)) {
  for (const [method, operation] of Object.entries(operations)) {
    const [status, answer] = Object.entries(operation.responses)[0];
    place.append(make("section", { class: "panel" },
      make("h2", {}, make("code", {}, `${method.toUpperCase()} ${path}`)), make("p", {}, operation.summary),
      make("p", {}, `${operation.requestBody ? `Body: ${content(operation.requestBody)}. ` : ""}Answer ${status}: ${content(answer)}.`)));
  }
}
for (const [name, schema] of Object.entries(api.components.schemas)) {
  place.append(make("section", { class: "panel" }, make("h2", {}, name), make("pre", {}, schema.description ?? ""),
    make("table", { class: "plain" }, make("tbody", {}, ...Object.entries(schema.properties ?? {}).map(([field, type]) =>
      make("tr", {}, make("td", {}, field), make("td", {}, typeName(type))))))));
}

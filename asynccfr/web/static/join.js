// An invitation: sitting down takes a press, so that a preview of the address takes no chair.

import { ask } from "./common.js";

document.getElementById("sit").onclick = async () => {
  try {
    location.replace((await ask("POST", `/api${location.pathname}`)).url);
  } catch (error) { document.getElementById("problem").textContent = error.message; }
};

// The answer as files and as a command.
import { hasToken, links } from "./api.js";
import { find, make } from "./dom.js";
import { latticeSvg } from "./lattice.js";

let answer = null, request = null;

export function exportable(given, payload) {
  [answer, request] = [given, payload];
  find("save-svg").hidden = !answer.columns.length;
  find("curl-part").hidden = !links.length;
  if (links.length) find("curl").textContent = curl();
}

function save(name, type, content) {
  const href = URL.createObjectURL(new Blob([content], { type }));
  const link = make("a", { href, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(href), 10_000);
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

// The request behind what is shown. Characters beyond ASCII are escaped, so that no shell or terminal changes them.
function curl() {
  const body = JSON.stringify(request).replace(/[\u007f-\uffff]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
  const token = hasToken() ? ' -H "Authorization: Bearer $TOKEN"' : "";
  return `curl -s ${location.origin}/v1/lattice${token} -H 'Content-Type: application/json' -d ${quoted(body)}`;
}

export async function copy(text, button) {
  const before = button.dataset.text ??= button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed: select it and copy";
  }
  setTimeout(() => (button.textContent = before), 1500);
}

export function startExports() {
  find("save-svg").addEventListener("click", () => save("lattice.svg", "image/svg+xml", latticeSvg()));
  find("save-json").addEventListener("click", () => save("labelling.json", "application/json", JSON.stringify({ request, answer }, null, 1)));
  find("copy-curl").addEventListener("click", (event) => copy(find("curl").textContent, event.currentTarget));
}

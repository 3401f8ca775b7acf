// Questions to the server.

export class Refused extends Error {
  constructor(error) {
    super(error.what);
    this.where = error.where;
    this.fix = error.fix;
  }
}

// Pages of the server that the footer links to.
export const links = [["OpenAPI", "/openapi.json"], ["metrics", "/metrics"]];

export async function models() {
  return answer(await fetch("/v1/models"));
}

export async function post(path, payload, signal) {
  const body = JSON.stringify(payload);
  return answer(await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body, signal }));
}

async function answer(response) {
  const answer = await response.json();
  if (!response.ok) throw new Refused(answer.error);
  return answer;
}

// What a person typed, as a model reads it: text, lines of columns, or features as JSON.
export function sentencesOf(typed, model) {
  if (model.reads === "text") return { text: typed };
  if (model.reads === "features") return { sentences: [JSON.parse(typed)] };
  const rows = typed.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => line.split(/\s+/));
  return { sentences: [rows] };
}

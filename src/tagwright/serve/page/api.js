// Requests to the server.

const KEY = "tagwright token"; // of the session storage

export class Refused extends Error {
  constructor(status, error) {
    super(error.what ?? error.detail ?? error.title ?? `the server answered with status ${status}`);
    this.status = status;
    this.where = error.where;
    this.fix = error.fix;
  }
}

// Pages of the server that the footer links to; an exported page has none.
export const links = [["OpenAPI", "/openapi.json"], ["metrics", "/metrics"]];

export const hasToken = () => Boolean(sessionStorage.getItem(KEY));
export const useToken = (token) => sessionStorage.setItem(KEY, token.replace(/[^\x21-\x7e]/g, "")); // as headers allow

function head(more = {}) {
  return hasToken() ? { ...more, authorization: `Bearer ${sessionStorage.getItem(KEY)}` } : more;
}

export async function models() {
  return answer(await fetch("/v1/models", { headers: head() }));
}

export async function post(path, payload, signal) {
  const body = JSON.stringify(payload);
  const made = await answer(await fetch(path, { method: "POST", headers: head({ "content-type": "application/json" }), body, signal }));
  // An answer that arrives after a newer request was sent is not drawn.
  if (signal?.aborted) throw new DOMException("a newer request", "AbortError");
  return made;
}

async function answer(response) {
  let answer = {};
  try {
    answer = await response.json();
  } catch (error) {
    if (response.ok) throw error;
  }
  if (!response.ok) throw new Refused(response.status, answer.error ?? answer);
  return answer;
}

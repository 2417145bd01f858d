// Requests to the server, with the token of the address; each answer to an action is the whole state of the file.

async function answered(path, options) {
  const headers = { Authorization: `Bearer ${location.hash.slice(1)}`, "Content-Type": "application/json" };
  const answer = await fetch(path, { ...options, headers });
  if (answer.ok) return answer.json();
  if (answer.status !== 409) throw new Error(await answer.text());
  const { message, fix } = await answer.json();
  throw new Error(fix ? `${message}; ${fix}` : message);
}

export const schema = () => answered("/schema");

/** The state after an action; an error has the server's words. */
export const act = (action, body = {}) => answered(`/${action}`, { method: "POST", body: JSON.stringify(body) });

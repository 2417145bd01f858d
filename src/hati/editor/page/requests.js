// Requests to the server; each answer to an action is the whole state of the file.

export async function schema() {
  return (await fetch("/schema")).json();
}

/** The state after an action; an error has the server's words. */
export async function act(action, body = {}) {
  const answer = await fetch(`/${action}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.status === 409) {
    const { message, fix } = await answer.json();
    throw new Error(fix ? `${message}; ${fix}` : message);
  }
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

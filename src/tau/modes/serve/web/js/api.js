// Requests to the server. Every failure is an ApiError with a sentence for the user.
export class ApiError extends Error {
  constructor(message, status, code) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export const signedOut = new EventTarget();

export async function request(path, { method, body, headers, signal } = {}) {
  const json = body !== undefined;
  try {
    return await fetch(`/v1${path}`, {
      method: method ?? (json ? "POST" : "GET"),
      headers: { ...(json && { "Content-Type": "application/json" }), ...headers },
      body: json ? JSON.stringify(body) : undefined,
      cache: "no-store",
      signal,
    });
  } catch (error) {
    throw signal?.aborted ? error : new ApiError("tau does not answer. Check that tau serve is running.", 0, "offline");
  }
}

export async function api(path, options) {
  const response = await request(path, options);
  const data = response.status === 204 ? null : await response.json().catch(() => ({}));
  if (response.ok) return data;
  if (response.status === 401) signedOut.dispatchEvent(new Event("signedout"));
  throw new ApiError(data?.error ?? `The server answered with status ${response.status}.`, response.status, data?.code ?? "");
}

export const sessionPath = (id) => `/sessions/${encodeURIComponent(id)}`;

/** Run a session command; `sessionId` is set if it has opened another session. */
export async function command(id, name, body = {}, headers = undefined) {
  const answer = await api(`${sessionPath(id)}/commands/${name}`, { body, headers });
  return { ...answer?.data, sessionId: answer?.sessionId };
}

export const render = async (text, language) => (await api("/render", { body: { text, language } })).html;

// What the scripts here share: how they are told where the gateway is, and how
// they tell the test what they saw: one JSON document on standard output.

export const base = required('HOLDFAST_URL');
export const key = required('HOLDFAST_KEY');

/** The model to ask: what serves it speaks a protocol that need not be the client's. */
export const model = required('HOLDFAST_MODEL');

/** The endpoint to use, for scripts that know several. */
export const endpoint = process.env.HOLDFAST_ENDPOINT;

function required(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

const turns = [];

/** Notes one answer: its headers, and what of its content matters. */
export function turn(name, headers, seen) {
  turns.push({
    name,
    session: headers.get('x-session-id'),
    source: headers.get('x-holdfast-session-source'),
    affinity: headers.get('x-holdfast-affinity'),
    deployment: headers.get('x-holdfast-deployment'),
    ...seen,
  });
}

/** Notes how a call failed, as the SDK tells its caller. */
export async function refusal(name, call) {
  try {
    await call();
    turns.push({ name, error: 'none' });
  } catch (e) {
    turns.push({
      name,
      error: e.constructor.name,
      status: e.status,
      code: e.code ?? e.error?.error?.code,
      type: e.type ?? e.error?.error?.type,
      retryAfter: e.headers?.get('retry-after'),
    });
  }
}

/** Prints everything that was noted. */
export function done() {
  console.log(JSON.stringify(turns));
}

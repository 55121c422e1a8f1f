// A conversation with a tool over Responses, by the official SDK: with the
// whole history in each request, then by the previous response's id.
import OpenAI from 'openai';
import { base, done, key, model, refusal, turn } from './say.mjs';

let headers;
const client = new OpenAI({
  baseURL: `${base}/v1`,
  apiKey: key,
  fetch: async (...args) => {
    const response = await fetch(...args);
    headers = response.headers;
    return response;
  },
});
const tools = [
  {
    type: 'function',
    name: 'bash',
    strict: false,
    parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
  },
];
const input = [{ role: 'user', content: 'Hello' }];
const body = () => ({ model, instructions: 'Be brief.', store: false, tools, input });

const first = await client.responses.create(body());
turn('create', headers, { text: first.output_text, finish: first.status, tokens: first.usage.total_tokens });

input.push(...first.output, { role: 'user', content: 'Go on' });
let text = '';
let finish = null;
for await (const event of await client.responses.create({ ...body(), stream: true })) {
  if (event.type === 'response.output_text.delta') text += event.delta;
  if (event.type === 'response.completed') finish = event.response.status;
}
turn('create with stream', headers, { text, finish });

input.push({ role: 'assistant', content: text }, { role: 'user', content: 'RUNTOOL list the files' });
const called = await client.responses.stream(body()).finalResponse();
const call = called.output.find((item) => item.type === 'function_call');
turn('a tool call by stream()', headers, { tool: call?.name, finish: called.status });

input.push(...called.output, { type: 'function_call_output', call_id: call.call_id, output: 'a.txt' });
const last = await client.responses.stream(body()).finalResponse();
turn('the tool\'s result by stream()', headers, { text: last.output_text, finish: last.status, tokens: last.usage.total_tokens });

const kept = await client.responses.create({ model, input: 'Remember this', store: true });
turn('a stored response', headers, { text: kept.output_text, finish: kept.status });
const followed = await client.responses
  .stream({ model, input: 'And now?', previous_response_id: kept.id, store: true })
  .finalResponse();
turn('its continuation by stream()', headers, { text: followed.output_text, finish: followed.status });
const third = await client.responses.create({ model, input: 'And then?', previous_response_id: followed.id });
turn('the continuation of that', headers, { text: third.output_text, finish: third.status });

await refusal('an unknown response', () =>
  client.responses.create({ model, input: 'x', previous_response_id: 'resp_unknown', stream: true }),
);
const stranger = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'sk-unknown', maxRetries: 0 });
await refusal('an unknown key', () => stranger.responses.create(body()));
done();

// A conversation with a tool over Messages, by the official SDK.
import Anthropic from '@anthropic-ai/sdk';
import { base, done, key, model, refusal, turn } from './say.mjs';

const client = new Anthropic({ baseURL: base, apiKey: key });
const tools = [
  { name: 'bash', input_schema: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] } },
];
const messages = [{ role: 'user', content: 'Hello' }];
const body = () => ({ model, max_tokens: 200, system: 'Be brief.', tools, messages });

const first = await client.messages.create(body()).withResponse();
turn('create', first.response.headers, {
  text: first.data.content[0].text,
  finish: first.data.stop_reason,
  tokens: first.data.usage.output_tokens,
});

messages.push({ role: 'assistant', content: first.data.content }, { role: 'user', content: 'Go on' });
const second = await client.messages.create({ ...body(), stream: true }).withResponse();
let text = '';
let finish = null;
for await (const event of second.data) {
  if (event.type === 'content_block_delta') text += event.delta.text ?? '';
  if (event.type === 'message_delta') finish = event.delta.stop_reason;
}
turn('create with stream', second.response.headers, { text, finish });

messages.push({ role: 'assistant', content: text }, { role: 'user', content: 'RUNTOOL list the files' });
const calling = client.messages.stream(body());
const { response: began } = await calling.withResponse();
const called = await calling.finalMessage();
const call = called.content.find((block) => block.type === 'tool_use');
turn('a tool call by stream()', began.headers, { tool: call?.name, finish: called.stop_reason });

messages.push(
  { role: 'assistant', content: called.content },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: 'a.txt' }] },
);
const resulting = client.messages.stream(body());
const { response: ended } = await resulting.withResponse();
const last = await resulting.finalMessage();
turn('the tool\'s result by stream()', ended.headers, {
  text: last.content[0].text,
  finish: last.stop_reason,
  tokens: last.usage.output_tokens,
});

const stranger = new Anthropic({ baseURL: base, apiKey: 'sk-unknown', maxRetries: 0 });
await refusal('an unknown key', () => stranger.messages.create(body()));
await refusal('an unknown model', () => client.messages.create({ ...body(), model: 'none', stream: true }));
const limited = client.withOptions({ maxRetries: 0 });
await refusal('a limit', () => limited.messages.create({ ...body(), model: `limited-${model}` }));
done();

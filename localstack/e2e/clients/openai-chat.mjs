// A conversation with a tool over Chat Completions, by the official SDK.
import OpenAI from 'openai';
import { base, done, key, model, refusal, turn } from './say.mjs';

const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: key });
const tools = [
  {
    type: 'function',
    function: {
      name: 'bash',
      parameters: { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] },
    },
  },
];
const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hello' },
];

const first = await client.chat.completions.create({ model, messages, tools }).withResponse();
turn('create', first.response.headers, {
  text: first.data.choices[0].message.content,
  finish: first.data.choices[0].finish_reason,
  tokens: first.data.usage.total_tokens,
});

messages.push(first.data.choices[0].message, { role: 'user', content: 'Go on' });
const second = await client.chat.completions.create({ model, messages, tools, stream: true }).withResponse();
let text = '';
let finish = null;
let chunks = 0;
for await (const chunk of second.data) {
  chunks += 1;
  text += chunk.choices[0]?.delta?.content ?? '';
  finish = chunk.choices[0]?.finish_reason ?? finish;
}
turn('create with stream', second.response.headers, { text, finish, chunks });

// The stream() helper gives no response; a fetch of the client's own does.
let headers;
const watching = client.withOptions({
  fetch: async (...args) => {
    const response = await fetch(...args);
    headers = response.headers;
    return response;
  },
});
messages.push({ role: 'assistant', content: text }, { role: 'user', content: 'RUNTOOL list the files' });
const called = (await watching.chat.completions.stream({ model, messages, tools }).finalChatCompletion()).choices[0];
const call = called.message.tool_calls[0];
turn('a tool call by stream()', headers, { tool: call.function.name, finish: called.finish_reason });

messages.push(called.message, { role: 'tool', tool_call_id: call.id, content: 'a.txt' });
const usage = { include_usage: true };
const last = await watching.chat.completions.stream({ model, messages, tools, stream_options: usage }).finalChatCompletion();
turn('the tool\'s result by stream()', headers, {
  text: last.choices[0].message.content,
  finish: last.choices[0].finish_reason,
  tokens: last.usage.total_tokens,
});

const stranger = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'sk-unknown', maxRetries: 0 });
await refusal('an unknown key', () => stranger.chat.completions.create({ model, messages }));
await refusal('an unknown model', () => client.chat.completions.create({ model: 'none', messages, stream: true }));
const limited = client.withOptions({ maxRetries: 0 });
await refusal('a limit', () => limited.chat.completions.create({ model: `limited-${model}`, messages }));
done();

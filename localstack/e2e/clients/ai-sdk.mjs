// A conversation with a tool by the AI SDK, over the endpoint that it is told.
import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, isStepCount, streamText, tool } from 'ai';
import { z } from 'zod';
import { base, done, endpoint, key, model, turn } from './say.mjs';

const providers = {
  chat: () => createOpenAICompatible({ name: 'holdfast', baseURL: `${base}/v1`, apiKey: key, includeUsage: true })(model),
  responses: () => createOpenAI({ baseURL: `${base}/v1`, apiKey: key }).responses(model),
  messages: () => createAnthropic({ baseURL: `${base}/v1`, apiKey: key })(model),
};
const asked = providers[endpoint]();
const tools = {
  bash: tool({
    description: 'Runs a command',
    inputSchema: z.object({ command: z.string() }),
    execute: async ({ command }) => `${command}: a.txt`,
  }),
};
const common = { model: asked, tools, maxRetries: 0, stopWhen: isStepCount(3), instructions: 'Be brief.' };
const messages = [{ role: 'user', content: 'Hello' }];

const first = await generateText({ ...common, messages });
turn('generateText', new Headers(first.response.headers), {
  text: first.text,
  finish: first.finishReason,
  tokens: first.usage.totalTokens,
});

messages.push(...first.response.messages, { role: 'user', content: 'Go on' });
const second = streamText({ ...common, messages });
let text = '';
for await (const part of second.textStream) text += part;
const seen = await second.response;
turn('streamText', new Headers(seen.headers), { text, finish: await second.finishReason, tokens: (await second.usage).totalTokens });

messages.push(...seen.messages, { role: 'user', content: 'RUNTOOL list the files' });
const third = streamText({ ...common, messages });
await third.consumeStream();
const steps = await third.steps;
const last = await third.response;
turn('streamText with a tool', new Headers(last.headers), {
  text: await third.text,
  tool: steps[0].toolCalls[0]?.toolName,
  finish: await third.finishReason,
  chunks: steps.length,
});

messages.push(...last.messages, { role: 'user', content: 'RUNTOOL once more' });
const fourth = await generateText({ ...common, messages });
turn('generateText with a tool', new Headers(fourth.response.headers), {
  text: fourth.text,
  tool: fourth.steps[0].toolCalls[0]?.toolName,
  finish: fourth.finishReason,
  chunks: fourth.steps.length,
});
done();

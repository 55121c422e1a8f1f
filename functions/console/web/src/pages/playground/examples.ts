// Example prompts. They stay English in every language of the page: they are
// what goes to the model.

const rules = [
  'Answer in plain words and keep to what is asked.',
  'Say when something is a guess, and on what it rests.',
  'Prefer numbers with their units over adjectives.',
  'Name the first step that a reader can take.',
  'Leave out greetings, apologies and summaries of the question.',
  'When two sources disagree, say which one is newer.',
  'Quote commands and file names exactly as they are written.',
  'Ask one question back at most, and only when the answer would change.',
]

// briefing is long enough for a provider to cache it: over 1,024 tokens.
export const briefing = [
  'You are the operations assistant of a shipping company. These are the rules of the house.',
  ...Array.from({ length: 13 }, (_, chapter) =>
    [`Chapter ${chapter + 1}.`, ...rules.map((rule, i) => `${chapter + 1}.${i + 1} ${rule}`)].join('\n')),
].join('\n\n')

export const examples: readonly { id: string; text: string; instructions?: string; tools?: boolean }[] = [
  { id: 'briefing', text: 'Which three rules matter most when a vessel reports a delay?', instructions: briefing },
  { id: 'tool', text: 'What time is it in Shanghai? RUNTOOL', tools: true },
  { id: 'plain', text: 'Explain in two sentences why a prompt cache saves money.' },
]

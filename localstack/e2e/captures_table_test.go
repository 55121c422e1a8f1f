package e2e

import "slices"

// recordedConversation is a run of recorded requests that are one session.
type recordedConversation struct {
	id     string // "": derived from the opening
	source string
	files  []string
}

// naming is a conversation whose client names its session.
func naming(id, client string, files ...string) recordedConversation {
	return recordedConversation{id: id, source: "explicit", files: capturesOf(client, files...)}
}

// openingAlike is a conversation without a signal; requests of several clients with
// the same opening are one.
func openingAlike(files ...[]string) recordedConversation {
	return recordedConversation{source: "prompt", files: slices.Concat(files...)}
}

func capturesOf(client string, files ...string) []string {
	for i, f := range files {
		files[i] = client + "/" + f
	}
	return files
}

// recordedConversations are the recorded sessions; each is another one.
func recordedConversations() []recordedConversation {
	return []recordedConversation{
		naming("d491f84d-9e9e-44e9-80b6-f64439ef6073", "claude-code", "01-turn1-first-request", "02-turn1-after-tool", "03-turn2-resume", "04-turn3-continue"),
		naming("91192fe0-6156-4e34-bf3c-69701c7bf816", "claude-code", "05-other-session"),
		naming("70061f92-98fc-4c23-ac93-f2a0c667693d", "claude-code", "06-parent", "07-subagent-child", "08-compaction", "09-after-compaction"),
		naming("7986f2ee-d5ea-474b-a5b4-3bcef773e123", "claude-code", "11-interactive-title-request", "12-interactive-turn1", "13-interactive-turn2"),
		naming("422b1276-3b77-41d2-b3d0-39fbe17b0c2d", "claude-code", "14-interactive-after-clear"),
		naming("fde16146-bf92-48d6-8bed-0e541e4e9e47", "claude-code", "17-non-streaming-fallback"),
		naming("e1ef7ed2-2241-4b8c-8b87-de358fef4507", "claude-code-2.0.60", "01-turn1", "02-after-tool", "03-next-process", "04-side-request-haiku"),
		naming("01a22a8b-ae08-78d0-a788-6448edc4cbf6", "codex", "01-turn1-first-request", "02-turn1-after-tool", "03-turn2-resume"),
		naming("01a22a8b-7b14-7783-b3ef-52f8ab5570cf", "codex", "04-other-session"),
		naming("01a22a8b-e3e2-7fd1-81af-a67f0591f4ce", "codex", "05-parent", "06-subagent-child"),
		naming("01a22a8e-22bd-7db2-a146-34099a5fd76b", "codex", "07-turn-state-echo"),
		naming("01a22a8c-4f20-7473-8ada-4bb595ac84b8", "codex", "08-cut-first", "09-cut-retry"),
		naming("01a22a8f-71a5-7521-b813-d0123661b304", "codex", "10-compaction", "11-after-compaction"),
		naming("01a22aad-2671-7241-9eee-759294845ff5", "codex", "12-fork"),
		naming("01a22aab-bfb8-74c3-a957-84f1f125e46e", "codex-0.47.0", "01-turn1", "02-after-tool"),
		naming("ses_dd568f5b0ffeSJQHVB1vH8gOEN", "opencode", "chat-01-title-request", "chat-02-turn1", "chat-03-turn1-after-tool", "chat-04-turn2"),
		naming("ses_dd567f657ffeQOKhAowJxPz6Pr", "opencode", "chat-05-subagent-parent"),
		naming("ses_dd567f093ffetk50NC71F7Uv0P", "opencode", "chat-06-subagent-child"),
		naming("ses_dd5688117ffeLldJZW14qW2gY5", "opencode", "messages-01-title-request", "messages-02-turn1", "messages-03-turn1-after-tool", "messages-04-turn2"),
		naming("ses_dd568a6c0ffeysN7igyHNj7USF", "opencode", "responses-01-title-request", "responses-02-turn1", "responses-03-turn1-after-tool", "responses-04-turn2"),
		naming("01a22a9c-26f3-7454-8c35-2337ebc154ab", "pi", "responses-01-turn1", "responses-02-turn1-after-tool", "responses-03-turn2-continue"),
		naming("01a22a9c-2ddd-7769-99f7-62492684d7f7", "pi", "responses-04-other-session"),
		naming("01a22a9c-7f43-75c4-a619-4dc5affbebe4", "pi", "chat-05-affinity-headers-on"),
		openingAlike(capturesOf("pi", "chat-01-turn1", "chat-02-turn1-after-tool", "chat-03-turn2-continue", "messages-01-turn1", "messages-02-turn1-after-tool", "messages-03-turn2-continue")),
		openingAlike(capturesOf("pi", "chat-04-other-session", "messages-04-other-session")),
		openingAlike(capturesOf("ai-sdk", "chat-01-turn1", "chat-02-turn2-stream", "compat-01-turn1", "compat-02-turn2-stream", "messages-01-turn1", "messages-02-turn2-stream"),
			capturesOf("anthropic-js", "01-turn1", "02-turn2-stream"),
			capturesOf("openai-js", "01-chat-turn1", "02-chat-turn2-stream", "05-responses-turn1", "06-responses-turn2-stream")),
		openingAlike(capturesOf("ai-sdk", "chat-03-tool-call", "chat-04-tool-result", "compat-03-tool-call", "compat-04-tool-result", "messages-03-tool-call", "messages-04-tool-result", "responses-03-tool-call", "responses-04-tool-result"),
			capturesOf("anthropic-js", "03-tool-call", "04-tool-result"), capturesOf("openai-js", "03-chat-tool-call", "04-chat-tool-result")),
		openingAlike(capturesOf("ai-sdk", "responses-01-turn1", "responses-02-turn2-stream")),
	}
}

package exchange

import (
	"maps"

	"holdfast/affinity"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/messages"
	"holdfast/functions/internal/wire/responses"
	"holdfast/routing/catalog"
)

// codec is what the flow needs of one protocol.
type codec struct {
	path      string   // of its route, for a base URL without /v1 where that is the custom
	version   string   // that the protocol's upstreams must be told; "": none
	passes    []string // request headers that are the protocol's own, in canonical form
	rewrite   func(*wire.Facts, wire.Edits) wire.Rewritten
	repair    func(body []byte) ([]byte, error) // of a body whose signatures are refused; nil: none
	answer    func([]byte, wire.Counting) (wire.Answer, error)
	follow    func(wire.Counting) stream
	problem   func(p *wire.Problem, requestID string) []byte
	beat      func() []byte
	last      func() []byte // terminal event that some providers leave out; nil: none may be
	errand    bool          // one call by a plan that claims and commits nothing
	publishes bool          // answers have ids that a client may continue from
	task      affinity.Kind // an answer is the beginning of a job of this kind, which must not begin twice; "": none
}

// stream follows one streamed answer.
type stream interface {
	Event(name, data []byte) wire.Step
	End() wire.Status
	Answer() wire.Answer
	failing
}

// failing ends an answer that has begun.
type failing interface {
	// Failure is the protocol's error event, in keeping with what was sent.
	Failure(*wire.Problem, wire.Stamp) []byte
}

// codecs are the protocols by the endpoint that speaks them.
func codecs() map[string]*codec {
	all := map[string]*codec{
		wire.EndpointChat: {
			path: "/chat/completions", passes: openAIHeaders(), rewrite: chat.Rewrite, answer: chat.ReadResponse,
			follow:  func(c wire.Counting) stream { return chat.NewStream(c) },
			problem: chat.ErrorBody, beat: chat.Heartbeat, last: chat.Last,
		},
		wire.EndpointResponses: {
			path: "/responses", passes: openAIHeaders(), rewrite: responses.Rewrite, answer: responses.ReadResponse,
			follow:  func(c wire.Counting) stream { return responses.NewStream(c) },
			problem: responses.ErrorBody, beat: responses.Heartbeat, publishes: true,
		},
		wire.EndpointMessages: {
			path: "/v1/messages", version: anthropicVersion, passes: anthropicHeaders(), rewrite: messages.Rewrite, repair: messages.StripThinking,
			answer:  messages.ReadResponse,
			follow:  func(c wire.Counting) stream { return messages.NewStream(c) },
			problem: messages.ErrorBody, beat: messages.Heartbeat, last: messages.Last,
		},
		wire.EndpointCountTokens: {
			passes: anthropicHeaders(), rewrite: messages.Rewrite, problem: messages.ErrorBody, errand: true,
		},
		wire.EndpointEmbeddings: {
			path: "/embeddings", passes: openAIHeaders(), rewrite: plainRewrite, answer: readEmbeddings,
			problem: chat.ErrorBody, beat: chat.Heartbeat,
		},
		wire.EndpointVideos: {
			path: "/videos", passes: openAIHeaders(), rewrite: plainRewrite, answer: readTask,
			problem: chat.ErrorBody, beat: chat.Heartbeat, task: affinity.Video,
		},
	}
	compact := *all[wire.EndpointResponses]
	compact.path, compact.publishes, compact.follow = "/responses/compact", false, nil
	all[wire.EndpointCompact] = &compact
	maps.Copy(all, bypassCodecs(all))
	return all
}

// anthropicVersion is what an upstream of the messages protocol is told where the
// client did not say.
const anthropicVersion = "2023-06-01"

func openAIHeaders() []string {
	return []string{"Openai-Beta", "Idempotency-Key", "X-Client-Request-Id", "Originator", "X-Codex-Beta-Features"}
}

func anthropicHeaders() []string {
	return []string{"Anthropic-Version", "Anthropic-Beta", "Anthropic-Dangerous-Direct-Browser-Access", "Idempotency-Key"}
}

// counting is how a provider counts cached tokens, as the codecs take it.
func counting(t *catalog.Target) wire.Counting {
	switch t.Account.Preset.Usage {
	case catalog.UsageInside:
		if t.Protocol == catalog.Messages {
			return wire.ByProtocol
		}
		return wire.Inside
	case catalog.UsageOutside:
		return wire.Outside
	}
	return wire.ByProtocol
}

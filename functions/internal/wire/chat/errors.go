package chat

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/sse"
)

// ErrorBody is the JSON body of an error answer.
func ErrorBody(p *wire.Problem, _ string) []byte { return wire.OpenAIError(p) }

// Failure is the event by which a broken stream ends. No [DONE] follows: it
// would say that the answer is whole.
func (s *Stream) Failure(p *wire.Problem, _ wire.Stamp) []byte {
	return sse.AppendEvent(nil, "", wire.OpenAIError(p))
}

// Heartbeat keeps the connection alive between events; clients skip comments.
func Heartbeat() []byte { return sse.AppendComment(nil, "keep-alive") }

// Last is the terminal event.
func Last() []byte { return sse.AppendEvent(nil, "", []byte("[DONE]")) }

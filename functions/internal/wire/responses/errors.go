package responses

import (
	"strconv"
	"time"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/functions/internal/wire/sse"
)

// ErrorBody is the JSON body of an error answer.
func ErrorBody(p *wire.Problem, _ string) []byte { return wire.OpenAIError(p) }

// Failure is the event by which a broken stream ends: response.failed, since
// clients ignore or misread a bare error event. It goes on with the stream's
// sequence numbers and names the response that the stream has named, or one made
// of the stamp where there was none.
func (s *Stream) Failure(p *wire.Problem, by wire.Stamp) []byte {
	id, model, created := s.answer.ID, s.answer.Model, s.created
	if id == "" {
		id = "resp_" + by.RequestID
	}
	if model == "" {
		model = by.Model
	}
	if created == 0 {
		created = by.At.Unix()
	}
	out := append(make([]byte, 0, 1024), `{"type":"response.failed","sequence_number":`...)
	out = strconv.AppendInt(out, s.sequence+1, 10)
	out = append(append(out, `,"response":{"id":`...), jsonedit.Quote(id)...)
	out = append(out, `,"object":"response","created_at":`...)
	out = strconv.AppendInt(out, created, 10)
	out = append(append(out, `,"status":"failed","error":{"code":`...), jsonedit.Quote(failureCode(p))...)
	out = append(append(out, `,"message":`...), jsonedit.Quote(failureMessage(p))...)
	out = append(append(out, `},"incomplete_details":null,"instructions":null,"metadata":{},"model":`...), jsonedit.Quote(model)...)
	out = append(out, `,"output":[],"parallel_tool_calls":true,"temperature":null,"tool_choice":"auto","tools":[],"top_p":null,"usage":null}}`...)
	return sse.AppendEvent(nil, "response.failed", out)
}

// limited reports whether waiting helps: then clients look for OpenAI's own code
// and words.
func limited(p *wire.Problem) bool {
	return p.Status == 429 && p.Code != wire.BudgetExceeded
}

func failureCode(p *wire.Problem) string {
	if limited(p) {
		return "rate_limit_exceeded"
	}
	return string(p.Code)
}

// failureMessage says how long to wait in the words that clients read the time
// from.
func failureMessage(p *wire.Problem) string {
	if !limited(p) || p.RetryAfter <= 0 {
		return p.Message
	}
	wait := strconv.FormatFloat(p.RetryAfter.Round(time.Millisecond).Seconds(), 'f', -1, 64)
	return p.Message + " Please try again in " + wait + "s."
}

// Heartbeat keeps the connection alive between events; clients skip comments,
// while some refuse an event of a kind that they do not know.
func Heartbeat() []byte { return sse.AppendComment(nil, "keep-alive") }

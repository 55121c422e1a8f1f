package bridge

import (
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/messages"
	"holdfast/functions/internal/wire/responses"
)

// reader reads a target's streamed answer.
type reader interface {
	Event(name, data []byte, out []wire.Delta) []wire.Delta
	End(out []wire.Delta) []wire.Delta
}

// writer writes a streamed answer for a client.
type writer interface {
	Append(dst []byte, d wire.Delta) []byte
}

// speaker writes answers in the client's protocol.
type speaker struct {
	whole   func(wire.Reply) (body, items []byte)
	events  func() writer
	failure func(writer) func(*wire.Problem, wire.Stamp) []byte
}

// listener reads answers in the target's protocol.
type listener struct {
	answer func([]byte, wire.Counting) (wire.Answer, error)
	reply  func([]byte, wire.Counting) (wire.Reply, error)
	deltas func(wire.Counting) reader
}

// read reads a client's request. History is a Responses client's.
func read(f *wire.Facts, history []byte) (*wire.Dialog, *wire.Problem) {
	switch f.Endpoint {
	case wire.EndpointChat:
		return chat.ReadDialog(f)
	case wire.EndpointMessages:
		return messages.ReadDialog(f)
	}
	return responses.ReadDialogAfter(f, history)
}

// write writes a request for a target.
func write(to wire.Protocol, d *wire.Dialog) ([]byte, []string, *wire.Problem) {
	switch to {
	case wire.Chat:
		return chat.WriteDialog(d)
	case wire.Messages:
		return messages.WriteDialog(d)
	}
	return responses.WriteDialog(d)
}

// speak is the client's side of the exchange of a request.
func speak(f *wire.Facts, by wire.Stamp) speaker {
	switch f.Endpoint {
	case wire.EndpointChat:
		usage, _ := f.Value("stream_options").Get("include_usage").Bool()
		return speaker{
			whole:  func(r wire.Reply) ([]byte, []byte) { return chat.WriteReply(r), nil },
			events: func() writer { return chat.NewEvents(by, usage) },
			failure: func(writer) func(*wire.Problem, wire.Stamp) []byte {
				return chat.NewStream(wire.ByProtocol).Failure
			},
		}
	case wire.EndpointMessages:
		return speaker{
			whole:  func(r wire.Reply) ([]byte, []byte) { return messages.WriteReply(r), nil },
			events: func() writer { return messages.NewEvents(by, true) },
			failure: func(writer) func(*wire.Problem, wire.Stamp) []byte {
				return messages.NewStream(wire.ByProtocol).Failure
			},
		}
	}
	echo := responses.NewEcho(f)
	return speaker{
		whole:  func(r wire.Reply) ([]byte, []byte) { return responses.WriteReply(r, echo) },
		events: func() writer { return responses.NewEvents(by, echo) },
		failure: func(to writer) func(*wire.Problem, wire.Stamp) []byte {
			return func(p *wire.Problem, _ wire.Stamp) []byte { return to.(*responses.Events).Failure(p) }
		},
	}
}

// listen is the target's side.
func listen(to wire.Protocol) listener {
	switch to {
	case wire.Chat:
		return listener{chat.ReadResponse, chat.ReadReply, func(c wire.Counting) reader { return chat.NewDeltas(c) }}
	case wire.Messages:
		return listener{messages.ReadResponse, messages.ReadReply, func(c wire.Counting) reader { return messages.NewDeltas(c) }}
	}
	return listener{responses.ReadResponse, responses.ReadReply, func(c wire.Counting) reader { return responses.NewDeltas(c) }}
}

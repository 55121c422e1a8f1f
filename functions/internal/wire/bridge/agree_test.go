package bridge_test

import (
	"bytes"
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/chat"
	"holdfast/functions/internal/wire/messages"
	"holdfast/functions/internal/wire/responses"
	"holdfast/functions/internal/wire/sse"
)

// follower judges a target's stream as the exchange does.
type follower interface {
	Event(name, data []byte) wire.Step
	End() wire.Status
}

func followerOf(p wire.Protocol) follower {
	switch p {
	case wire.Chat:
		return chat.NewStream(wire.ByProtocol)
	case wire.Messages:
		return messages.NewStream(wire.ByProtocol)
	}
	return responses.NewStream(wire.ByProtocol)
}

// streams are the events of every fixture's streamed answer, by the target.
func streams(t *testing.T, target wire.Protocol) (all [][]sse.Event) {
	files, err := filepath.Glob("testdata/*-" + string(target) + "/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range archive.Files {
			if part.Name != "stream" {
				continue
			}
			var events []sse.Event
			for r := sse.NewReader(bytes.NewReader(part.Data), 0); ; {
				e, err := r.Next()
				if err != nil {
					break
				}
				events = append(events, sse.Event{Raw: bytes.Clone(e.Raw), Name: bytes.Clone(e.Name), Data: bytes.Clone(e.Data)})
			}
			all = append(all, events)
		}
	}
	if len(all) < 10 {
		t.Fatalf("%d streams", len(all))
	}
	return all
}

// TestEndsAgree: whatever a target leaves out, repeats or mixes up, the client
// sees its terminal event exactly when the target's answer counts as whole: with
// the event that ends it, or at the end of a stream that needs none. Output is
// seen only after there was some.
func TestEndsAgree(t *testing.T) {
	for _, pair := range pairs() {
		known := streams(t, pair[1])
		rapid.Check(t, func(t *rapid.T) {
			events := rapid.SampledFrom(known).Draw(t, "stream")
			order := rapid.SliceOfN(rapid.IntRange(0, len(events)-1), 0, 2*len(events)).Draw(t, "order")
			if rapid.Bool().Draw(t, "in order") {
				order = order[:0]
				for i := range events {
					if rapid.IntRange(0, 4).Draw(t, "keep") > 0 {
						order = append(order, i)
					}
				}
			}
			judge, s := followerOf(pair[1]), translate(t, pair[0], pair[1], minimal(pair[0], true), options(pair[0])).Stream()
			status := wire.Open
			for _, i := range order {
				if status = judge.Event(events[i].Name, events[i].Data).Status; status == wire.Failed {
					return // the exchange ends the client's stream itself
				}
				s.Event(nil, events[i].Name, events[i].Data)
				if status != wire.Open {
					break
				}
				if s.Answer().Status != wire.Open {
					if stop := judge.End(); stop == wire.Open {
						t.Fatalf("%v: ended before the target at %s", pair, events[i].Raw)
					}
				}
			}
			if status == wire.Open {
				if status = judge.End(); status == wire.Completed || status == wire.Incomplete {
					s.End(nil)
				}
			}
			if got := s.Answer().Status; status != wire.Failed && (got == wire.Open) != (status == wire.Open) {
				t.Fatalf("%v: the target is %v, the client's stream %v after %d events", pair, status, got, len(order))
			}
		})
	}
}

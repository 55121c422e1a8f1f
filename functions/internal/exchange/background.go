package exchange

import (
	"context"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/sse"
)

// visible makes the id of a response that goes on without its client usable as
// soon as the client can see it: who is cut off may ask for it again. Its
// target is final from then on, since the work is under way there.
func (r *relay) visible() {
	id := r.reading.Answer().ID
	if r.early || !r.facts.Background || id == "" {
		return
	}
	r.early, r.output = true, true
	booked, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), soon)
	defer cancel()
	if err := r.publish(booked, wire.Answer{ID: id, Status: wire.Open}); err != nil {
		r.Log.WarnContext(r.ctx, "a response in the background cannot be asked for", "request_id", r.in.ID, "error", err)
		r.held = sse.AppendComment(r.held, lost)
	}
}

// lost tells the client of a stream that an id in it cannot be used.
const lost = "x-holdfast-continuation: unavailable"

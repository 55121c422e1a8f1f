package exchange

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"holdfast/affinity"
	"holdfast/affinity/store"
	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// Some collections of an account hold things of one caller each, side by side with
// those of others. Whoever makes one is recorded; it is found by its maker only,
// and the collections are not listed, since a list shows all.

// collections are their names in paths.
func collections() map[string]affinity.Kind {
	return map[string]affinity.Kind{
		"responses": affinity.Response, "conversations": affinity.Conversation, "files": affinity.File,
		"containers": affinity.Container, "batches": affinity.Batch, "videos": affinity.Video,
	}
}

// bypassThing is what a path says of an account's things.
type bypassThing struct {
	kind affinity.Kind
	id   string   // "": the collection itself
	rest []string // steps below the thing
}

// thing reports whether the path is about an account's things, other than making
// one.
func (b *Bypass) thing() (bypassThing, bool) {
	kind, owned := collections()[b.at[0]]
	if !owned {
		return bypassThing{}, false
	}
	t := bypassThing{kind: kind}
	if len(b.at) == 1 {
		return t, true
	}
	t.id, t.rest = b.at[1], b.at[2:]
	operation := kind == affinity.Response && (t.id == "compact" || t.id == "input_tokens")
	return t, !operation
}

// creates reports whether a request makes a thing of its own.
func (b *Bypass) creates(method string) bool {
	_, owned := collections()[b.at[0]]
	return owned && len(b.at) == 1 && method == http.MethodPost
}

// Owned reports whether a request is about something that was made before: its
// owner is all that is looked for.
func (b *Bypass) Owned(method string) bool {
	_, about := b.thing()
	return about && !b.creates(method)
}

// serveThing serves a request about an account's things.
func (x *Exchange) serveThing(w http.ResponseWriter, r *http.Request, in Request, t bypassThing) {
	if t.id == "" && t.kind == affinity.Video && r.Method == http.MethodGet {
		x.ListVideos(w, r, in)
		return
	}
	ctx, leave := attached(r.Context(), r.Method == http.MethodPost)
	defer leave()
	e := x.errands(w, r, in)
	defer e.settleLater(ctx)
	if t.id == "" {
		e.refuse(wire.Refuse(wire.RouteNotFound).Saying("Lists of an account show what is other callers' too and are not passed on. Keep the ids of what you make."))
		return
	}
	if p := e.inspectBypass(); p != nil {
		e.refuse(p)
		return
	}
	task, p := e.ownThing(ctx, t)
	if p != nil {
		e.refuse(p)
		return
	}
	e.serveOwn(ctx, t, task)
}

// ownThing finds who made a thing, if this caller did, under the name that the path
// gives, and validates the owner.
func (e *exchange) ownThing(ctx context.Context, t bypassThing) (task affinity.Task, p *wire.Problem) {
	settled := e.current(ctx)
	var err error
	if t.kind == affinity.Video {
		task, err = e.Affinity.Task(ctx, e.in.Principal.Scope, t.kind, t.id)
	} else {
		task.Owner, err = e.Affinity.Bound(ctx, e.in.Principal.Scope, t.kind, t.id)
	}
	if p := settled(); p != nil {
		return task, p
	}
	switch {
	case err == nil && e.named(task.Owner):
		return task, e.owned(task.Owner)
	case err != nil && !errors.Is(err, affinity.ErrNotFound):
		return task, refusal(err)
	case t.kind == affinity.Response:
		return task, wire.Refuse(wire.PreviousResponseNotFound)
	}
	return task, wire.Refuse(wire.TaskNotFound)
}

// named reports whether an owner is meant by the path's name.
func (e *exchange) named(o affinity.Owner) bool {
	known, name := e.in.Snapshot.Catalog, e.in.Bypass.Name
	if known.Connection(name) != nil {
		return o.Connection == name
	}
	account := known.Connection(o.Connection)
	return account != nil && account.Provider == name
}

// serveOwn asks the owner.
func (e *exchange) serveOwn(ctx context.Context, t bypassThing, task affinity.Task) {
	at := "/videos/" + url.PathEscape(t.id)
	switch below := strings.Join(t.rest, "/"); {
	case t.kind == affinity.Video && e.http.Method == http.MethodGet && below == "":
		e.poll(ctx, task, at)
	case t.kind == affinity.Video && e.http.Method == http.MethodDelete && below == "":
		e.remove(ctx, task, at)
	case t.kind == affinity.Video && below == contentPart:
		e.content(ctx, task, at)
	case t.kind == affinity.Video && e.http.Method == http.MethodPost && below == remixPart:
		e.remix(ctx, task, at)
	default:
		answer, tried := e.send(ctx, e.asIs())
		gone := e.http.Method == http.MethodDelete && below == "" && (answer != nil || tried.status == http.StatusNotFound)
		if gone {
			e.forgetThing(ctx, t)
		}
		if answer == nil {
			e.undone(tried)
			return
		}
		e.deliver(answer, describesContent)
	}
}

// forgetThing takes a deleted thing from the records, before the client is told.
func (e *exchange) forgetThing(ctx context.Context, t bypassThing) {
	booked, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	if err := e.Affinity.Unbind(booked, e.in.Principal.Scope, t.kind, t.id); err != nil && !errors.Is(err, affinity.ErrNotFound) {
		e.Log.WarnContext(ctx, "a deleted thing is still recorded", "request_id", e.in.ID, "error", err)
	}
}

// referred refuses a batch over a file that is not the caller's.
func (e *exchange) referred(ctx context.Context) *wire.Problem {
	file := e.facts.Value("input_file_id")
	if !file.Given() {
		return nil
	}
	_, err := e.Affinity.Bound(ctx, e.in.Principal.Scope, affinity.File, file.Text())
	switch {
	case errors.Is(err, affinity.ErrNotFound):
		return wire.Refuse(wire.TaskNotFound).About("input_file_id").Saying("There is no such file of this key's. Upload it by the same path.")
	case err != nil:
		return refusal(err)
	}
	return nil
}

// keepThing records whose a thing is; what requests may refer to is claimed as well,
// since they may refer to what nobody has.
func (e *exchange) keepThing(ctx context.Context, kind affinity.Kind, id string) error {
	err := e.Affinity.Bind(ctx, e.in.Principal.Scope, kind, id, e.ownerOf(e.serving.Target), e.retention())
	if err != nil || !slices.Contains([]affinity.Kind{affinity.Conversation, affinity.File, affinity.Container}, kind) {
		return err
	}
	return e.claimThing(ctx, store.NewHandle(claimKey(kind, id), "", store.Record{}))
}

// create records whose a thing is, then passes the answer on as it is.
func (e *exchange) create(ctx context.Context, answer *upstream.Response) {
	defer answer.Body.Close()
	body, err := readAnswer(answer)
	if err != nil {
		e.refuse(wire.Refuse(wire.UpstreamUnknownOutcome))
		return
	}
	e.line.FirstByte, e.line.Status = e.Now().Sub(e.in.Start), answer.Status
	kind := collections()[e.in.Bypass.at[0]]
	if id := jsonedit.Read(body).Get("id"); id.Len() > 0 && id.Len() <= wire.MaxName {
		booked, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
		defer cancel()
		if err := e.keepThing(booked, kind, id.Text()); err != nil {
			e.Log.ErrorContext(ctx, "something was made and cannot be kept", "request_id", e.in.ID, "error", err)
			e.refuse(wire.Refuse(wire.OwnershipUnavailable))
			return
		}
	}
	_ = e.reply.body(body, answer.Status, func(h http.Header) {
		pass(answer.Header)(h)
		h.Set("Content-Length", strconv.Itoa(len(body)))
	})
}

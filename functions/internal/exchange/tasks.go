package exchange

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"holdfast/affinity"
	"holdfast/functions/internal/telemetry"
	"holdfast/functions/internal/upstream"
	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/routing"
	"holdfast/routing/catalog"
)

// Thing names an account-bound thing that a request is about, and what of it.
type Thing struct {
	ID   string
	Part string // "": itself; "content", "remix"
}

// ServeVideo answers a request about one video: only its creator is asked, and
// nobody where the caller has no such video. It panics with
// http.ErrAbortHandler where an answer that has begun must not look whole.
func (x *Exchange) ServeVideo(w http.ResponseWriter, r *http.Request, in Request, about Thing) {
	ctx, leave := attached(r.Context(), about.Part == remixPart)
	defer leave()
	e := x.errands(w, r, in)
	defer e.settleLater(ctx)
	task, p := e.task(ctx, affinity.Video, about.ID)
	if p != nil {
		e.refuse(p)
		return
	}
	at := "/videos/" + url.PathEscape(task.ID)
	switch {
	case about.Part == remixPart:
		e.remix(ctx, task, at)
	case about.Part == contentPart:
		e.content(ctx, task, at)
	case r.Method == http.MethodDelete:
		e.remove(ctx, task, at)
	default:
		e.poll(ctx, task, at)
	}
}

// The parts of a video that have routes of their own.
const (
	contentPart = "content"
	remixPart   = "remix"
)

// task finds a task of the caller and validates its owner.
func (e *exchange) task(ctx context.Context, kind affinity.Kind, id string) (affinity.Task, *wire.Problem) {
	settled := e.current(ctx)
	task, err := e.Affinity.Task(ctx, e.in.Principal.Scope, kind, id)
	if p := settled(); p != nil {
		return task, p
	}
	switch {
	case errors.Is(err, affinity.ErrNotFound):
		return task, wire.Refuse(wire.TaskNotFound)
	case err != nil:
		return task, refusal(err)
	}
	return task, e.owned(task.Owner)
}

// poll shows how a task stands, and bills its success the first time it is seen.
func (e *exchange) poll(ctx context.Context, task affinity.Task, at string) {
	answer, t := e.send(ctx, errand{method: http.MethodGet, path: at, query: e.http.URL.RawQuery, headers: openAIHeaders(), safe: true})
	body, t := e.small(answer, t)
	if body == nil {
		e.undone(t)
		return
	}
	if jsonedit.Read(body).Get("status").Is("completed") {
		e.finish(task)
	}
	e.tell(body, answer)
}

// remove deletes a task at its owner and takes it from the caller's list, before
// the caller is told.
func (e *exchange) remove(ctx context.Context, task affinity.Task, at string) {
	answer, t := e.send(ctx, errand{method: http.MethodDelete, path: at, query: e.http.URL.RawQuery, headers: openAIHeaders(), safe: true})
	body, t := e.small(answer, t)
	if body != nil || t.status == http.StatusNotFound {
		booked, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
		defer cancel()
		if err := e.Affinity.ForgetTask(booked, e.in.Principal.Scope, task.Kind, task.ID); err != nil {
			e.Log.WarnContext(ctx, "a deleted task is still listed", "request_id", e.in.ID, "error", err)
		}
	}
	if body == nil {
		e.undone(t)
		return
	}
	e.tell(body, answer)
}

// content passes a task's result on, whole or in ranges, while it comes.
func (e *exchange) content(ctx context.Context, task affinity.Task, at string) {
	answer, t := e.send(ctx, errand{
		method: e.http.Method, path: at + "/content", query: e.http.URL.RawQuery, safe: true,
		headers: append(openAIHeaders(), "Accept", "Range", "If-Range", "If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since"),
	})
	if answer == nil {
		e.undone(t)
		return
	}
	e.finish(task)
	e.deliver(answer, describesContent)
}

// describesContent are the headers that belong to content.
func describesContent(name string) bool {
	switch name {
	case "Content-Length", "Content-Range", "Content-Disposition", "Content-Encoding", "Accept-Ranges", "Etag", "Last-Modified", "Cache-Control", "Expires":
		return true
	}
	return false
}

// remix begins a new task from one, where that one lies.
func (e *exchange) remix(ctx context.Context, from affinity.Task, at string) {
	e.in.Endpoint, e.codec, e.in.Bypass = remixPart, e.codecs[wire.EndpointVideos], nil // whose body names no model
	p := e.inspect()
	if p == nil {
		p = e.inspectText()
	}
	if p == nil {
		p = e.allowAlone(ctx)
	}
	if p != nil {
		e.refuse(p)
		return
	}
	e.in.Endpoint = wire.EndpointVideos
	e.unpaid = false // until it is known what came of it
	q := errand{method: http.MethodPost, path: at + "/remix", query: e.http.URL.RawQuery, headers: openAIHeaders(), kind: "application/json"}
	if e.form != nil {
		q.kind, q.body = e.http.Header.Get("Content-Type"), e.form.Write(nil, ourFields()...)
	} else {
		q.body = plainRewrite(e.facts, wire.Edits{}).Body
	}
	answer, t := e.send(ctx, q)
	body, t := e.small(answer, t)
	switch class := t.outcome.Class; {
	case body != nil:
		e.begun(ctx, body, answer, from.Facts.Parameters)
	case class == routing.ServerError || class == routing.Broken || class == routing.Stale || class == routing.Expired:
		e.refuse(wire.Refuse(wire.UpstreamUnknownOutcome))
	default:
		e.undone(t)
	}
}

// begun keeps a task that an errand began, then tells of it.
func (e *exchange) begun(ctx context.Context, body []byte, answer *upstream.Response, inherited map[string]string) {
	if _, err := readTask(body, wire.ByProtocol); err != nil {
		e.refuse(wire.Refuse(wire.UpstreamUnknownOutcome))
		return
	}
	if p := e.keepTask(ctx, body, inherited); p != nil {
		e.refuse(p)
		return
	}
	e.tell(body, answer)
}

// small reads an answer that is one JSON object; nil where it is not whole.
func (e *exchange) small(answer *upstream.Response, t tried) ([]byte, tried) {
	if answer == nil {
		return nil, t
	}
	defer answer.Body.Close()
	body, err := readAnswer(answer)
	e.line.FirstByte = e.Now().Sub(e.in.Start)
	if err != nil {
		return nil, failed(err)
	}
	if jsonedit.Whole(body).Kind() != '{' || len(body) > maxFault {
		return nil, tried{outcome: routing.Outcome{Class: routing.ServerError}, status: answer.Status}
	}
	return body, t
}

// tell answers with a provider's object, without its addresses.
func (e *exchange) tell(body []byte, answer *upstream.Response) {
	body, err := unaddressed{}.Body(body)
	if err != nil {
		e.refuse(wire.Refuse(wire.UpstreamFailed))
		return
	}
	e.line.Status = answer.Status
	_ = e.reply.body(body, answer.Status, func(h http.Header) {
		pass(answer.Header)(h)
		h.Set("Content-Length", strconv.Itoa(len(body)))
	})
}

// keepTask makes a task's id usable by its caller, and by nobody else: what is
// known of its creation, then its owner. Storing the same again is harmless, so
// a write whose answer was lost is repeated once.
func (e *exchange) keepTask(ctx context.Context, body []byte, inherited map[string]string) *wire.Problem {
	if e.codec.task == "" {
		return nil
	}
	v, target := jsonedit.Read(body), e.serving.Target
	task := affinity.Task{
		Kind: e.codec.task, ID: v.Get("id").Text(),
		Owner: e.ownerOf(target),
		Facts: affinity.Facts{Known: true, Started: e.in.Start, Model: target.Model, Parameters: e.pricing(v, inherited)},
	}
	booked, cancel := context.WithTimeout(context.WithoutCancel(ctx), soon)
	defer cancel()
	var err error
	for range 2 {
		if err = e.Affinity.CreateTask(booked, e.in.Principal.Scope, task); !errors.Is(err, affinity.ErrOwnershipUnavailable) {
			break
		}
	}
	switch {
	case errors.Is(err, affinity.ErrTaskExists):
		e.Log.ErrorContext(ctx, "a provider gave the id of another task", "request_id", e.in.ID, "deployment", target.ID)
		return wire.Refuse(wire.UpstreamFailed)
	case err != nil:
		e.Log.ErrorContext(ctx, "a task was begun and cannot be kept", "request_id", e.in.ID, "deployment", target.ID, "error", err)
		return wire.Refuse(wire.OwnershipUnavailable).Saying("The job was begun, but who holds it could not be recorded, so it cannot be followed. It may be billed.")
	}
	e.line.Task = lineOf(task)
	e.unpaid = true // until it has succeeded
	if v.Get("status").Is("completed") {
		e.finish(task)
	}
	return nil
}

// ownerOf is the owner of what a target makes for this exchange.
func (e *exchange) ownerOf(t *catalog.Target) affinity.Owner {
	return affinity.Owner{
		Model: e.pool.Name, Endpoint: e.in.Endpoint, Deployment: t.ID, Connection: t.Account.ID, BaseURL: t.BaseURL,
		Boundary: t.Account.Boundary, Session: e.session.ID, Lane: e.session.Lane, Native: true,
	}
}

// finish notes a task's terminal success after the answer. Of all who see it
// one bills it; where the store cannot say who, each does so under the task's
// own id, which the ledger takes once.
func (e *exchange) finish(task affinity.Task) {
	if task.Finished {
		return
	}
	e.later(func(ctx context.Context) {
		first, err := e.Affinity.FinishTask(ctx, e.in.Principal.Scope, task.Kind, task.ID)
		if err != nil {
			e.Log.WarnContext(ctx, "the end of a task was not recorded", "request_id", e.in.ID, "error", err)
		}
		if !first && !errors.Is(err, affinity.ErrOwnershipUnavailable) {
			return
		}
		done := lineOf(task)
		done.Finished = true
		e.line.Task = done
	})
}

// lineOf is a task as the exchange's line has it.
func lineOf(task affinity.Task) *telemetry.Task {
	return &telemetry.Task{
		Kind: string(task.Kind), ID: task.ID, Model: task.Facts.Model, Started: task.Facts.Started,
		Parameters: task.Facts.Parameters, Known: task.Facts.Known,
	}
}

// pricing reads what a task's price depends on: as its provider says it, else
// as it was asked for, else as the task it was made from.
func (e *exchange) pricing(v jsonedit.Value, inherited map[string]string) map[string]string {
	found := map[string]string{"upstream_model": e.serving.Target.UpstreamModel}
	for _, name := range [...]string{"seconds", "size", "quality", "resolution", "duration", "aspect_ratio", "n", "fps"} {
		switch {
		case scalar(v.Get(name)) != "":
			found[name] = scalar(v.Get(name))
		case scalar(e.facts.Value(name)) != "":
			found[name] = scalar(e.facts.Value(name))
		case inherited[name] != "":
			found[name] = inherited[name]
		}
	}
	return found
}

// scalar is a short string, or a number as it is written; "" for all else.
func scalar(v jsonedit.Value) string {
	const longest = 64
	switch raw := v.Bytes(); {
	case v.Kind() == '"':
		return wire.Clean(v.Head(longest), longest)
	case (v.Kind() == '-' || v.Kind() >= '0' && v.Kind() <= '9') && len(raw) <= longest:
		return string(raw)
	}
	return ""
}

package exchange

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"holdfast/affinity"
	"holdfast/functions/internal/wire"
)

// Bounds of a list's page.
const (
	usualPage   = 20
	longestPage = 100
)

// listedVideo is a video as far as it is known here: its state is what polls
// have shown.
type listedVideo struct {
	ID       string `json:"id"`
	Object   string `json:"object"`
	Created  int64  `json:"created_at"`
	Status   string `json:"status"` // completed once that was seen, in_progress before
	Progress int    `json:"progress"`
	Model    string `json:"model"`
	Seconds  string `json:"seconds,omitempty"`
	Size     string `json:"size,omitempty"`
}

// videoPage is a page of a list as OpenAI's clients read it.
type videoPage struct {
	Object  string        `json:"object"`
	Data    []listedVideo `json:"data"`
	FirstID *string       `json:"first_id"`
	LastID  *string       `json:"last_id"`
	HasMore bool          `json:"has_more"`
}

// ListVideos lists the caller's own videos from the records of their creation.
// No provider is asked.
func (x *Exchange) ListVideos(w http.ResponseWriter, r *http.Request, in Request) {
	ctx, leave := attached(r.Context(), false)
	defer leave()
	e := x.errands(w, r, in)
	defer e.settleLater(ctx)
	page, p := pageOf(r)
	if p != nil {
		e.refuse(p)
		return
	}
	settled := e.current(ctx)
	tasks, more, err := e.Affinity.TasksAfter(ctx, in.Principal.Scope, page)
	p = settled()
	switch {
	case p != nil:
		e.refuse(p)
	case errors.Is(err, affinity.ErrNotFound):
		e.refuse(wire.Refuse(wire.TaskNotFound).About("after"))
	case err != nil:
		e.refuse(refusal(err))
	default:
		e.list(tasks, more)
	}
}

// pageOf reads limit, order and after.
func pageOf(r *http.Request) (affinity.TaskPage, *wire.Problem) {
	query := r.URL.Query()
	page := affinity.TaskPage{Kind: affinity.Video, After: query.Get("after"), OldestFirst: query.Get("order") == "asc", Limit: usualPage}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > longestPage {
			return page, wire.Refuse(wire.InvalidRequest).About("limit").Saying("limit must be a number from 1 to " + strconv.Itoa(longestPage) + ".")
		}
		page.Limit = n
	}
	if order := query.Get("order"); order != "" && order != "asc" && order != "desc" {
		return page, wire.Refuse(wire.InvalidRequest).About("order").Saying("order must be asc or desc.")
	}
	if len(page.After) > wire.MaxName {
		return page, wire.Refuse(wire.TaskNotFound).About("after")
	}
	return page, nil
}

// list answers with a page.
func (e *exchange) list(tasks []affinity.Task, more bool) {
	page := videoPage{Object: "list", Data: make([]listedVideo, 0, len(tasks)), HasMore: more}
	for _, t := range tasks {
		parameters := t.Facts.Parameters
		v := listedVideo{
			ID: t.ID, Object: "video", Created: t.Facts.Started.Unix(), Status: "in_progress",
			Model: orElse(parameters["upstream_model"], t.Facts.Model), Seconds: parameters["seconds"], Size: parameters["size"],
		}
		if t.Finished {
			v.Status, v.Progress = "completed", 100
		}
		page.Data = append(page.Data, v)
	}
	if n := len(page.Data); n > 0 {
		page.FirstID, page.LastID = &page.Data[0].ID, &page.Data[n-1].ID
	}
	body, err := json.Marshal(page)
	if err != nil { // an id that is not UTF-8
		e.refuse(wire.Refuse(""))
		return
	}
	e.line.Status = http.StatusOK
	_ = e.reply.body(body, http.StatusOK, func(h http.Header) { h.Set("Content-Type", "application/json") })
}

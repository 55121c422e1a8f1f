package accounts

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/refusal"
)

// Bounds of videos; the oldest go first.
const (
	maxVideos    = 1000
	videoBytes   = 64 << 10
	maxFormField = 64 << 10
)

// videos are the tasks that an account works on. A video is queued when it is
// created and done after a number of polls.
type videos struct {
	polls int

	mu    sync.Mutex
	byID  map[string]*video
	order []string // oldest first
}

type video struct {
	ID      string
	Created time.Time
	Done    time.Time
	Polls   int // still needed
	Remixed string
	videoRequest
}

type videoRequest struct {
	Model   string `json:"model"`
	Prompt  string `json:"prompt"`
	Seconds string `json:"seconds"`
	Size    string `json:"size"`
}

func newVideos(polls int) *videos {
	if polls <= 0 {
		polls = 1
	}
	return &videos{polls: polls, byID: map[string]*video{}}
}

func (a *Account) addVideos(add func(method, path string, rt route)) {
	add("POST", "/videos", route{Videos, "create", false, (*exchange).createVideo})
	add("GET", "/videos", route{Videos, "list", false, (*exchange).listVideos})
	add("GET", "/videos/{id}", route{Videos, "retrieve", false, object(a.pollVideo)})
	add("DELETE", "/videos/{id}", route{Videos, "delete", false, object(a.videos.remove)})
	add("GET", "/videos/{id}/content", route{Videos, "content", false, (*exchange).videoContent})
	add("POST", "/videos/{id}/remix", route{Videos, "remix", false, (*exchange).remixVideo})
}

func (x *exchange) createVideo() {
	q, err := readVideo(x.r.Header.Get("Content-Type"), x.body)
	if !x.begin(q.Model, false) {
		return
	}
	switch {
	case err != nil:
		x.refuse(refusal.Body(err))
	case q.Prompt == "":
		x.refuse(refusal.Invalid("prompt", "missing_required_parameter", "Missing required parameter: 'prompt'."))
	case q.Model != "" && !x.account.serves(q.Model):
		x.refuse(x.unknownModel())
	default:
		x.send(x.account.videos.add(&video{ID: x.account.mint("video_"), Created: x.began, videoRequest: q}))
	}
}

func (x *exchange) remixVideo() {
	q, err := readVideo(x.r.Header.Get("Content-Type"), x.body)
	if !x.begin("", false) {
		return
	}
	v, r := x.account.videos.find(x.r.PathValue("id"))
	switch {
	case r != nil:
		x.refuse(r)
	case err != nil:
		x.refuse(refusal.Body(err))
	case q.Prompt == "":
		x.refuse(refusal.Invalid("prompt", "missing_required_parameter", "Missing required parameter: 'prompt'."))
	default:
		remix := v.videoRequest
		remix.Prompt = q.Prompt
		x.send(x.account.videos.add(&video{ID: x.account.mint("video_"), Created: x.began, Remixed: v.ID, videoRequest: remix}))
	}
}

// readVideo reads a request as JSON or as a form, which is how SDKs send it.
func readVideo(contentType string, body []byte) (videoRequest, error) {
	q := videoRequest{Model: "sora-2", Seconds: "4", Size: "720x1280"}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.HasPrefix(kind, "multipart/") {
		return q, json.Unmarshal(body, &q)
	}
	fields := map[string]*string{"model": &q.Model, "prompt": &q.Prompt, "seconds": &q.Seconds, "size": &q.Size}
	form := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return q, nil
		}
		if err != nil {
			return q, err
		}
		value, err := io.ReadAll(io.LimitReader(part, maxFormField))
		if err != nil {
			return q, err
		}
		if field := fields[part.FormName()]; field != nil {
			*field = strings.ToValidUTF8(string(value), "?")
		}
	}
}

func (x *exchange) listVideos() {
	if !x.begin("", false) {
		return
	}
	s := x.account.videos
	s.mu.Lock()
	b := []byte(`{"object":"list","data":[`)
	first, last := "", ""
	for i := len(s.order) - 1; i >= 0; i-- {
		if last != "" {
			b = append(b, ',')
		} else {
			first = s.order[i]
		}
		last = s.order[i]
		b = s.byID[last].append(b)
	}
	s.mu.Unlock()
	b = emit.OrNull(append(b, `],"first_id":`...), first)
	b = emit.OrNull(append(b, `,"last_id":`...), last)
	x.send(append(b, `,"has_more":false}`...))
}

// pollVideo brings a video one step on and shows it.
func (a *Account) pollVideo(id string) ([]byte, *refusal.Refusal) {
	s := a.videos
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.byID[id]
	if !ok {
		return nil, unknownVideo(id)
	}
	if v.Polls > 0 {
		if v.Polls--; v.Polls == 0 {
			v.Done = a.config.Now()
		}
	}
	return v.append(nil), nil
}

// videoContent sends the bytes, whole or in ranges.
func (x *exchange) videoContent() {
	if !x.begin("", false) {
		return
	}
	v, r := x.account.videos.find(x.r.PathValue("id"))
	if r == nil && v.Polls > 0 {
		r = refusal.Invalid("", "", "Video is not ready yet, use GET /v1/videos/{video_id} to check status.")
	}
	if r != nil {
		x.refuse(r)
		return
	}
	content := bytes.Repeat([]byte(v.ID), videoBytes/len(v.ID)+1)[:videoBytes]
	x.openAIHeaders(x.w.Header())
	x.w.Header().Set("Content-Type", "video/mp4")
	x.w.Header().Set("Etag", `"`+v.ID+`"`)
	if x.fault != nil && x.fault.within() {
		x.partOf(content)
		return
	}
	watch := &statusWatch{ResponseWriter: x.w, status: http.StatusOK}
	http.ServeContent(watch, x.r, "", v.Done, bytes.NewReader(content))
	x.status, x.finished = watch.status, x.r.Context().Err() == nil
}

// partOf sends the beginning of content whose length is announced, half of it where
// the fault does not say how much, and closes the connection, or resets it.
func (x *exchange) partOf(content []byte) {
	f := &x.fault.Fault
	part := content[:len(content)/2]
	if f.AfterBytes > 0 {
		part = content[:min(f.AfterBytes, len(content))]
	}
	x.w.Header()["Content-Length"] = []string{strconv.Itoa(len(content))}
	x.status = http.StatusOK
	x.write(part)
	if f.Kind == ResetAfter {
		x.reset()
	}
}

// statusWatch notes the status that http.ServeContent chooses.
type statusWatch struct {
	http.ResponseWriter
	status int
}

// WriteHeader notes the status.
func (w *statusWatch) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (s *videos) add(v *video) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	v.Polls = s.polls
	s.byID[v.ID] = v
	s.order = append(s.order, v.ID)
	if len(s.order) > maxVideos {
		delete(s.byID, s.order[0])
		s.order = s.order[1:]
	}
	return v.append(nil)
}

// find copies a video.
func (s *videos) find(id string) (video, *refusal.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.byID[id]; ok {
		return *v, nil
	}
	return video{}, unknownVideo(id)
}

func (s *videos) remove(id string) ([]byte, *refusal.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.byID[id]; !ok {
		return nil, unknownVideo(id)
	}
	delete(s.byID, id)
	for i := range s.order {
		if s.order[i] == id {
			s.order = append(s.order[:i:i], s.order[i+1:]...)
			break
		}
	}
	return append(emit.String(nil, `{"id":`, id), `,"object":"video.deleted","deleted":true}`...), nil
}

func unknownVideo(id string) *refusal.Refusal {
	return refusal.Missing("", "", "Video with id '%s' not found.", id)
}

// append writes the video object.
func (v *video) append(b []byte) []byte {
	status, progress := "queued", 0
	completed, expires := "null", "null"
	if v.Polls == 0 {
		status, progress = "completed", 100
		completed = string(emit.Int(nil, "", int(v.Done.Unix())))
		expires = string(emit.Int(nil, "", int(v.Done.Add(24*time.Hour).Unix())))
	}
	b = emit.String(b, `{"id":`, v.ID)
	b = emit.Int(b, `,"object":"video","created_at":`, int(v.Created.Unix()))
	b = append(b, `,"completed_at":`+completed+`,"expires_at":`+expires...)
	b = emit.String(b, `,"status":`, status)
	b = emit.Int(b, `,"progress":`, progress)
	b = emit.String(b, `,"model":`, v.Model)
	b = emit.String(b, `,"prompt":`, v.Prompt)
	b = emit.String(b, `,"seconds":`, v.Seconds)
	b = emit.String(b, `,"size":`, v.Size)
	b = emit.OrNull(append(b, `,"remixed_from_video_id":`...), v.Remixed)
	return append(b, `,"error":null}`...)
}

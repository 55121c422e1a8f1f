package accounts

import (
	"net/http"
	"strconv"

	"holdfast/localstack/accounts/internal/chat"
	"holdfast/localstack/accounts/internal/messages"
	"holdfast/localstack/accounts/internal/refusal"
	"holdfast/localstack/accounts/internal/responses"
)

// Protocols, as calls and faults name them.
const (
	Chat          = "chat"
	Responses     = "responses"
	Messages      = "messages"
	Embeddings    = "embeddings"
	Models        = "models"
	Videos        = "videos"
	Conversations = "conversations"
	Other         = "other" // a path that no provider has
)

// routes lists every path, which all work with and without /v1.
func (a *Account) routes() http.Handler {
	mux := http.NewServeMux()
	add := func(method, path string, rt route) {
		mux.Handle(method+" /v1"+path, a.handle(rt))
		mux.Handle(method+" "+path, a.handle(rt))
	}
	add("POST", "/chat/completions", route{Chat, "create", false, (*exchange).chat})
	add("POST", "/messages", route{Messages, "create", true, (*exchange).messages})
	add("POST", "/messages/count_tokens", route{Messages, "count_tokens", true, (*exchange).countTokens})
	add("POST", "/embeddings", route{Embeddings, "create", false, (*exchange).embeddings})
	add("GET", "/models", route{Models, "list", false, (*exchange).listModels})
	add("GET", "/models/{id}", route{Models, "retrieve", false, (*exchange).retrieveModel})
	a.addResponses(add)
	a.addVideos(add)
	mux.Handle("/", a.handle(route{Other, "", false, (*exchange).unknownPath}))
	a.addControl(mux)
	return mux
}

func (a *Account) addResponses(add func(method, path string, rt route)) {
	m := a.memory
	add("POST", "/responses", route{Responses, "create", false, (*exchange).responses})
	add("POST", "/responses/compact", route{Responses, "compact", false, (*exchange).compact})
	add("GET", "/responses/{id}", route{Responses, "retrieve", false, (*exchange).retrieve})
	add("DELETE", "/responses/{id}", route{Responses, "delete", false, object(m.Delete)})
	add("POST", "/responses/{id}/cancel", route{Responses, "cancel", false, object(m.Cancel)})
	add("GET", "/responses/{id}/input_items", route{Responses, "input_items", false, items(m.Inputs)})
	add("POST", "/conversations", route{Conversations, "create", false, (*exchange).converse})
	add("GET", "/conversations/{id}", route{Conversations, "retrieve", false, object(m.Conversation)})
	add("DELETE", "/conversations/{id}", route{Conversations, "delete", false, object(m.Part)})
	add("GET", "/conversations/{id}/items", route{Conversations, "items", false, items(m.Items)})
}

// object serves something that is found by the id in the path.
func object(find func(id string) ([]byte, *refusal.Refusal)) func(*exchange) {
	return func(x *exchange) {
		if x.begin("", false) {
			x.result(find(x.r.PathValue("id")))
		}
	}
}

// retrieve serves a stored response, as events from where the client stopped
// where it asks for them.
func (x *exchange) retrieve() {
	query := x.r.URL.Query()
	if query.Get("stream") != "true" {
		object(x.account.memory.Get)(x)
		return
	}
	if !x.begin("", true) {
		return
	}
	events, r := x.account.memory.Stream(x.r.PathValue("id"))
	if r != nil {
		x.refuse(r)
		return
	}
	after := -1
	if v := query.Get("starting_after"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 {
			x.refuse(refusal.Invalid("starting_after", "", "Invalid 'starting_after': expected a sequence number."))
			return
		}
		after = n
	}
	x.head(http.StatusOK, "text/event-stream; charset=utf-8")
	for i := after + 1; i < events.Len(); i++ {
		x.events++
		if i == events.Len()-1 {
			x.settle(true)
		}
		if !x.write(events.Event(i)) {
			return
		}
	}
}

// items serves a page of a list of items.
func items(find func(id string, page responses.Page) ([]byte, *refusal.Refusal)) func(*exchange) {
	return func(x *exchange) {
		if !x.begin("", false) {
			return
		}
		query := x.r.URL.Query()
		page := responses.Page{Ascending: query.Get("order") == "asc", After: query.Get("after")}
		if v := query.Get("limit"); v != "" {
			n, err := strconv.Atoi(v)
			if err != nil || n == 0 {
				n = -1 // refused with the other numbers out of range
			}
			page.Limit = n
		}
		x.result(find(x.r.PathValue("id"), page))
	}
}

func (x *exchange) chat() {
	q, r := chat.Parse(x.body)
	x.generate(q, r, "chatcmpl-")
}

func (x *exchange) responses() {
	q, r := responses.Parse(x.body, x.account.memory)
	x.generate(q, r, "resp_")
}

func (x *exchange) messages() {
	q, r := messages.Parse(x.body, x.account.box)
	if r == nil {
		r = q.Bounded()
	}
	if version := x.r.Header.Get("Anthropic-Version"); r == nil && version == "" {
		r = refusal.Invalid("", "", "anthropic-version: header is required")
	}
	x.generate(q, r, "msg_")
}

func (x *exchange) countTokens() {
	q, r := messages.Parse(x.body, x.account.box)
	if !x.begin(q.ModelName(), false) {
		return
	}
	if r == nil && !x.account.serves(x.model) {
		r = x.unknownModel()
	}
	if r != nil {
		x.refuse(r)
		return
	}
	p := x.account.cache.Prefix(x.protocol, x.model)
	q.Write(p)
	x.send(q.Count(p.Tokens()))
}

func (x *exchange) converse() {
	if x.begin("", false) {
		x.result(x.account.memory.Converse(x.body, x.began, x.account.mint))
	}
}

func (x *exchange) unknownPath() {
	if x.begin("", false) {
		x.refuse(refusal.Missing("", "unknown_url", "Invalid URL (%s %s)", x.r.Method, x.r.URL.Path))
	}
}

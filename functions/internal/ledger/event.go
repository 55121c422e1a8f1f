package ledger

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of an event. What is longer is cut.
const (
	maxText        = 256 // bytes of any name
	maxAttempts    = 64
	maxExplanation = 8 << 10 // bytes; a longer one is left out
	MaxLabels      = 5
	maxLabel       = 64 // bytes
)

// Event is one exchange, as the admin API shows it.
type Event struct {
	ID            string    `json:"id"` // of the event; appending it again changes nothing
	Time          time.Time `json:"time"`
	RequestID     string    `json:"request_id"`
	SessionID     string    `json:"session_id"` // scoped- and 32 hex digits; "" before identification
	SessionSource string    `json:"session_source"`
	SessionSignal string    `json:"session_signal"`
	Lane          string    `json:"lane"`                   // hashed
	Parent        string    `json:"parent,omitempty"`       // the session_id or lane that started this one, as the client says
	AffinityKey   string    `json:"affinity_key,omitempty"` // names the session's preferences
	UserPath      string    `json:"user_path"`
	Key           string    `json:"key"` // its id
	Endpoint      string    `json:"endpoint"`
	Model         string    `json:"model"` // as requested, by its configured name
	Affinity      string    `json:"affinity"`
	Template      string    `json:"template"`
	RuleSource    string    `json:"rule_source,omitempty"` // the level that named the template
	Deployment    string    `json:"deployment"`            // that served; "" for none
	Connection    string    `json:"connection"`
	Provider      string    `json:"provider"`
	UpstreamModel string    `json:"upstream_model"`
	Stream        bool      `json:"stream"`
	Status        int       `json:"status"`
	ErrorCode     string    `json:"error_code"`
	FirstByteMS   int64     `json:"ttfb_ms"`
	DurationMS    int64     `json:"duration_ms"`
	Attempts      []Attempt `json:"attempts"`
	Usage         *Usage    `json:"usage"`      // null: nobody knows
	Cost          *Cost     `json:"cost"`       // null: the price is not known
	Saved         *float64  `json:"saved_cost"` // what cached tokens would have cost uncached, minus what they cost
	Labels        []string  `json:"labels"`

	Cache      string   `json:"cache,omitempty"`            // hit: answered by the gateway's own response cache
	CacheSaved *float64 `json:"cache_saved_cost,omitempty"` // what that did not cost

	Task *Task `json:"task,omitempty"` // a job that the exchange began, or whose success this event books

	Explanation jsontext.Value `json:"explanation,omitempty"` // why it went where it went
}

// Task is an asynchronous job at a provider. It costs something once, when it has
// succeeded: the event that says so has an id and a time of the job's own, so that
// it is booked once however many exchanges have seen the success.
type Task struct {
	Kind       string            `json:"kind"` // video
	ID         string            `json:"id"`   // the provider's
	Succeeded  bool              `json:"succeeded"`
	Parameters map[string]string `json:"parameters,omitempty"` // those that price it, from its creation
}

// Attempt is one try at one deployment.
type Attempt struct {
	Deployment string `json:"deployment"`
	Outcome    string `json:"outcome"`
	Status     int    `json:"status"` // HTTP; 0 where there was none
	Millis     int64  `json:"ms"`
	Usage      *Usage `json:"usage,omitempty"` // as this attempt reported it
}

// Usage is tokens. Input excludes what was read from or written to a cache;
// Reasoning is part of Output.
type Usage struct {
	Input        int64 `json:"input"`
	CacheRead    int64 `json:"cache_read"`
	CacheWrite5m int64 `json:"cache_write_5m"`
	CacheWrite1h int64 `json:"cache_write_1h"`
	Output       int64 `json:"output"`
	Reasoning    int64 `json:"reasoning"`
	Estimated    bool  `json:"estimated"` // counted by the gateway, wholly or in part
}

// Cost is USD by part.
type Cost struct {
	Input      float64 `json:"input"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
	Output     float64 `json:"output"`
	Total      float64 `json:"total"`
}

// bound makes the event what is kept: every text cut to its bound, times to the
// microsecond, lists never null.
func (e *Event) bound() {
	e.Time = e.Time.UTC().Truncate(time.Microsecond)
	for _, text := range [...]*string{
		&e.ID, &e.RequestID, &e.SessionID, &e.SessionSource, &e.SessionSignal, &e.Lane, &e.Parent, &e.AffinityKey, &e.UserPath, &e.Key, &e.Endpoint, &e.Model, &e.Affinity,
		&e.Template, &e.RuleSource, &e.Deployment, &e.Connection, &e.Provider, &e.UpstreamModel, &e.ErrorCode, &e.Cache,
	} {
		*text = clean(*text, maxText)
	}
	e.Attempts = slices.Clone(e.Attempts[:min(len(e.Attempts), maxAttempts)])
	if e.Attempts == nil {
		e.Attempts = []Attempt{}
	}
	for i := range e.Attempts {
		e.Attempts[i].Deployment = clean(e.Attempts[i].Deployment, maxText)
		e.Attempts[i].Outcome = clean(e.Attempts[i].Outcome, maxText)
	}
	if e.Labels = Labels(e.Labels); e.Labels == nil {
		e.Labels = []string{}
	}
	if len(e.Explanation) > maxExplanation || !e.Explanation.IsValid() {
		e.Explanation = nil
	}
}

// Labels reads the values of X-Holdfast-Label, each a list with commas: at most
// MaxLabels, each cut to its bound and without control characters, each once.
func Labels(values []string) []string {
	var labels []string
	for _, value := range values {
		for label := range strings.SplitSeq(value, ",") {
			label = strings.TrimSpace(clean(label, maxLabel))
			if label != "" && !slices.Contains(labels, label) {
				labels = append(labels, label)
			}
			if len(labels) == MaxLabels {
				return labels
			}
		}
	}
	return labels
}

// clean drops what is no text and cuts the rest at a character's border.
func clean(text string, most int) string {
	plain := true
	for i := range len(text) {
		plain = plain && text[i] >= 0x20 && text[i] < 0x7f
	}
	if !plain {
		text = strings.Map(func(r rune) rune {
			if r == utf8.RuneError || unicode.IsControl(r) {
				return -1
			}
			return r
		}, text)
	}
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// decodeEvent reads what encode wrote.
func decodeEvent(text []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(text, &e); err != nil {
		return Event{}, ErrCorrupt
	}
	return e, nil
}
